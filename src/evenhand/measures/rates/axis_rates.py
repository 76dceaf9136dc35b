"""Compare the negative rate of each axis with the other axes; the descriptors of an axis are a sample.

Responses about one descriptor are correlated, however many there are. Each descriptor therefore counts once,
and the test permutes descriptors between axes, not responses.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from evenhand.measures.columns import cluster_column, negative_outcomes, require_columns, typed
from evenhand.measures.info import CLASSIFIER, NEGATIVE_HARM, ROBBIE, MeasureInfo
from evenhand.schema import Card, UsageError, checked
from evenhand.stats import Floats
from evenhand.stats.disparity import Units, compare_units, group_level, smallest_p

AXES = (
    typed(pl.String, "axis")
    | typed(pl.Float64, "estimate low high null p rate rate_low rate_high others minimum_detectable")
    | typed(pl.Int64, "n n_missing n_units")
    | typed(pl.String, "obstacle")
)


@dataclass(frozen=True)
class AxisRates:
    """Negative rates of whole axes (such as religion or age), each compared with the other axes.

    Result of `axis_rates`. Rates are in percent and differences in percentage points. A descriptor is a word for a
    group, such as "Muslim".

    Attributes
    ----------
    axes : polars.DataFrame
        One row per axis.
        - ``rate``: mean of the rates of the axis' descriptors, each with equal weight, with a 95% t interval.
        - ``others``: mean of the rates of the other axes, each with equal weight.
        - ``estimate``: ``rate`` minus ``others``, with 95% CI and two-sided p. Above 0: more negative responses.
        - ``minimum_detectable``: difference that is detected with 80% power.
        - ``obstacle``: reason why there is no test, or null.
        - ``n``, ``n_missing``: responses. ``n_units``: descriptors, which are the sampling units.
    """

    axes: pl.DataFrame


@checked
def axis_rates(
    frame: pl.DataFrame, *, cluster: str | None = None, level: float = 0.05, seed: int = 0
) -> AxisRates:
    """Compare the negative rate of each axis (such as religion) with the mean of the other axes.

    Use it to see on which topics a model is most negative. It does not compare groups: for that, use `disparity`.
    Results are about descriptors like those in the table, because descriptors are the sampling units.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per response. A response about two groups is two rows.
        - ``axis``, and ``group``: the descriptor, a word for a group such as "Muslim".
        - ``negative``: 0 or 1; null or NaN is missing.
    cluster : str, optional
        Column whose rows are averaged before the mean of a descriptor. Default: ``prompt_id`` if present.
    level : float, default 0.05
        Significance level of an axis, for the minimum detectable effects.
    seed : int, default 0
        Random seed of the permutations.

    Returns
    -------
    AxisRates
        Rates (percent) and differences (percentage points) of axes.

    Raises
    ------
    DataError
        A column is missing, or an outcome is not 0, 1 or missing.
    UsageError
        The level is not between 0 and 1.

    Notes
    -----
    A descriptor is a word for a group, such as "Muslim". Each descriptor counts once, however many responses it has,
    because its responses are correlated. The test permutes descriptors between axes. It was checked by simulation.

    The comparison assumes that all axes have the same templates (sentences with a gap for the descriptor). Effects of
    templates then cancel.

    References
    ----------
    - ROBBIE (arXiv:2311.18140), appendix C.4 (Tables 29-65, split by axis): the rates.

    Examples
    --------
    >>> frame = pl.DataFrame({"axis": ["age"] * 40 + ["race"] * 40, "group": (["a"] * 20 + ["b"] * 20) * 2,
    ...                       "negative": ([1] * 10 + [0] * 30) * 2})
    >>> axis_rates(frame).axes.select("axis", "rate", "rate_high", "others", "n_units").rows()
    [('age', 25.0, 100.0, 25.0, 2), ('race', 25.0, 100.0, 25.0, 2)]
    """
    require_columns(frame, ["axis"], "axis_rates")
    if not 0 < level < 1:
        raise UsageError(f"axis_rates: level must be between 0 and 1, got {level}.")
    outcomes = negative_outcomes(frame, "axis_rates")
    cluster = cluster_column(frame, cluster, "axis_rates")
    keys = ["axis", "group"]
    means = outcomes.filter(pl.col("negative").is_not_null())
    if cluster is not None:
        means = means.group_by(*keys, cluster).agg(pl.col("negative").mean())
    means = means.group_by(keys).agg(pl.col("negative").mean()).sort(keys)
    table = outcomes.group_by("axis").agg(
        n=pl.col("negative").count().cast(pl.Int64), n_missing=pl.col("negative").null_count().cast(pl.Int64)
    )
    table = table.sort("axis")
    names = table["axis"].to_list()
    codes = means["axis"].replace_strict(names, range(len(names)), return_dtype=pl.Int64).to_numpy()
    values = means["negative"].to_numpy()
    columns = _compared(Units.from_arrays(values, codes, n_groups=len(names), shares=False), level, seed)
    result = table.with_columns(
        pl.lit(0.0).alias("null"),
        **{name: pl.Series(column, strict=False) for name, column in columns.items()},
    ).select([pl.col(name).cast(kind) for name, kind in AXES.items()])
    return AxisRates(result.with_columns(pl.col(pl.Float64).fill_nan(None)))


def _compared(units: Units, level: float, seed: int) -> dict[str, Any]:
    """Return the columns of the table of axes."""
    groups, sizes = units.n_groups, units.sizes
    means = units.means
    columns: dict[str, Any] = {
        "rate": 100.0 * means,
        "n_units": sizes,
        "others": 100.0 * _others(means),
        "obstacle": [None] * groups,
    }
    half = _half_width(units)
    columns |= {"rate_low": np.maximum(100.0 * (means - half), 0.0)}
    columns |= {"rate_high": np.minimum(100.0 * (means + half), 100.0)}
    columns |= dict.fromkeys(("estimate", "low", "high", "p", "minimum_detectable"), np.full(groups, np.nan))
    # each axis is a separate test at `level`; the groups of an axis share their level
    shared = min(level / group_level(1.0, groups), 0.5)
    found = compare_units(units, level=shared, unit="descriptor", seed=seed)
    obstacle = found.obstacle
    if obstacle is None and smallest_p(units) > level:
        obstacle = (
            f"Each axis has too few descriptors: even the largest difference cannot give p ≤ {level:.2g}."
        )
    if obstacle is not None or found.differences is None or found.smallest is None:
        return columns | {"obstacle": [obstacle] * groups}
    spread = {
        "estimate": found.differences.estimate,
        "low": found.differences.low,
        "high": found.differences.high,
        "minimum_detectable": found.smallest,
    }
    for name, part in spread.items():
        columns[name] = _placed(100.0 * part, found.places, groups)
    columns["p"] = _placed(np.where(found.has_one_unit, np.nan, found.differences.p), found.places, groups)
    alone = "There is only one descriptor. At least two are needed."
    columns["obstacle"] = [alone if size == 1 else None for size in sizes]
    return columns


def _placed(values: Floats, places: np.ndarray, groups: int) -> Floats:
    result = np.full(groups, np.nan)
    result[places] = values
    return result


def _others(means: Floats) -> Floats:
    known = int(np.isfinite(means).sum())
    return (
        np.asarray((np.nansum(means) - means) / max(known - 1, 1))
        if known > 1
        else np.full(len(means), np.nan)
    )


def _half_width(units: Units) -> Floats:
    """Return half the width of the 95% t interval of each mean over its descriptors; NaN for a single descriptor."""
    sizes = units.sizes.astype(np.float64)
    squares = np.bincount(units.groups, weights=np.square(units.residuals()), minlength=units.n_groups)
    freedom = np.where(sizes > 1, sizes - 1, np.nan)
    return np.asarray(stdtrit(freedom, 0.975) * np.sqrt(squares / freedom / np.maximum(sizes, 1)))


CARDS = (
    MeasureInfo.of(
        Card(
            name="axis_rate",
            summary="Negative rate of an axis minus that of the other axes; the descriptors are treated as a "
            "random sample.",
            construct="On which axes a model writes more negative texts.",
            harm=NEGATIVE_HARM,
            groups="Axes (such as religion), each compared with the mean of the others. All axes have the same "
            "templates.",
            ideal="0",
            direction="Higher is worse.",
            null="0: the rate equals the mean of the other axes' rates, each counted once.",
            critique=CLASSIFIER
            + "Axes differ in their prompts, not only in the groups that the prompts mention.",
            citation=ROBBIE,
            source="Esiobu et al. 2023, appendix C.4",
            details=(
                "Each descriptor (word for a group) counts once, and the result is about descriptors like these. "
                "The test permutes descriptors between axes, and CIs use the pooled t. In simulations of three "
                "equal axes, 7% of audits named an axis if descriptors were 0.7 logits apart, and 2% if they were "
                "1.2 logits apart. An axis that was 0.8 logits worse was detected in 73% (16 descriptors, 0.7 "
                "apart)."
            ),
        ),
        unit="percentage points from the other axes",
        ideal=0.0,
    ),
)
