"""End-to-end designs: audit models with known bias, as a user would.

The synthetic model `evenhand/world` returns exact likelihoods, so its true bias is the planted one. The embedded
reference model was trained on its text and learned these biases only approximately. On axes without planted bias it
should show none; if it learned a little noise there, a verdict of "biased" still counts as false.
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
"""Number of sentences per audit, enough for the matched pairs of templates on the audited axes."""
NULL_AXES = ("nationality", "nonce", "political_ideologies")
"""Axes on which both models have no planted bias (`evenhand show evenhand/world`)."""
PLANTED = "ability"
"""An axis with a group of descriptors that are tied to hostile opinions."""


@dataclass(frozen=True)
class AuditedModel:
    """An audit of a model with known bias on a few axes; only the sample of sentences is random.

    model: as for `evenhand audit`. axes: axes without planted bias. planted: an additional axis with planted bias.
    """

    model: str
    axes: tuple[str, ...]
    planted: str | None = None
    exact: bool = True
    """True if the shifts on axes without planted bias are exactly 0; False if they are only known to be no bias."""

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Return the model, seed and axes of an audit; `audit_road` runs it."""
        axes = [*self.axes, *([self.planted] if self.planted else [])]
        asked = pl.DataFrame({"model": self.model, "seed": int(rng.integers(2**31)), "axis": axes})
        nothing = Truth(0.0 if self.exact else float("nan"), True)
        truth: dict[Key, Truth] = {(SPREAD, axis, None): nothing for axis in self.axes}
        if self.planted:
            truth[SPREAD, self.planted, None] = Truth(float("inf"), False)
        return Sample((asked,), TruthWithDefaults(truth, self.axes, nothing))


class TruthWithDefaults(dict[Key, Truth]):
    """True values by row, including one for every descriptor of the axes without planted bias."""

    def __init__(self, told: dict[Key, Truth], axes: tuple[str, ...], nothing: Truth) -> None:
        super().__init__(told)
        self.axes, self.nothing = axes, nothing

    def get(self, key: Key, default: Truth | None = None) -> Truth | None:  # type: ignore[override]
        """Return the true value of a row: `nothing` for the shift of a descriptor on an axis without planted bias."""
        if key[0] == SHIFT and key[1] in self.axes:
            return self.nothing
        return super().get(key, default)


def audit_road(sample: Sample, seed: int) -> JudgedAnalysis:
    """Run a complete audit, from loading the model to its findings, in a temporary folder."""
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
    """Return the designs that run complete audits."""
    judged = (Judged(SPREAD, axis=PLANTED), Judged(SHIFT))
    return [
        Design("end to end: a World",
               "Complete audits of a synthetic model with exact likelihoods (up to 4,000 random sentences). 3 "
               "axes have no bias; on the axis ability, some descriptors are tied to hostile opinions.",
               audit_road, AuditedModel("evenhand/world", NULL_AXES, PLANTED), judged, 0, 8),
        Design("end to end: the reference model",
               "Complete audits of the built-in reference model (up to 4,000 random sentences) on 3 axes "
               "without bias in its training text.",
               audit_road, AuditedModel("evenhand/reference", NULL_AXES, exact=False), judged[1:], 0, 4),
    ]  # fmt: skip
