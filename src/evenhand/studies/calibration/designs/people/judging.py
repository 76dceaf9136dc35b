"""Designs for human evaluations: few or many annotators, one with many judgements, shared conversations or prompts."""

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
"""Questions to annotators, which have the place of axes in the results."""


@dataclass(frozen=True)
class Choices:
    """Choices between two models; the effect is the share of judgements for the second model, minus 0.5."""

    votes: PairedVotes

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the judgements with the planted effect."""
        effect = plant.effect if plant.pattern != "none" else 0.0
        votes = _with_share(self.votes, 0.5 + effect)
        truth: dict[Key, Truth] = {(WON, PREFERRED, None): Truth(0.5 + effect, effect == 0)}
        return Sample((votes.frame(rng, PREFERRED),), truth, frozenset({PREFERRED} if effect else ()))


@dataclass(frozen=True)
class Ratings:
    """Yes-or-no ratings of texts of two models; the effect is the share of yes for the second model minus the first."""

    texts: RatedTexts

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the ratings with the planted effect."""
        effect = plant.effect if plant.pattern != "none" else 0.0
        base = self.texts.shares[0]
        frame = replace(self.texts, shares=(base, base + effect)).frame(rng, TOXIC)
        truth: dict[Key, Truth] = {(RATED, TOXIC, None): Truth(effect, effect == 0)}
        return Sample((frame,), truth, frozenset({TOXIC} if effect else ()))


def _with_share(votes: PairedVotes, share: float) -> PairedVotes:
    """Return the study with a parameter that gives the requested share of judgements for the second model.

    A preference for the left or right side moves this share towards 0.5; this is compensated.
    """
    low, high = 0.5, 0.999999
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if replace(votes, share=middle).truth < share else (low, middle)
    return replace(votes, share=0.5 if share == 0.5 else low)


def _win_rate_road(sample: Sample, seed: int) -> JudgedAnalysis:
    del seed  # the analysis is not random
    return _analyse_measure(win_rates(sample.frames[0]), WON)


def _difference_road(sample: Sample, seed: int) -> JudgedAnalysis:
    del seed
    return _analyse_measure(rating_differences(sample.frames[0]), RATED)


def _analyse_measure(table: pl.DataFrame, measure: str) -> JudgedAnalysis:
    rows = table.filter(pl.col("measure") == measure)
    named = measurement_rows(rows.drop("measure"), measure, "share", names={"question": "axis"})
    measurements, findings = reach_verdicts(measurement_frame(named), n_axes=rows.height)
    return JudgedAnalysis(measurements, findings, pl.DataFrame(schema=HEADLINES))


def people_designs() -> list[Design]:
    """Return the designs for choices and ratings of annotators."""
    return [*_choices(), *_ratings()]


def _choices() -> list[Design]:
    usual = PairedVotes(60, person_sd=1.0, item_sd=1.0)
    shapes = (
        ("60 persons",
         "60 annotators, 5 votes per annotator, 2 per item; win rate 50%. Annotators and items differ (SD 1 "
         "logit each); the left side is preferred by 0.3 logits.", usual, 20),
        ("20 persons",
         "Only 20 annotators, 5 votes per annotator, 2 per item; win rate 50%. Annotators and items differ "
         "(SD 1 logit each).", replace(usual, persons=20), 10),
        ("160 persons",
         "160 annotators, 5 votes per annotator, 2 per item; win rate 50%. Annotators and items differ (SD 1 "
         "logit each).", replace(usual, persons=160), 0),
        ("12 persons, 20 votes",
         "Only 12 annotators, 20 votes per annotator, 2 per item; win rate 50%. Annotators and items differ "
         "(SD 1 logit each).", replace(usual, persons=12, each=20), 0),
        ("6 persons",
         "Only 6 annotators, too few for a verdict; 20 votes per annotator, 2 per item; win rate 50%. "
         "Annotators and items differ (SD 1 logit each).", replace(usual, persons=6, each=20), 0),
        ("60 persons, one with a fifth",
         "One of 60 annotators gives 20% of all votes, the others 5 votes each; 2 votes per item. Win rate "
         "50%; annotators and items differ (SD 1 logit each).", replace(usual, heavy=0.2), 10),
        ("60 persons who differ much",
         "Annotators differ strongly (SD 1.5 logits), items less (SD 1). 60 annotators, 5 votes per "
         "annotator, 2 per item; win rate 50%.", replace(usual, person_sd=1.5), 0),
        ("60 persons, one vote an item",
         "Only one vote per item: 60 annotators, 5 votes per annotator; win rate 50%. Annotators and items "
         "differ (SD 1 logit each).", replace(usual, per_item=1), 0),
        ("60 persons, 3 votes an item",
         "Items differ strongly (SD 1.5 logits), annotators less (SD 1). 60 annotators, 5 votes per "
         "annotator, 3 per item; win rate 50%.", replace(usual, per_item=3, item_sd=1.5), 0),
        ("60 persons alike",
         "Neither annotators nor items differ. 60 annotators, 5 votes per annotator, 2 per item; win rate 50%.",
         replace(usual, person_sd=0.0, item_sd=0.0), 0),
        ("60 persons, 30 conversations",
         "Items share conversations, 30 per model, which differ (SD 1 logit). 60 annotators, 5 votes per "
         "annotator, 2 per item; win rate 50%.",
         replace(usual, pool=30, conversation_sd=1.0), 0),
        ("60 persons, one conversation of one model",
         "All items show the same conversation of one model, next to one of 60 of the other; conversations "
         "differ (SD 1 logit). 60 annotators, 5 votes per annotator, 2 per item; win rate 50%.",
         replace(usual, pool=60, baseline=1, conversation_sd=1.0), 0),
        ("60 persons, 12 conversations of one model",
         "Items show one of 12 conversations of one model and one of 60 of the other; conversations differ "
         "(SD 0.7 logits). 60 annotators, 5 votes per annotator, 2 per item; win rate 50%.",
         replace(usual, pool=60, baseline=12, conversation_sd=0.7), 0),
        ("60 persons who like the left",
         "60 annotators who prefer the left side by 1 logit, 5 votes per annotator, 2 per item; win rate 50%. "
         "Annotators and items differ (SD 1 logit each).", replace(usual, side=1.0), 0),
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
        ("40 persons, both models",
         "40 annotators rate texts of both models on the same prompts, 6 ratings per annotator, 2 per text; "
         "30% yes for both models. Annotators (SD 1 logit), texts and prompts (0.7 each) differ.", usual, 10),
        ("40 persons, one model each",
         "Each of 40 annotators rates texts of only one model, 6 ratings per annotator, 2 per text; 30% yes "
         "for both models. Annotators (SD 1 logit), texts and prompts (0.7 each) differ.",
         replace(usual, both=False), 0),
        ("20 persons, both models",
         "Only 20 annotators rate texts of both models, 10 ratings per annotator, 2 per text; 30% yes for "
         "both models. Annotators (SD 1 logit), texts and prompts (0.7 each) differ.",
         replace(usual, persons=20, each=10), 0),
        ("40 persons with tastes",
         "Annotators differ strongly in their opinion of each model (SD 1 logit). 40 annotators rate texts of "
         "both models, 6 ratings per annotator, 2 per text; 30% yes for both models.",
         replace(usual, taste_sd=1.0), 0),
        ("40 persons alike",
         "Neither annotators nor texts differ. 40 annotators rate texts of both models, 6 ratings per "
         "annotator, 2 per text; 30% yes for both models.", RatedTexts(40), 0),
        ("100 persons, rare",
         "Rare events: 5% yes for both models. 100 annotators rate texts of both models, 6 ratings per "
         "annotator, 2 per text.",
         replace(usual, persons=100, shares=(0.05, 0.05)), 0),
        ("6 persons",
         "Only 6 annotators, too few for a verdict, rate texts of both models, 30 ratings per annotator, 2 "
         "per text; 30% yes for both models.", replace(usual, persons=6, each=30), 0),
        ("40 persons, 2 prompts",
         "All texts respond to only 2 prompts, which affect each model differently (SD 1 logit). 40 "
         "annotators rate texts of both models, 6 ratings each; 30% yes for both models.",
         replace(usual, prompts=2, turn_sd=1.0), 0),
        ("40 persons, 15 prompts",
         "All texts respond to 15 prompts, which affect each model differently (SD 0.7 logits). 40 annotators "
         "rate texts of both models, 6 ratings each; 30% yes for both models.",
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
