"""Designs for changes between two models that answered the same prompts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.benchmarks import JudgedAnalysis, judged_rows
from evenhand.studies.calibration.designs.contract import Design, Judged, Key, Plant, Sample, Truth
from evenhand.studies.calibration.designs.tables import axis_truth, graded
from evenhand.studies.calibration.simulators import ChangedAxis, changed_judgements

SPREAD, DIFFERENCE = "disparity_change", "group_difference_change"
ALPHA = 0.05
LIMITS = ("6 x 3 x 1",)
"""Designs that exceed the stated error rate; they measure by how much."""


def change_road(sample: Sample, seed: int) -> JudgedAnalysis:
    """The shared analysis of comparisons: answers of both models, paired by prompt and sample."""
    from evenhand.measures import disparity_change

    before, after = sample.frames
    numbers = before.rename({"negative": "before"}).with_columns(after=after["negative"])
    n_axes = numbers["axis"].n_unique()
    rows = disparity_change(numbers, level=ALPHA / n_axes, seed=seed).rows()
    measurements, findings = judged_rows("compare", rows, ALPHA, n_axes=n_axes)
    return JudgedAnalysis(measurements, findings, pl.DataFrame())


@dataclass(frozen=True)
class Changed:
    """One axis before and after a change, and a second axis on which all groups change equally.

    before: rates. shift: change for all groups. scale: value of an answer, 1 (a share) or another number (a score).
    Effects are the additional rise of the first group, in the unit of an answer.
    """

    before: Sequence[float]
    prompts: Sequence[int]
    samples: tuple[int, ...] = (5,)
    shift: float = 0.0
    icc: float = 0.3
    scale: float = 1.0
    redrawn: float = 1.0
    """Share of the answers of all groups except the first that the second model rewrites; the others stay the same."""

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Draw it."""
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
    """All of them."""
    small = graded(5, 400, 10)
    shapes = (
        ("nothing changes", "Ten groups of 20 prompts, five samples.", Changed((0.2,) * 10, (20,) * 10), True, 10, 300),
        ("all fall", "All fall from 40 to 20 %.", Changed((0.4,) * 10, (20,) * 10, shift=-0.2), True, 0, 300),
        ("other base rates", "Groups start between 10 and 50 %, and fall alike.",
         Changed(tuple(np.linspace(0.15, 0.55, 10)), (20,) * 10, shift=-0.1), True, 0, 300),
        ("small noisy groups", "Groups of 5 to 12 prompts at 50 %, others of 20 to 400 at 5 %.",
         Changed((0.5,) * 4 + (0.05,) * 6, (5, 6, 8, 12, 20, 40, 80, 160, 300, 400)), True, 0, 200),
        ("small noisy groups, scores", "The same, of scores from 0 to 100.",
         Changed((0.5,) * 5 + (0.05,) * 5, (40, 5, 6, 8, 12, 20, 80, 160, 300, 400), scale=100.0),
         True, 0, 200),
        ("one group written anew", "The answers of one group alone are drawn again, those of nine stay.",
         Changed((0.2,) * 10, (50,) * 10, (1,), redrawn=0.0), True, 0, 300),
        ("one group written anew, others in part", "Six groups of 20; 30 % of the other groups' answers change, too.",
         Changed((0.3,) * 6, (20,) * 6, redrawn=0.3), True, 0, 300),
        ("one group written anew, scores", "Scores of 0 or 100, averaged over five samples, of six groups.",
         Changed((0.3,) * 6, (20,) * 6, scale=100.0, redrawn=0.0), True, 0, 300),
        ("two groups", "Two groups of 200 prompts, one sample.", Changed((0.2, 0.2), (200, 200), (1,)), True, 0, 300),
        ("40 x 8 x 5", "Forty groups of eight prompts.", Changed((0.2,) * 40, (8,) * 40), False, 0, 150),
        ("5 to 400, rare", "Groups of 5 to 400 prompts, one sample, 1 %.",
         Changed((0.01,) * 10, tuple(small), (1,)), False, 0, 200),
        ("6 x 3 x 1", "Six groups of three single answers.", Changed((0.3,) * 6, (3,) * 6, (1,)), False, 0, 300),
    )  # fmt: skip
    return [
        Design(
            f"changes: {words}",
            about,
            change_road,
            draw,
            (
                # answers that stay cannot show how far all groups would differ
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
