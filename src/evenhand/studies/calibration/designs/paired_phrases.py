"""Designs for pairs of sentences about two groups, compared by log-perplexity: RedditBias."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evenhand.benchmarks import AnalysisOptions, JudgedAnalysis, judged_rows, load_benchmark
from evenhand.studies.calibration.designs.contract import (
    BESIDE,
    ORDER,
    Design,
    Judged,
    Key,
    Plant,
    Sample,
    Truth,
)
from evenhand.studies.calibration.designs.roads import benchmark_road
from evenhand.studies.calibration.simulators import PairedPhrases, cluster_sizes, paired_frame

LMB, PLL, CHANGE = "redditbias_lmb", "redditbias_pll", "redditbias_lmb_change"
TYPES = ("religion1", "religion2", "race", "gender", "orientation")
ALPHA = 0.05


@dataclass(frozen=True)
class Phrases:
    """Five bias types alike; effects are nats per token, in one of them.

    changed: two models that share this much of each difference's spread. moved: two models of which the second differs
    from the first by such pairs.
    """

    kind: PairedPhrases
    measure: str = LMB
    planted_in: str = "race"
    changed: float | None = None
    moved: PairedPhrases | None = None

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Draw them."""
        types = dict.fromkeys(TYPES, self.kind)
        shifts = dict.fromkeys(TYPES, 0.0)
        if plant.pattern != "none":
            shifts[self.planted_in] = plant.effect
        if self.moved is not None:
            first = paired_frame(rng, types, {})
            second = paired_frame(rng, dict.fromkeys(TYPES, self.moved), shifts)
            frames: tuple[pl.DataFrame, ...] = (
                first,
                first.with_columns(perplexity=pl.col("perplexity") * second["perplexity"]),
            )
        elif self.changed is None:
            frames = (paired_frame(rng, types, shifts),)
        else:
            own = (1 - self.changed) ** 0.5
            later = {axis: shift / own for axis, shift in shifts.items()}
            shared, *models = (paired_frame(rng, types, moved) for moved in ({}, {}, later))
            common = self.changed**0.5 * shared["perplexity"].log()
            frames = tuple(
                model.with_columns(perplexity=(common + own * model["perplexity"].log()).exp())
                for model in models
            )
        truth: dict[Key, Truth] = {
            (self.measure, axis, None): Truth(shift, shift == 0) for axis, shift in shifts.items()
        }
        return Sample(frames, truth, frozenset() if plant.pattern == "none" else frozenset({self.planted_in}))


def change_road(sample: Sample, seed: int) -> JudgedAnalysis:
    """Both models' answers to the same pairs, judged as comparisons do."""
    benchmark = load_benchmark("redditbias")
    assert benchmark.changes is not None
    options = AnalysisOptions(seed=seed, n_axes=len(TYPES))
    before, after = sample.frames
    rows = benchmark.changes(before, after, options)
    measurements, findings = judged_rows("compare", rows, ALPHA, n_axes=len(TYPES))
    return JudgedAnalysis(measurements, findings, pl.DataFrame())


def phrase_designs() -> list[Design]:
    """All of them."""
    published = cluster_sizes(254, 231, 17)
    found, single = PairedPhrases(published, shape="as found"), PairedPhrases([1] * 60)
    copied = [20] * 10 + [1] * 30
    shapes = (
        ("published sizes", "254 pairs of 231 phrases a type, normal.", PairedPhrases(published), 20, 300),
        ("published sizes, as found", "Differences as skewed as DialoGPT's.",
         PairedPhrases(published, shape="as found"), 0, 300),
        ("heavy tails", "Student's t with 3 degrees of freedom.",
         PairedPhrases(published, shape="heavy tails"), 0, 300),
        ("unequal phrases", "A fifth of the phrases varies four times as much.",
         PairedPhrases(published, uneven=4.0), 0, 300),
        ("one dominant pair", "One pair makes half of the variance, this way or the other.",
         PairedPhrases(published, dominant=16.0), 0, 300),
        ("many copies", "Ten phrases of 20 pairs that share half of their variance, and 30 single ones.",
         PairedPhrases(copied, 0.5), 10, 300),
        ("many copies, as found", "The same, as skewed as DialoGPT's.",
         PairedPhrases(copied, 0.5, "as found"), 0, 300),
        ("skewed", "40 phrases, exponential.", PairedPhrases([1] * 40, shape="skewed"), 0, 300),
        ("skewed down", "40 phrases, exponential the other way.", PairedPhrases([1] * 40, shape="skewed down"), 0, 300),
        ("few", "12 phrases of two pairs a type.", PairedPhrases([2] * 12), 10, 300),
        ("few, as found", "12 phrases of two pairs a type, skewed.", PairedPhrases([2] * 12, shape="as found"), 0, 300),
        ("few, the other way", "12 phrases of two pairs a type, as skewed to the other side.",
         PairedPhrases([2] * 12, shape="as found, mirrored"), 0, 300),
        ("eight phrases", "Eight phrases of ten pairs a type.", PairedPhrases([10] * 8), 0, 300),
        ("eight skewed phrases", "Eight phrases a type, exponential the other way.",
         PairedPhrases([1] * 8, shape="skewed down"), 0, 300),
        ("twelve skewed phrases", "Twelve phrases a type, exponential the other way.",
         PairedPhrases([1] * 12, shape="skewed down"), 0, 300),
        ("three phrases", "Three phrases a type.", PairedPhrases([1] * 3), 0, 60),
        ("five phrases", "Five phrases of ten pairs a type.", PairedPhrases([10] * 5), 0, 60),
        ("one large phrase", "One phrase of 200 pairs and four single ones.",
         PairedPhrases([200] + [1] * 4, 0.8), 0, 60),
        *(
            (f"rare, {n} x {spread:g}{', down' if off < 0 else ''}",
             f"{n} quiet phrases (SD {spread:g} nats), each with a chance of {100 * rare:.0f} % to lie {off:+g} nats "
             "off: often none does.",
             PairedPhrases([1] * n, spread=spread, rare=rare, off=off), 10 if n == 30 else 0, 300)
            for n, rare, off, spread in (
                (20, 0.1, 1.5, 0.3), (40, 0.05, 2.0, 0.3), (40, 0.05, -2.0, 0.3), (30, 0.05, 2.0, 0.2),
                (20, 0.05, 2.0, 0.1), (60, 0.05, 3.0, 0.3), (100, 0.02, 2.0, 0.1),
            )
        ),
    )  # fmt: skip
    made = [
        Design(
            f"redditbias: {words}",
            f"Five bias types. {about}",
            benchmark_road("redditbias"),
            Phrases(kind),
            (Judged(LMB, "one", "race", None, 6.0, True),),
            quick,
            full,
            (0.5, 1.0, 1.5, 2.0) if words == "published sizes" else (1.0,),
            moves=(ORDER, BESIDE) if words == "published sizes" else (),
        )
        for words, about, kind, quick, full in shapes
    ]
    other = [
        Design(
            f"redditbias: {words}",
            about,
            road,
            kind,
            (Judged(kind.measure, "one", "race", None, 6.0, True),),
            0,
            300,
        )
        for words, about, road, kind in (
            ("masked models", "As found, of pseudo-log-perplexities.",
             benchmark_road("redditbias", architecture="masked"), Phrases(found, PLL)),
            ("two models", "Two models that have four fifths of each difference's variance in common.",
             change_road, Phrases(found, CHANGE, changed=0.8)),
            ("two models, few changes", "60 phrases: one in 20 falls by 1.9 nats, the others rise by 0.1.",
             change_road, Phrases(single, CHANGE, moved=replace(single, spread=0.02, rare=0.05, off=-2.0))),
            ("two models, many phrases", "231 phrases, whose changes are exponential.",
             change_road, Phrases(found, CHANGE, moved=PairedPhrases(published, spread=0.2, shape="skewed down"))),
        )
    ]  # fmt: skip
    limit = Design(
        "redditbias: rare and farther off",
        "Five bias types. 60 quiet phrases (SD 0.3 nats), each with a chance of 5 % to lie 4 nats off: farther than is "
        "taken to be possible of one that was not drawn.",
        benchmark_road("redditbias"),
        Phrases(replace(single, spread=0.3, rare=0.05, off=4.0)),
        (Judged(LMB, "one", "race", None, 6.0, True),),
        0,
        300,
        role="limit",
    )
    return [*made, *other, limit]
