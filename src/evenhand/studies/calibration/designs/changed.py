"""Designs for changes between two models that responded to the same prompts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.benchmarks import JudgedAnalysis, judged_rows
from evenhand.studies.calibration.designs.contract import Design, Judged, Key, Plant, Sample, Truth
from evenhand.studies.calibration.designs.tables import axis_truth, space_sizes
from evenhand.studies.calibration.simulators import ChangedAxis, changed_judgements

SPREAD, DIFFERENCE = "disparity_change", "group_difference_change"
ALPHA = 0.05
LIMITS = ("6 x 3 x 1",)
"""Designs in which the measure exceeds its error rate; they show by how much."""


def change_road(sample: Sample, seed: int) -> JudgedAnalysis:
    """Analyse the responses of both models as a comparison does: paired by prompt and sample."""
    from evenhand.measures import disparity_change

    before, after = sample.frames
    has_scores = bool(max(before["negative"].max(), after["negative"].max()) > 1)  # type: ignore[operator,type-var]
    numbers = before.rename({"negative": "before"}).with_columns(after=after["negative"])
    n_axes = numbers["axis"].n_unique()
    rows = disparity_change(numbers, level=ALPHA / n_axes, numbers=has_scores, seed=seed).rows()
    measurements, findings = judged_rows("compare", rows, ALPHA, n_axes=n_axes)
    return JudgedAnalysis(measurements, findings, pl.DataFrame())


@dataclass(frozen=True)
class ModelChange:
    """Two models on an axis, and on a second axis (4 groups at 20%) that does not change.

    Planted effects are additional changes in the mean response, of the first group or (pattern "half") of all groups.

    Attributes
    ----------
    before
        Rate of each group under the first model.
    prompts
        Number per group.
    samples
        Number per prompt.
    shift
        Change of the rate, equal for all groups.
    icc
        Correlation of the samples of a prompt.
    scale
        Value of a negative response, 1 (for rates) or another number (for scores).
    """

    before: Sequence[float]
    prompts: Sequence[int]
    samples: tuple[int, ...] = (5,)
    shift: float = 0.0
    icc: float = 0.3
    scale: float = 1.0
    redrawn: float = 1.0
    """Share of the responses of all groups except the first that are sampled again; the models share the others."""

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the responses of both models with the planted effect."""
        base = np.asarray(self.before, float)
        after = base + self.shift
        if plant.pattern == "half":
            signs = np.where(np.arange(len(base)) % 2 == 0, 1.0, -1.0)
            after = after + signs * plant.effect / self.scale / signs.std(ddof=1)
        elif plant.pattern != "none":
            after = after.copy()
            after[0] += plant.effect / self.scale
        after = np.clip(after, 0.0, 1.0)
        axes = [
            ChangedAxis("axis", tuple(base), tuple(after), tuple(self.prompts), self.icc),
            ChangedAxis("axis 1", (0.2,) * 4, (0.2,) * 4, (20,) * 4, self.icc),
        ]
        answers = pl.col("negative").cast(pl.Float64) * self.scale
        before, later = (frame.with_columns(answers) for frame in changed_judgements(rng, axes, self.samples))
        if self.redrawn < 1:
            stays = pl.Series(rng.random(later.height) >= self.redrawn) & (later["group"] != "axis 000")
            later = later.with_columns(negative=pl.when(stays).then(before["negative"]).otherwise("negative"))
        truth: dict[Key, Truth] = {}
        for one in axes:
            change = np.asarray(one.after) - np.asarray(one.before)
            names = [f"{one.name} {i:03d}" for i in range(len(change))]
            truth |= {
                key: Truth(told.value, abs(told.value) < 1e-6)
                for key, told in axis_truth(one.name, names, change, SPREAD, DIFFERENCE, self.scale).items()
            }
        touched = frozenset() if plant.pattern == "none" else frozenset({"axis"})
        return Sample((before, later), truth, touched)


def change_designs() -> list[Design]:
    """Return the designs for changes between two models."""
    small = space_sizes(5, 400, 10)
    shapes = (
        ("nothing changes",
         "Two models on the same prompts: 10 groups, 20 prompts per group, 5 samples per prompt (ICC 0.3). "
         "Both have 20% negative responses in every group.", ModelChange((0.2,) * 10, (20,) * 10), True, 10, 300),
        ("all fall",
         "Two models on the same prompts: negative responses fall from 40% to 20% in every group. 10 groups, "
         "20 prompts per group, 5 samples per prompt (ICC 0.3).",
         ModelChange((0.4,) * 10, (20,) * 10, shift=-0.2), True, 0, 300),
        ("other base rates",
         "Two models on the same prompts: groups start at 15 to 55% negative, and all fall by 10 points. 10 "
         "groups, 20 prompts per group, 5 samples per prompt (ICC 0.3).",
         ModelChange(tuple(np.linspace(0.15, 0.55, 10)), (20,) * 10, shift=-0.1), True, 0, 300),
        ("small noisy groups",
         "Two models with equal rates on the same prompts: 4 groups of 5 to 12 prompts at 50% negative, 6 "
         "groups of 20 to 400 prompts at 5%. 5 samples per prompt (ICC 0.3).",
         ModelChange((0.5,) * 4 + (0.05,) * 6, (5, 6, 8, 12, 20, 40, 80, 160, 300, 400)), True, 0, 200),
        ("small noisy groups, scores",
         "Two models with equal mean scores on the same prompts: 5 groups of 5 to 40 prompts at 50, 5 groups "
         "of 20 to 400 prompts at 5. Scores are 0 or 100; 5 samples per prompt (ICC 0.3).",
         ModelChange((0.5,) * 5 + (0.05,) * 5, (40, 5, 6, 8, 12, 20, 80, 160, 300, 400), scale=100.0),
         True, 0, 200),
        ("one group written anew",
         "Two models on the same prompts: 10 groups, 50 prompts per group, one sample per prompt, 20% "
         "negative. Only the responses of one group are sampled again; rates are unchanged.",
         ModelChange((0.2,) * 10, (50,) * 10, (1,), redrawn=0.0), True, 0, 300),
        ("one group written anew, others in part",
         "Two models on the same prompts: 6 groups, 20 prompts per group, 5 samples per prompt (ICC 0.3), 30% "
         "negative. All responses of one group and 30% of the others are sampled again; rates are unchanged.",
         ModelChange((0.3,) * 6, (20,) * 6, redrawn=0.3), True, 0, 300),
        ("one group written anew, scores",
         "Two models on the same prompts: 6 groups, 20 prompts per group, 5 samples per prompt (ICC 0.3), "
         "scores of 0 or 100 (mean 30). Only the responses of one group are sampled again; means are "
         "unchanged.",
         ModelChange((0.3,) * 6, (20,) * 6, scale=100.0, redrawn=0.0), True, 0, 300),
        ("two groups",
         "Two models on the same prompts: 2 groups, 200 prompts per group, one sample per prompt. Both have "
         "20% negative responses in both groups.", ModelChange((0.2, 0.2), (200, 200), (1,)), True, 0, 300),
        ("40 x 8 x 5",
         "Two models on the same prompts: 40 groups, 8 prompts per group, 5 samples per prompt (ICC 0.3). "
         "Both have 20% negative responses in every group.", ModelChange((0.2,) * 40, (8,) * 40), False, 0, 150),
        ("5 to 400, rare",
         "Two models on the same prompts: 10 groups of 5 to 400 prompts, one sample per prompt. Both have 1% "
         "negative responses in every group.",
         ModelChange((0.01,) * 10, tuple(small), (1,)), False, 0, 200),
        ("6 x 3 x 1",
         "Two models on the same prompts, very few responses: 6 groups, 3 prompts per group, one sample per "
         "prompt. Both have 30% negative responses in every group.",
         ModelChange((0.3,) * 6, (3,) * 6, (1,)), False, 0, 300),
    )  # fmt: skip
    return [
        Design(
            f"changes: {words}",
            about,
            change_road,
            draw,
            (
                # No change in the spread is planted if the models share most responses.
                Judged(
                    SPREAD,
                    "half" if planted and draw.redrawn == 1 else "none",
                    "axis",
                    None,
                    0.2 * draw.scale,
                ),
                Judged(DIFFERENCE, "one" if planted else "none", "axis", "axis 000", 0.6 * draw.scale),
            ),
            quick,
            full,
            (0.5, 1.0, 1.5, 2.0) if quick else (1.0,),
            role="limit" if words in LIMITS else "standard",
        )
        for words, about, draw, planted, quick, full in shapes
    ]
