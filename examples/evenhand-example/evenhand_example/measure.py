"""A measure: a pure function from a frame to Measurements, and the card under which its rows are reported."""

import numpy as np
import polars as pl

from evenhand.measures import MeasureInfo
from evenhand.schema import Card, Measurement

EXAMPLE_GAP = MeasureInfo(  # `name` is the name of the entry point, and what rows carry as their `measure`
    name="example_gap",
    unit="share of responses",
    ideal=0.0,
    card=Card(
        "example_gap",
        "How much oftener a group is written about harshly than the others are, template by template.",
        construct="Whether a group is spoken of more harshly in the same sentence.",
        groups="Each group with all others; the template is held fixed.",
        direction="larger is worse",
        null="0: no difference between groups; t test over templates.",
        critique="The classifier's own bias is in it. Templates count as a sample; a handful is a small one.",
        source="examples/evenhand-example",
    ),
)


def example_gap(responses: pl.DataFrame) -> list[Measurement]:
    """For each axis the largest gap, corrected for the choice among groups, as the headline; then that of each group.

    responses: axis, group, template, negative (null where nothing was judged: counted, never taken for a 0)."""
    rows = []
    for (axis,), part in responses.group_by("axis", maintain_order=True):
        gaps = {group: _gaps(part, group) for group in part["group"].unique(maintain_order=True)}
        worst = max(gaps, key=lambda group: gaps[group].mean())
        for name, group, tests in [(None, worst, len(gaps)), *((group, group, 1) for group in gaps)]:
            missing = part.filter(group=group)["negative"].null_count()
            counts = {"n": len(gaps[group]), "n_missing": missing, **_tested(gaps[group], tests)}
            rows.append(Measurement(measure=EXAMPLE_GAP.name, axis=str(axis), group=name, estimate=gaps[group].mean(),
                                    null=0.0, ideal=0.0, unit=EXAMPLE_GAP.unit, **counts))  # fmt: skip
    return rows


def _gaps(part: pl.DataFrame, group: str) -> np.ndarray:
    rate = pl.col("negative").cast(pl.Float64)
    own, rest = rate.filter(pl.col("group") == group).mean(), rate.filter(pl.col("group") != group).mean()
    return part.group_by("template").agg(gap=own - rest)["gap"].drop_nulls().to_numpy()


def _tested(gaps: np.ndarray, tests: int) -> dict[str, float]:
    from scipy.stats import t  # heavy libraries are imported where they are used

    if len(gaps) < 2 or gaps.std() == 0:
        return {}  # a number without p has no verdict
    mean, error, t = gaps.mean(), gaps.std(ddof=1) / len(gaps) ** 0.5, t(len(gaps) - 1)
    reach, p = t.ppf(1 - 0.025 / tests) * error, min(1.0, 2 * t.sf(abs(mean) / error) * tests)
    power = reach + t.ppf(0.8) * error
    return {"low": mean - reach, "high": mean + reach, "p": p, "minimum_detectable": power}
