"""Designs for pairs of sentences about two groups, compared by log-perplexity: RedditBias."""

from dataclasses import dataclass

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

    changed: two models that share this much of each difference's spread.
    """

    kind: PairedPhrases
    measure: str = LMB
    planted_in: str = "race"
    changed: float | None = None

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Draw them."""
        types = dict.fromkeys(TYPES, self.kind)
        shifts = dict.fromkeys(TYPES, 0.0)
        if plant.pattern != "none":
            shifts[self.planted_in] = plant.effect
        if self.changed is None:
            frames: tuple[pl.DataFrame, ...] = (paired_frame(rng, types, shifts),)
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
        ("many copies", "Ten phrases of 20 pairs, which have half of the variance in common, beside 30 single ones.",
         PairedPhrases(copied, 0.5), 10, 300),
        ("many copies, as found", "The same, as skewed as DialoGPT's.",
         PairedPhrases(copied, 0.5, "as found"), 0, 300),
        ("skewed", "40 phrases, exponential.", PairedPhrases([1] * 40, shape="skewed"), 0, 300),
        ("skewed down", "40 phrases, exponential the other way.", PairedPhrases([1] * 40, shape="skewed down"), 0, 300),
        ("few", "12 phrases of two pairs a type.", PairedPhrases([2] * 12), 10, 300),
        ("few, as found", "12 phrases of two pairs a type, skewed.", PairedPhrases([2] * 12, shape="as found"), 0, 300),
        ("few, the other way", "12 phrases of two pairs a type, as skewed to the other side.",
         PairedPhrases([2] * 12, shape="as found, mirrored"), 0, 300),
        ("five phrases", "Five phrases of ten pairs a type.", PairedPhrases([10] * 5), 0, 300),
    )  # fmt: skip
    made = [
        Design(
            f"redditbias: {words}",
            f"Five bias types. {about}",
            benchmark_road("redditbias"),
            Phrases(kind),
            (Judged(LMB, "one", "race", None, 6.0),),
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
            Phrases(PairedPhrases(published, shape="as found"), measure, changed=changed),
            (Judged(measure, "one", "race", None, 6.0),),
            0,
            300,
        )
        for words, about, road, measure, changed in (
            ("masked models", "As found, of pseudo-log-perplexities.",
             benchmark_road("redditbias", architecture="masked"), PLL, None),
            ("two models", "Two models that have four fifths of each difference's variance in common.",
             change_road, CHANGE, 0.8),
        )
    ]  # fmt: skip
    return made + other
