"""Designs in which descriptors are crossed with templates and nouns, or groups of two axes with each other."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import polars as pl

from evenhand.studies.calibration.designs.contract import (
    NAMES,
    ORDER,
    TWICE,
    Design,
    Judged,
    Key,
    Plant,
    Sample,
    Truth,
)
from evenhand.studies.calibration.designs.roads import benchmark_road
from evenhand.studies.calibration.designs.tables import axis_truth, judged_frame, plant_effect
from evenhand.studies.calibration.simulators import CrossedRates, beta_rates, crossed_judgements

REGARD, NOUNS, CONTRAST = benchmark_road("regard"), benchmark_road("holisticbiasr"), "regard_contrast"
GENDERS, RACES = ("female", "male", "transgender"), ("asian", "black", "latino", "white")


@dataclass(frozen=True)
class CrossedDescriptors:
    """Descriptors of several axes in the same templates and nouns.

    The effect is in percentage points, on the first axis.

    Attributes
    ----------
    between
        SD of the descriptors' logits; if not 0, the descriptors of all axes are samples from one distribution, and no
        effect is planted.
    at_null
        Measures without a true difference.
    genders
        The effect is instead the difference in logits between female and male nouns, on every axis.
    """

    axes: tuple[CrossedRates, ...]
    between: float = 0.0
    at_null: tuple[str, ...] = ()
    genders: bool = False

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the responses with the planted effect."""
        if self.genders and plant.pattern != "none":
            axes = tuple(replace(axis, contrast=plant.effect) for axis in self.axes)
            every = replace(self, axes=axes, genders=False, at_null=())(rng, Plant())
            # The true size in percentage points depends on the compared cells, so only the direction is checked.
            axis_of = [None, *(axis.name for axis in axes)]
            told: dict[Key, Truth] = {
                ("noun_contrast", axis, None): Truth(float("-inf"), False) for axis in axis_of
            }
            return replace(every, truth=told, touched=frozenset(axis_of))
        drawn, truth = [], dict[Key, Truth]()
        for place, axis in enumerate(self.axes):
            rates = np.asarray(axis.rates, float)
            if self.between:
                logits = np.log(rates / (1 - rates)) + rng.normal(0, self.between, len(rates))
                rates = 1 / (1 + np.exp(-logits))
            elif place == 0:
                rates = np.clip(
                    plant_effect(rates, replace(plant, effect=plant.effect / 100)), 1e-4, 1 - 1e-4
                )
            one = replace(axis, rates=tuple(rates))
            drawn.append(one)
            truth |= axis_truth(axis.name, axis.descriptors, rates, "disparity", "group_difference")
            if len(rates) == 2:
                gap = float(100 * (rates[0] - rates[1]))
                truth[CONTRAST, axis.name, " − ".join(axis.descriptors)] = Truth(gap, abs(gap) < 1e-9)
        frame = judged_frame(crossed_judgements(rng, drawn), "regard").with_columns(cluster="template")
        untouched = plant.pattern == "none" or bool(self.between)
        touched = frozenset[str]() if untouched else frozenset({self.axes[0].name})
        return Sample((frame,), truth, touched, frozenset(self.at_null))


@dataclass(frozen=True)
class Intersecting:
    """Prompts that name a gender and a race, whose effects add up in log-odds.

    The effect is an interaction: percentage points above this sum for the first combination of gender and race.

    Attributes
    ----------
    prompts
        Number of toxic and of non-toxic prompts per combination.
    samples
        Number per prompt.
    """

    prompts: int
    samples: int
    genders: int = 3
    icc: float = 0.3

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the responses with the planted effect."""
        gender, race = np.array([0.3, -0.3, 0.0]), np.array([0.4, 0.1, -0.2, -0.3])
        axis, names = "gender_and_sex × race_ethnicity", GENDERS[: self.genders]
        none = plant.pattern == "none"
        rows, truth = [], dict[Key, Truth]()
        truth["intersection_rate", axis, None] = Truth(float("nan" if none else "inf"), none)
        for (i, one), (j, two) in product(enumerate(names), enumerate(RACES)):
            for toxic in (False, True):
                rate = 1 / (1 + np.exp(-(gender[i] + race[j] + (-0.5 if toxic else -1.5))))
                hit = not none and i == j == 0
                rate = min(rate + plant.effect / 100, 0.99) if hit else rate
                chance = beta_rates(rng, rate, self.icc, self.prompts)
                for number, p in enumerate(chance):
                    rows += [
                        (f"{one}/{two}/{toxic}/{number}", sample, one, two, toxic, bool(rng.random() < p))
                        for sample in range(self.samples)
                    ]
                truth["intersection_rate", axis, f"{one} | {two}"] = Truth(
                    float("inf") if hit else float("nan"), not hit
                )
        frame = pl.DataFrame(
            rows, schema=["prompt_id", "sample", "gender", "race", "toxic", "negative"], orient="row"
        )
        marks = [(pl.col("gender") == name).cast(pl.Int8).alias(name) for name in names]
        marks += [(pl.col("race") == name).cast(pl.Int8).alias(name) for name in RACES]
        told = judged_frame(frame, "toxicity").with_columns(*marks, toxicity=pl.col("toxic").cast(pl.Int8))
        touched = frozenset[str]() if none else frozenset({axis})
        return Sample((told.drop("gender", "race", "toxic"),), truth, touched)


def crossing_designs() -> list[Design]:
    """Return the designs for crossed templates and nouns, contrasts, and intersections."""
    return [*_two_way(), *_contrasts(), *_intersections()]


def _two_way() -> list[Design]:
    judged = (
        Judged("disparity", "half", "axis", None, 40.0),
        Judged("group_difference", "one", "axis", "axis 000", 80.0),
    )
    shapes = (
        (
            "nothing interacts",
            "16 descriptors (8 on a second axis) in 10 templates with 6 nouns each, one sample per prompt; "
            "10% negative. Templates (SD 0.5 logits) and nouns (SD 0.3) affect all descriptors equally.",
            0.0,
            0.0,
            0,
        ),
        (
            "templates interact",
            "16 descriptors (8 on a second axis) in 10 templates with 6 nouns each, one sample per prompt; "
            "10% negative. Templates affect each descriptor differently (interaction SD 0.5 logits).",
            0.5,
            0.0,
            0,
        ),
        (
            "nouns interact",
            "16 descriptors (8 on a second axis) in 10 templates with 6 nouns each, one sample per prompt; "
            "10% negative. Nouns affect each descriptor differently (interaction SD 0.5 logits).",
            0.0,
            0.5,
            0,
        ),
        (
            "both interact",
            "16 descriptors (8 on a second axis) in 10 templates with 6 nouns each, one sample per prompt; "
            "10% negative. Templates and nouns affect each descriptor differently (interaction SD 0.5 logits "
            "each).",
            0.5,
            0.5,
            10,
        ),
    )
    return [
        Design(
            f"crossed: {words}",
            about,
            NOUNS,
            CrossedDescriptors(
                (
                    CrossedRates("axis", (0.1,) * 16, 10, 6, by_template=template, by_noun=noun),
                    CrossedRates("axis 1", (0.1,) * 8, 10, 6, by_template=template, by_noun=noun),
                )
            ),
            judged,
            quick,
            150,
            moves=(ORDER, NAMES, TWICE) if quick else (),
        )
        for words, about, template, noun, quick in shapes
    ]


def _contrasts() -> list[Design]:
    pairs = tuple(
        CrossedRates("axis" if i == 0 else f"axis {i}", (0.2, 0.2), 10, 1, 100, noun_sd=0.0, by_template=0.4)
        for i in range(3)
    )
    axes = tuple(
        CrossedRates("axis" if i == 0 else f"axis {i}", (0.1,) * 16, 10, 6, by_template=0.3) for i in range(4)
    )
    nouns = tuple(
        CrossedRates("axis" if i == 0 else f"axis {i}", (0.2,) * 12, 6, 12, noun_sd=0.5) for i in range(3)
    )
    few = tuple(replace(axis, nouns=4) for axis in nouns)
    return [
        Design("regard: 3 axes of two",
               "3 axes with 2 groups each, in 10 templates with 100 samples per prompt; 20% negative. "
               "Templates affect each group differently (interaction SD 0.4 logits).", REGARD,
               CrossedDescriptors(pairs), (Judged(CONTRAST, "one", "axis", "axis 000 − axis 001", 75.0),), 5, 150),
        Design("axes: descriptors differ",
               "4 axes with 16 descriptors each, in 10 templates with 6 nouns each, one sample per prompt. "
               "Descriptors differ around 10% negative (SD 0.7 logits), equally on all axes.", NOUNS,
               CrossedDescriptors(axes, 0.7, ("axis_rate",)), (Judged("axis_rate", axis="axis"),), 5, 120),
        Design("nouns: 6 + 6",
               "6 female and 6 male nouns that differ (SD 0.5 logits), but not by gender. 3 axes with 12 "
               "descriptors each, in 6 templates, one sample per prompt; 20% negative.", NOUNS,
               CrossedDescriptors(nouns, 0.0, ("noun_contrast",), True), (Judged("noun_contrast"),), 5, 150,
               sizes=(0.8, 1.6)),
        Design("nouns: 2 + 2",
               "Only 2 female and 2 male nouns, which differ (SD 0.5 logits), but not by gender. 3 axes with "
               "12 descriptors each, in 6 templates, one sample per prompt; 20% negative.", NOUNS,
               CrossedDescriptors(few, 0.0, ("noun_contrast",)), (Judged("noun_contrast"),), 0, 60),
    ]  # fmt: skip


def _intersections() -> list[Design]:
    axis, cell = "gender_and_sex × race_ethnicity", "female | asian"
    once, repeated = "one sample per prompt", "5 samples per prompt (ICC 0.3)"
    shapes = ((40, 1, once, 3, 4), (40, 5, repeated, 3, 0), (40, 5, repeated, 2, 0))
    return [
        Design(
            f"intersections: {genders} x 4 cells of {prompts} x {samples}",
            f"{genders} genders and 4 races, {prompts} toxic and {prompts} other prompts per combination, "
            f"{sampled}. Without bias, the effects of gender and race add up in log-odds.",
            benchmark_road("advpromptset"),
            Intersecting(prompts, samples, genders),
            (Judged("intersection_rate", "one", axis, cell if genders > 2 else None, 60.0),),
            quick,
            120,
        )
        for prompts, samples, sampled, genders, quick in shapes
    ]
