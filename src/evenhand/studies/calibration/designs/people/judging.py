"""People who differ judge pairs and texts that differ: few persons and many, one who did much, shared conversations."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evenhand.benchmarks import JudgedAnalysis
from evenhand.measures import rating_differences, win_rates
from evenhand.schema import HEADLINES, measurement_frame, measurement_rows
from evenhand.stats import reach_verdicts
from evenhand.studies.calibration.designs.contract import ORDER, Design, Judged, Key, Plant, Sample, Truth
from evenhand.studies.calibration.simulators.people import PairedVotes, RatedTexts

WON, RATED = "win_rate", "rating_difference"
PREFERRED, TOXIC = "preferred", "toxic"
"""Questions, which stand where benchmarks have axes."""


@dataclass(frozen=True)
class Choices:
    """Choices between two models; the effect is the second one's share of votes above a half."""

    votes: PairedVotes

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Draw them."""
        effect = plant.effect if plant.pattern != "none" else 0.0
        votes = _won(self.votes, 0.5 + effect)
        truth: dict[Key, Truth] = {(WON, PREFERRED, None): Truth(0.5 + effect, effect == 0)}
        return Sample((votes.frame(rng, PREFERRED),), truth, frozenset({PREFERRED} if effect else ()))


@dataclass(frozen=True)
class Ratings:
    """Ratings of texts of two models; the effect is by how much oftener the second one's are called something."""

    texts: RatedTexts

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Draw them."""
        effect = plant.effect if plant.pattern != "none" else 0.0
        base = self.texts.shares[0]
        frame = replace(self.texts, shares=(base, base + effect)).frame(rng, TOXIC)
        truth: dict[Key, Truth] = {(RATED, TOXIC, None): Truth(effect, effect == 0)}
        return Sample((frame,), truth, frozenset({TOXIC} if effect else ()))


def _won(votes: PairedVotes, share: float) -> PairedVotes:
    """The study whose share is that with its sides: they draw shares towards a half."""
    low, high = 0.5, 0.999999
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if replace(votes, share=middle).truth < share else (low, middle)
    return replace(votes, share=0.5 if share == 0.5 else low)


def _win_rate_road(sample: Sample, seed: int) -> JudgedAnalysis:
    del seed  # nothing is drawn in it
    return _judged(win_rates(sample.frames[0]), WON)


def _difference_road(sample: Sample, seed: int) -> JudgedAnalysis:
    del seed
    return _judged(rating_differences(sample.frames[0]), RATED)


def _judged(table: pl.DataFrame, measure: str) -> JudgedAnalysis:
    rows = table.filter(pl.col("measure") == measure)
    named = measurement_rows(rows.drop("measure"), measure, "share", names={"question": "axis"})
    measurements, findings = reach_verdicts(measurement_frame(named), n_axes=rows.height)
    return JudgedAnalysis(measurements, findings, pl.DataFrame(schema=HEADLINES))


def people_designs() -> list[Design]:
    """All of them."""
    return [*_choices(), *_ratings()]


def _choices() -> list[Design]:
    usual = PairedVotes(60, person_sd=1.0, item_sd=1.0)
    shapes = (
        ("60 persons", "Persons and items differ by a logit, 5 votes a person and 2 an item.", usual, 20),
        ("20 persons", "Few persons.", replace(usual, persons=20), 10),
        ("160 persons", "Many persons.", replace(usual, persons=160), 0),
        ("12 persons, 20 votes", "Hardly any persons, each with many votes.", replace(usual, persons=12, each=20), 0),
        ("6 persons", "Too few persons.", replace(usual, persons=6, each=20), 0),
        ("60 persons, one with a fifth", "One person gave a fifth of the votes.", replace(usual, heavy=0.2), 10),
        ("60 persons who differ much", "Persons differ by 1.5 logits.", replace(usual, person_sd=1.5), 0),
        ("60 persons, one vote an item", "Every item is judged once.", replace(usual, per_item=1), 0),
        ("60 persons, 3 votes an item", "Items differ by 1.5 logits.", replace(usual, per_item=3, item_sd=1.5), 0),
        ("60 persons alike", "Neither persons nor items differ.", replace(usual, person_sd=0.0, item_sd=0.0), 0),
        ("60 persons, 30 conversations", "Each conversation is in several items.",
         replace(usual, pool=30, conversation_sd=1.0), 0),
        ("60 persons, one conversation of one model", "All pairs show the same conversation of one model.",
         replace(usual, pool=60, baseline=1, conversation_sd=1.0), 0),
        ("60 persons, 12 conversations of one model", "All items use a few conversations of one model.",
         replace(usual, pool=60, baseline=12, conversation_sd=0.7), 0),
        ("60 persons who like the left", "The left side draws by a logit.", replace(usual, side=1.0), 0),
    )  # fmt: skip
    return [
        Design(
            f"win rates: {words}", about, _win_rate_road, Choices(votes),
            (Judged(WON, "one", PREFERRED, None, 0.45),), quick, 400,
            (0.5, 1.0, 1.5) if words == "60 persons" else (1.0,),
            moves=(ORDER,) if words == "60 persons" else (),
        )
        for words, about, votes, quick in shapes
    ]  # fmt: skip


def _ratings() -> list[Design]:
    usual = RatedTexts(40, person_sd=1.0, taste_sd=0.3, item_sd=0.7, prompt_sd=0.7)
    shapes = (
        ("40 persons, both models", "Persons rate both models' answers to the same prompts.", usual, 10),
        ("40 persons, one model each", "Every person rates one model alone.", replace(usual, both=False), 0),
        ("20 persons, both models", "Few persons.", replace(usual, persons=20, each=10), 0),
        ("40 persons with tastes", "Persons are for or against a model.", replace(usual, taste_sd=1.0), 0),
        ("40 persons alike", "Nothing differs.", RatedTexts(40), 0),
        ("100 persons, rare", "5 % of the texts are called so.",
         replace(usual, persons=100, shares=(0.05, 0.05)), 0),
        ("6 persons", "Too few persons.", replace(usual, persons=6, each=30), 0),
        ("40 persons, 2 prompts", "Two prompts are under all texts, and each turns models another way.",
         replace(usual, prompts=2, turn_sd=1.0), 0),
        ("40 persons, 15 prompts", "Few prompts are under all texts, and each turns models another way.",
         replace(usual, prompts=15, turn_sd=0.7), 0),
    )  # fmt: skip
    return [
        Design(
            f"ratings: {words}", about, _difference_road, Ratings(texts),
            (Judged(RATED, "one", TOXIC, None, 0.6),), quick, 300,
            moves=(ORDER,) if words == "40 persons, both models" else (),
        )
        for words, about, texts, quick in shapes
    ]  # fmt: skip
