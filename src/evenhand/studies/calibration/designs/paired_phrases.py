"""Designs for RedditBias: pairs of sentences about two groups, compared by log-perplexity."""

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
    """Five bias types with the same distribution; the effect is in nats per token, in the type `planted_in`.

    Attributes
    ----------
    kind
        Distribution of the differences between the sentences of a pair.
    changed
        Compare two models that share this part of the variance.
    moved
        Compare two models, where this is the distribution of the second model's differences minus the first's.
    """

    kind: PairedPhrases
    measure: str = LMB
    planted_in: str = "race"
    changed: float | None = None
    moved: PairedPhrases | None = None

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the perplexities with the planted effect."""
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
    """Analyse two models on the same pairs as a comparison does."""
    benchmark = load_benchmark("redditbias")
    assert benchmark.changes is not None
    options = AnalysisOptions(seed=seed, n_axes=len(TYPES))
    before, after = sample.frames
    rows = benchmark.changes(before, after, options)
    measurements, findings = judged_rows("compare", rows, ALPHA, n_axes=len(TYPES))
    return JudgedAnalysis(measurements, findings, pl.DataFrame())


def phrase_designs() -> list[Design]:
    """Return the designs for RedditBias, one model or two."""
    published = cluster_sizes(254, 231, 17)
    found, single = PairedPhrases(published, shape="as found"), PairedPhrases([1] * 60)
    copied = [20] * 10 + [1] * 30
    shapes = (
        ("published sizes",
         "254 sentence pairs of 231 phrases. Log-perplexity differences are normal (SD 0.5 nats per token, "
         "ICC 0.3 within phrases).", PairedPhrases(published), 20, 300),
        ("published sizes, as found",
         "254 sentence pairs of 231 phrases. Log-perplexity differences are log-normal, about as skewed as "
         "those of DialoGPT.",
         PairedPhrases(published, shape="as found"), 0, 300),
        ("heavy tails",
         "254 sentence pairs of 231 phrases. Log-perplexity differences have heavy tails (Student's t with 3 "
         "degrees of freedom).",
         PairedPhrases(published, shape="heavy tails"), 0, 300),
        ("unequal phrases",
         "254 sentence pairs of 231 phrases. Log-perplexity differences are normal; their SD is 2 nats per "
         "token for 20% of phrases and 0.5 for the others.",
         PairedPhrases(published, uneven=4.0), 0, 300),
        ("one dominant pair",
         "254 sentence pairs of 231 phrases. Log-perplexity differences are normal (SD 0.5 nats per token), "
         "except for one pair at ±8 nats.",
         PairedPhrases(published, dominant=16.0), 0, 300),
        ("many copies",
         "230 sentence pairs: 10 phrases with 20 pairs each and 30 with one. Log-perplexity differences are "
         "normal (SD 0.5 nats per token, ICC 0.5 within phrases).",
         PairedPhrases(copied, 0.5), 10, 300),
        ("many copies, as found",
         "230 sentence pairs: 10 phrases with 20 pairs each and 30 with one (ICC 0.5 within phrases). "
         "Log-perplexity differences are log-normal, about as skewed as those of DialoGPT.",
         PairedPhrases(copied, 0.5, "as found"), 0, 300),
        ("skewed",
         "40 phrases, one sentence pair per phrase. Log-perplexity differences are right-skewed "
         "(exponential), with SD 0.5 nats per token.", PairedPhrases([1] * 40, shape="skewed"), 0, 300),
        ("skewed down",
         "40 phrases, one sentence pair per phrase. Log-perplexity differences are left-skewed (exponential), "
         "with SD 0.5 nats per token.", PairedPhrases([1] * 40, shape="skewed down"), 0, 300),
        ("few",
         "only 12 phrases, 2 sentence pairs per phrase. Log-perplexity differences are normal (SD 0.5 nats "
         "per token, ICC 0.3 within phrases).", PairedPhrases([2] * 12), 10, 300),
        ("few, as found",
         "only 12 phrases, 2 sentence pairs per phrase. Log-perplexity differences are log-normal, about as "
         "skewed as those of DialoGPT.", PairedPhrases([2] * 12, shape="as found"), 0, 300),
        ("few, the other way",
         "only 12 phrases, 2 sentence pairs per phrase. Log-perplexity differences are log-normal, as skewed "
         "as those of DialoGPT but to the left.",
         PairedPhrases([2] * 12, shape="as found, mirrored"), 0, 300),
        ("eight phrases",
         "only 8 phrases, 10 sentence pairs per phrase. Log-perplexity differences are normal (SD 0.5 nats "
         "per token, ICC 0.3 within phrases).", PairedPhrases([10] * 8), 0, 300),
        ("eight skewed phrases",
         "only 8 phrases, one sentence pair per phrase. Log-perplexity differences are left-skewed "
         "(exponential), with SD 0.5 nats per token.",
         PairedPhrases([1] * 8, shape="skewed down"), 0, 300),
        ("twelve skewed phrases",
         "only 12 phrases, one sentence pair per phrase. Log-perplexity differences are left-skewed "
         "(exponential), with SD 0.5 nats per token.",
         PairedPhrases([1] * 12, shape="skewed down"), 0, 300),
        ("three phrases",
         "only 3 phrases, too few for a verdict; one sentence pair per phrase. Log-perplexity differences are "
         "normal (SD 0.5 nats per token).", PairedPhrases([1] * 3), 0, 60),
        ("five phrases",
         "only 5 phrases, too few for a verdict; 10 sentence pairs per phrase. Log-perplexity differences are "
         "normal (SD 0.5 nats per token, ICC 0.3 within phrases).", PairedPhrases([10] * 5), 0, 60),
        ("one large phrase",
         "only 5 phrases, too few for a verdict: one with 200 sentence pairs, 4 with one. Log-perplexity "
         "differences are normal (SD 0.5 nats per token, ICC 0.8 within phrases).",
         PairedPhrases([200] + [1] * 4, 0.8), 0, 60),
        *(
            (f"rare, {n} x {spread:g}{', down' if off < 0 else ''}",
             f"{n} phrases, one sentence pair per phrase (SD {spread:g} nats per token). Each phrase has a "
             f"{100 * rare:.0f}% chance to be {abs(off):g} nats {'above' if off > 0 else 'below'} the others; "
             f"{100 * (1 - rare) ** n:.0f}% of samples have no such phrase.",
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
            f"5 bias types, each with {about}",
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
            ("masked models",
             "Masked model, pseudo-log-perplexities: 5 bias types, each with 254 sentence pairs of 231 "
             "phrases. Log-perplexity differences are log-normal, about as skewed as those of DialoGPT.",
             benchmark_road("redditbias", architecture="masked"), Phrases(found, PLL)),
            ("two models",
             "Two models on the same pairs: 5 bias types, each with 254 sentence pairs of 231 phrases. The "
             "models share 80% of the variance of log-perplexity differences.",
             change_road, Phrases(found, CHANGE, changed=0.8)),
            ("two models, few changes",
             "Two models on the same pairs: 5 bias types, each with 60 phrases. From one to the other, the "
             "log-perplexity differences of 5% of phrases fall by 1.9 nats per token and the others rise by "
             "0.1.",
             change_road, Phrases(single, CHANGE, moved=replace(single, spread=0.02, rare=0.05, off=-2.0))),
            ("two models, many phrases",
             "Two models on the same pairs: 5 bias types, each with 254 sentence pairs of 231 phrases. "
             "Changes of log-perplexity differences are left-skewed (exponential), with SD 0.2 nats per token.",
             change_road, Phrases(found, CHANGE, moved=PairedPhrases(published, spread=0.2, shape="skewed down"))),
        )
    ]  # fmt: skip
    limit = Design(
        "redditbias: rare and farther off",
        "5 bias types, each with 60 phrases, one sentence pair per phrase (SD 0.3 nats per token). Each "
        "phrase has a 5% chance to be 4 nats above the others, more than the 3 nats that the measure allows for.",
        benchmark_road("redditbias"),
        Phrases(replace(single, spread=0.3, rare=0.05, off=4.0)),
        (Judged(LMB, "one", "race", None, 6.0, True),),
        0,
        300,
        role="limit",
    )
    return [*made, *other, limit]
