"""Designs for responses to the same prompts about several groups: similarity of texts, and yes-or-no decisions."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evenhand.benchmarks import JudgedAnalysis, judged_rows
from evenhand.studies.calibration.designs.contract import Design, Judged, Key, Plant, Road, Sample, Truth
from evenhand.studies.calibration.designs.tables import axis_truth, plant_effect
from evenhand.studies.calibration.simulators import drawn_answers, drawn_decisions

GAP, APART = "similarity_gap", "similarity_apart"
SPREAD, DIFFERENCE = "answer_disparity", "answer_difference"
ALPHA = 0.05


def outcome_road(outcome: str) -> Road:
    """Return the analysis of the benchmark of counterfactual prompts for one outcome."""

    def road(sample: Sample, seed: int) -> JudgedAnalysis:
        from evenhand.measures import counterfactual_outcomes

        frame = sample.frames[0]
        n_axes = frame["axis"].n_unique()
        rows = counterfactual_outcomes(frame, [outcome], n_axes=n_axes, alpha=ALPHA, seed=seed).rows()
        measurements, findings = judged_rows("counterfactual", rows, ALPHA, n_axes=n_axes)
        return JudgedAnalysis(measurements, findings, pl.DataFrame())

    return road


@dataclass(frozen=True)
class CounterfactualSimilarity:
    """Texts about the groups of one axis. Bias makes those about the first group differ from all others.

    The effect is the lost similarity between the first group and each other group, in points.

    Attributes
    ----------
    bases
        Number of prompts.
    samples
        Responses per prompt and group.
    """

    bases: int
    groups: int
    samples: int

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the responses with the planted effect."""
        effect = plant.effect if plant.pattern != "none" else 0.0
        frame = drawn_answers(rng, "axis", self.bases, self.groups, self.samples, effect / 100)
        truth: dict[Key, Truth] = {(GAP, "axis", None): Truth(2 * effect / self.groups, effect == 0)}
        for group in range(self.groups if self.groups > 2 else 0):
            value = effect if group == 0 else -effect / (self.groups - 1)
            truth[APART, "axis", f"axis {group:03d}"] = Truth(value, value <= 0)
        touched = frozenset() if plant.pattern == "none" else frozenset[str | None]({"axis"})
        return Sample((frame,), truth, touched)


@dataclass(frozen=True)
class CounterfactualDecisions:
    """Yes-or-no decisions about the groups of one axis; the effect is in percentage points.

    Attributes
    ----------
    rates
        Share of yes for each group.
    bases
        Number of prompts.
    samples
        Responses per prompt and group.
    alike
        ICC of the responses to a prompt.
    beside
        Whether to add a second axis (3 groups at 30%) without bias.
    """

    rates: tuple[float, ...]
    bases: int
    samples: int
    alike: float = 0.4
    beside: bool = False

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the responses with the planted effect."""
        rates = plant_effect(self.rates, replace(plant, effect=plant.effect / 100))
        frames = [drawn_decisions(rng, "axis", self.bases, rates.tolist(), self.samples, self.alike)]
        names = [f"axis {group:03d}" for group in range(len(rates))]
        truth = axis_truth("axis", names, rates, SPREAD, DIFFERENCE)
        if self.beside:
            frames.append(drawn_decisions(rng, "axis 1", self.bases, [0.3] * 3, self.samples, self.alike))
            truth |= axis_truth(
                "axis 1", [f"axis 1 {i:03d}" for i in range(3)], [0.3] * 3, SPREAD, DIFFERENCE
            )
        touched = frozenset() if plant.pattern == "none" else frozenset[str | None]({"axis"})
        return Sample((pl.concat(frames),), truth, touched)


def counterfactual_designs() -> list[Design]:
    """Return the designs for counterfactual prompts."""
    road = outcome_road("similarity")
    likened = [
        Design(
            f"similarity: {bases} x {groups} x {samples}", about, road,
            CounterfactualSimilarity(bases, groups, samples),
            (Judged(GAP, "one", "axis", None, 40.0),) if groups == 2
            else (Judged(GAP, axis="axis"), Judged(APART, "one", "axis", "axis 000", 40.0)), quick, full,
        )
        for bases, groups, samples, about, quick, full in (
            (40, 2, 3,
             "40 prompts asked about each of 2 groups, 3 responses per prompt and group. Responses consist of "
             "10 random words; without bias, their probabilities depend only on the prompt.", 15, 150),
            (10, 2, 5,
             "10 prompts asked about each of 2 groups, 5 responses per prompt and group. Responses consist of "
             "10 random words; without bias, their probabilities depend only on the prompt.", 0, 150),
            (20, 4, 3,
             "20 prompts asked about each of 4 groups, 3 responses per prompt and group. Responses consist of "
             "10 random words; without bias, their probabilities depend only on the prompt.", 10, 100),
            (30, 6, 2,
             "30 prompts asked about each of 6 groups, 2 responses per prompt and group. Responses consist of "
             "10 random words; without bias, their probabilities depend only on the prompt.", 0, 60),
        )
    ]  # fmt: skip
    yes = outcome_road("json:yes")
    both = (
        Judged(SPREAD, "half", "axis", None, 45.0),
        Judged(DIFFERENCE, "one", "axis", "axis 000", 89.0),
    )
    decided = [
        Design(f"decisions: {name}", about, yes, table, both, quick, full)
        for name, about, table, quick, full in (
            ("40 x 2 x 3",
             "40 prompts asked about each of 2 groups, 3 yes-or-no responses per prompt and group (ICC 0.4). "
             "50% are yes for both groups.", CounterfactualDecisions((0.5, 0.5), 40, 3), 15, 200),
            ("10 x 2 x 10",
             "Few prompts, many responses: 10 prompts asked about each of 2 groups, 10 yes-or-no responses "
             "per prompt and group (ICC 0.4). 30% are yes for both groups.",
             CounterfactualDecisions((0.3, 0.3), 10, 10), 0, 150),
            ("30 x 4 x 4, rare",
             "30 prompts asked about each of 4 groups, 4 yes-or-no responses per prompt and group (ICC 0.4). "
             "Only 5% are yes for every group.", CounterfactualDecisions((0.05,) * 4, 30, 4), 0, 150),
            ("60 x 6 x 2",
             "60 prompts asked about each of 6 groups, 2 yes-or-no responses per prompt and group (ICC 0.4). "
             "20% are yes for every group; a second axis has 3 groups with 30%.",
             CounterfactualDecisions((0.2,) * 6, 60, 2, beside=True), 0, 100),
        )
    ]  # fmt: skip
    return likened + decided
