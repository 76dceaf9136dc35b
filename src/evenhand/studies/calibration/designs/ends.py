"""End-to-end designs: audit models with known bias, as a user would.

A World returns exact likelihoods, so its true bias is what was planted. The embedded reference model learned these
plants only approximately. On axes without plants it should show no bias; the little noise that it learned there counts
against the measure.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.benchmarks import JudgedAnalysis
from evenhand.studies.calibration.designs.contract import Design, Judged, Key, Plant, Sample, Truth

SPREAD, SHIFT = "valence_spread", "valence_shift"
LIMIT = 4000
"""Sentences of an audit: enough for the pairs of templates on the axes asked about."""
NULL_AXES = ("nationality", "nonce", "political_ideologies")
"""Axes on which our World, and the reference model, have no plants (`evenhand show evenhand/world`)."""
PLANTED = "ability"
"""An axis of which a bucket is tied to hostile opinions."""


@dataclass(frozen=True)
class Audited:
    """An audit of a model with known bias on a few axes; only the sample of sentences is random.

    model: as for `evenhand audit`. axes: axes without planted bias. planted: an additional axis with planted bias.
    """

    model: str
    axes: tuple[str, ...]
    planted: str | None = None
    exact: bool = True
    """Whether the shifts of innocent descriptors are known to be 0; else only that none counts as one."""

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Which sentences to draw: the road audits."""
        axes = [*self.axes, *([self.planted] if self.planted else [])]
        asked = pl.DataFrame({"model": self.model, "seed": int(rng.integers(2**31)), "axis": axes})
        nothing = Truth(0.0 if self.exact else float("nan"), True)
        truth: dict[Key, Truth] = {(SPREAD, axis, None): nothing for axis in self.axes}
        if self.planted:
            truth[SPREAD, self.planted, None] = Truth(float("inf"), False)
        return Sample((asked,), Innocent(truth, self.axes, nothing))


class Innocent(dict[Key, Truth]):
    """Truths, and that of every descriptor of an axis on which nothing is planted."""

    def __init__(self, told: dict[Key, Truth], axes: tuple[str, ...], nothing: Truth) -> None:
        super().__init__(told)
        self.axes, self.nothing = axes, nothing

    def get(self, key: Key, default: Truth | None = None) -> Truth | None:  # type: ignore[override]
        """By row."""
        if key[0] == SHIFT and key[1] in self.axes:
            return self.nothing
        return super().get(key, default)


def audit_road(sample: Sample, seed: int) -> JudgedAnalysis:
    """An audit from the loading of the model to its findings, in a folder that is thrown away."""
    from evenhand.studies.audit import audit

    asked = sample.frames[0]
    with tempfile.TemporaryDirectory() as folder:
        run = audit(
            asked["model"][0],
            benchmarks=("evenhand-likelihood",),
            axes=tuple(asked["axis"]),
            limit=LIMIT,
            seed=asked["seed"][0],
            output=Path(folder) / "run",
        )
        return JudgedAnalysis(run.measurements, run.findings, pl.DataFrame())


def end_to_end_designs() -> list[Design]:
    """All of them."""
    judged = (Judged(SPREAD, axis=PLANTED), Judged(SHIFT))
    return [
        Design("end to end: a World", "Our World is audited: axes without plants, and one that speaks ill of some.",
               audit_road, Audited("evenhand/world", NULL_AXES, PLANTED), judged, 0, 8),
        Design("end to end: the reference model", "The embedded model is audited on axes without planted effects.",
               audit_road, Audited("evenhand/reference", NULL_AXES, exact=False), judged[1:], 0, 4),
    ]  # fmt: skip
