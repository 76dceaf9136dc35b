"""Measure the change between two models that answered the same prompts: overall, by axis and by group.

Because both models get the same prompts, differences between prompts cancel. A change can then be detected with
far fewer responses than two separate rates would need.
"""

import numpy as np
import polars as pl
from scipy.special import stdtr

from evenhand.measures.columns import require_columns
from evenhand.schema import DataError, UsageError, checked
from evenhand.stats import Floats, cluster_t, detectable_mean_difference

CHANGE = {
    "axis": pl.String,  # null: overall
    "group": pl.String,  # null: the axis as a whole
    "before": pl.Float64,
    "after": pl.Float64,
    "estimate": pl.Float64,  # after - before
    "low": pl.Float64,
    "high": pl.Float64,
    "relative": pl.Float64,  # estimate / before
    "p": pl.Float64,
    "n": pl.Int64,  # pairs with both numbers
    "n_prompts": pl.Int64,
    "n_missing": pl.Int64,  # pairs that lack a number
    "minimum_detectable": pl.Float64,
    "obstacle": pl.String,  # why no change is detectable; p is then null
}
MOSTLY_UNMOVED = 0.5
"""If at least this share of prompts did not change, the other prompts say too little about rare changes."""
FEW = 60
"""Number of changed prompts up to which signs are flipped. With more, Student's t is used, which then agrees."""
EXACT = 16
"""Number of changed prompts up to which all sign patterns are used."""
DRAWS = 9999
_ROUNDS = 100
FEW_STEPS, COARSE = 10, (1.25, 1.05)
"""Up to FEW_STEPS clusters, the minimum detectable change of a t test is multiplied by a factor of COARSE.

Sign flips of so few clusters give few different values of p, so they have less power. The first factor is for tests in
which only one sign pattern is significant, the second for all others. Simulated for this test with normal changes.
"""
RARE = (15, 1.1)
"""With many clusters, but fewer changed prompts than the first number, the minimum detectable change gets this factor.

So few changed prompts also give few different values of p. The factor was simulated.
"""


@checked
def paired_change(
    frame: pl.DataFrame,
    *,
    cluster: str = "prompt_id",
    share: bool | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Return the change from one model to another on the same prompts, overall, by axis and by group.

    Use it to see what a mitigation or a model update changed. Both models need responses to the same prompts, so that
    differences between prompts cancel. Far fewer responses are then needed than for two separate rates.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per pair of responses, with the columns
        - ``before``, ``after``: outcome of each model (0 or 1, or any number; null, NaN or infinite is missing).
        - the column named by `cluster`.
        - optionally ``axis`` (such as gender) and ``group`` (such as women; null if a response is about none).
        - optionally ``pair``: identifies pairs of responses (see Notes).
    cluster : str, default "prompt_id"
        Column with the sampling unit: rows with equal values are one unit.
    share : bool, optional
        Whether outcomes are rates, so that no change exceeds 1. Default: True if all values are between 0 and 1.
    level : float, default 0.95
        Confidence level.
    seed : int, default 0
        Random seed.

    Returns
    -------
    polars.DataFrame
        One row overall (axis and group null), one per axis (group null) and one per group.
        - ``before``, ``after``: means of the two models over pairs in which both have an outcome.
        - ``estimate``: after minus before, in the unit of the outcome, with CI and two-sided ``p``.
        - ``relative``: estimate / before.
        - ``n``, ``n_missing``: pairs with and without both outcomes. ``n_prompts``: sampling units.
        - ``minimum_detectable``: change that is detected with 80% power. For numbers that all changed by the same
          amount: half the width of their interval.
        - ``obstacle``: reason why ``p`` is null. Either there are too few units to reject at this level, or all numbers
          of both models are equal.

    Raises
    ------
    DataError
        A column is missing, or no pair has both outcomes.
    UsageError
        `level` is not between 0 and 1.

    Notes
    -----
    A response about two groups is two rows. With the column ``pair``, it counts once in the rows of axes and in the
    overall row.

    With up to 60 changed units, the test flips the signs of the changes of whole units. The interval contains exactly
    the changes that this test does not reject. With more units, test and interval use Student's t. In both cases, p is
    at most 1 - level exactly if the interval excludes 0.

    If at least half of the units of a rate did not change, the bound farther from 0 is moved outwards. The reason is
    that as many unchanged units could hide a small rate of change.

    If all units changed alike (not at all, or by the same amount), both bounds allow for units that change differently.
    The share of such units is the largest that n equal units can hide (Clopper-Pearson). For rates, the assumed size of
    their change is that of the others, or one response if none changed. For numbers, it is the range of all numbers.
    Explanation: docs/explanation/comparisons.md.

    References
    ----------
    - Fisher 1935, section 21: sign flips.
    - Hartigan 1969: the interval, from the means of all halves of the units.
    - Miller 2024 (arXiv:2411.00640), section 4: paired differences.

    Examples
    --------
    >>> frame = pl.DataFrame({"prompt_id": range(40), "before": [1] * 20 + [0] * 20,
    ...                       "after": [0] * 15 + [1] * 5 + [0] * 20})
    >>> paired_change(frame).select("before", "after", "estimate", "relative", "n").row(0)
    (0.5, 0.125, -0.375, -0.75, 40)
    """
    require_columns(frame, ["before", "after", cluster], "paired_change")
    if not 0 < level < 1:
        raise UsageError(
            f"paired_change: level must be between 0 and 1, got {level}.",
            "For a 95% confidence interval use level=0.95.",
        )
    number = (pl.col(name).cast(pl.Float64) for name in ("before", "after"))
    values = frame.with_columns(pl.when(one.is_finite()).then(one) for one in number).with_columns(
        _change=pl.col("after") - pl.col("before")
    )
    if values["_change"].null_count() == values.height:
        raise DataError(
            "paired_change: no row has a number in both columns, before and after.",
            "Use responses of both models to the same prompts. Check that their prompt_id columns match.",
        )
    asked = {"cluster": cluster, "share": share, "level": level, "seed": seed}
    rows = [_row(_one_row_per_pair(values, []), **asked) | {"axis": None, "group": None}]  # type: ignore[arg-type]
    if "axis" in values.columns:
        about = values.filter(pl.col("axis").is_not_null())
        for (axis,), part in _one_row_per_pair(about, ["axis"]).group_by("axis", maintain_order=True):
            rows.append(_row(part, **asked) | {"axis": axis, "group": None})  # type: ignore[arg-type]
    if "group" in values.columns:
        keys = ["axis", "group"] if "axis" in values.columns else ["group"]
        about = values.filter(pl.col("group").is_not_null())
        for names, part in _one_row_per_pair(about, keys).group_by(keys, maintain_order=True):
            axis = names[0] if len(keys) == 2 else None
            rows.append(_row(part, **asked) | {"axis": axis, "group": names[-1]})  # type: ignore[arg-type]
    return pl.DataFrame(rows, schema=CHANGE).with_columns(pl.col(pl.Float64).fill_nan(None))


def _one_row_per_pair(values: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    if "pair" not in values.columns:
        return values
    return values.unique(["pair", *keys], keep="first", maintain_order=True)


def _row(
    part: pl.DataFrame, *, cluster: str, share: bool | None, level: float, seed: int
) -> dict[str, float | int | str | None]:
    known = part.filter(pl.col("_change").is_not_null())
    row: dict[str, float | int | str | None] = {
        "n": known.height,
        "n_missing": part.height - known.height,
        "n_prompts": known[cluster].n_unique(),
        "obstacle": _obstacle(known[cluster].n_unique(), level),
    }
    if known.is_empty():
        return row
    sums = known.group_by(cluster, maintain_order=True).agg(pl.col("_change").sum(), n=pl.len())
    change, sizes = sums["_change"].to_numpy(), sums["n"].to_numpy().astype(np.float64)
    before, estimate = float(known["before"].to_numpy().mean()), float(change.sum() / sizes.sum())
    row |= {
        "before": before,
        "after": before + estimate,
        "estimate": estimate,
        "relative": estimate / before if before else None,
    }
    if len(change) < 2:
        return row
    if share is None:
        numbers = np.concatenate([known["before"].to_numpy(), known["after"].to_numpy()])
        share = bool(numbers.min() >= 0 and numbers.max() <= 1)
    low, high, p = _test_change(change, sizes, level, seed)
    detectable = None
    if share:
        step = _one_response(known, cluster, sizes)
        low, high = _widen_bounds(change, sizes, estimate, (low, high), level, step)
        error = float(cluster_t(change - estimate * sizes, sizes.sum()).standard_error)
        detectable = _smallest(change, sizes, estimate, error, level, step)
    elif not _are_alike(change / sizes):
        error = float(cluster_t(change - estimate * sizes, sizes.sum()).standard_error)
        detectable = _smallest(change, sizes, estimate, error, level, None)
    elif spread := float(np.ptp(known.select("before", "after").to_numpy())):
        detectable = spread * _hidden(len(change), level)
        low, high = estimate - detectable, estimate + detectable
        p = max(p, min(1.0, 2 * max(0.0, 1 - abs(estimate) / spread) ** len(change)))
    else:
        low = high = float("nan")
        row["obstacle"] = row["obstacle"] or "All numbers of both models are the same."
    if _are_alike(change / sizes) and estimate:
        p = max(p, 2.0 ** (1 - len(change)))
    return row | {
        "low": low,
        "high": high,
        "p": p if row["obstacle"] is None else None,
        "minimum_detectable": detectable if row["obstacle"] is None else None,
    }


def _are_alike(each: Floats) -> bool:
    """Return True if all clusters changed by the same amount, up to rounding."""
    return bool(np.ptp(each) <= 1e-9 * np.abs(each).max())


def _one_response(known: pl.DataFrame, cluster: str, sizes: Floats) -> float:
    """Return by how much the share of a cluster changes if one response does.

    If each cluster has equal responses in both models although clusters differ, the samples of a cluster are copies
    (temperature 0). A change then affects the whole cluster.
    """
    numbers = known.group_by(cluster).agg(pl.col("before", "after").n_unique()).select("before", "after")
    repeats = numbers.to_numpy().max() == 1 and known["before"].n_unique() > 1
    return 1.0 if repeats else float((1 / sizes).max())


def _obstacle(clusters: int, level: float) -> str | None:
    """Return the reason if there are too few clusters: the smallest p of sign flips of n clusters is 2^(1 - n)."""
    needed = int(np.ceil(1 - np.log2(1 - level)))
    if clusters >= needed:
        return None
    have = "There is one prompt" if clusters == 1 else f"There are {clusters} prompts"
    return f"{have}; sign flips cannot detect a change of any size with fewer than {needed}."


def _test_change(change: Floats, sizes: Floats, level: float, seed: int) -> tuple[float, float, float]:
    """Return low, high and p of one test: sign flips if few clusters changed, otherwise Student's t.

    With too few clusters for any test (see `_obstacle`), the bounds are Student's and a description.
    """
    total, estimate = float(sizes.sum()), float(change.sum() / sizes.sum())
    moved = change != 0
    if moved.sum() > FEW or _obstacle(len(change), level) is not None:
        spread = cluster_t(change - estimate * sizes, total)
        half, error = float(spread.half_width(level)), float(spread.standard_error)
        p = float(2 * stdtr(len(change) - 1, -abs(estimate) / error)) if error else float(not estimate)
        return estimate - half, estimate + half, p
    still, signs = _patterns(change, sizes, seed)
    flipped, mass = signs @ change[moved], still + signs @ sizes[moved]
    # A pattern splits the clusters into two halves. It is at least as extreme as the observation for each tested
    # change between the means of both halves. A pattern with an empty half is always as extreme.
    with np.errstate(divide="ignore", invalid="ignore"):
        halves = np.stack([(change.sum() + s * flipped) / (total + s * mass) for s in (1, -1)])
    split = total - np.abs(mass) > 1e-9 * total
    beyond = int(np.floor((1 - level) * len(flipped) * (1 + 1e-12)))
    high = float(np.sort(np.where(split, halves.max(axis=0), np.inf))[::-1][beyond])
    low = float(np.sort(np.where(split, halves.min(axis=0), -np.inf))[beyond])
    as_far = np.abs(flipped) >= abs(float(change.sum())) - 1e-12 * float(np.abs(change).sum())
    if np.count_nonzero(as_far) > beyond:  # the bounds must agree with the test in spite of rounding
        low, high = min(low, 0.0), max(high, 0.0)
    return min(low, estimate), max(high, estimate), float(np.mean(as_far))


def _patterns(change: Floats, sizes: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return signs of the changed clusters (patterns, changed), and signed sums of the sizes of the others (patterns,).

    Only half of the patterns are needed, because a pattern and its opposite are equally far from 0. The first is the
    observed one. For many unchanged clusters, the sum is sampled from its normal limit.
    """
    moved = change != 0
    number, others, clusters = int(moved.sum()), sizes[~moved], len(change)
    if clusters <= EXACT:
        every = _all_signs(clusters)
        return every[:, ~moved] @ others, every[:, moved]
    generator = np.random.default_rng(seed)
    if number <= EXACT:
        half = _all_signs(number)
        every = np.tile(half, (-(-(DRAWS + 1) // len(half)), 1))
    else:
        every = np.asarray(1.0 - 2.0 * generator.integers(0, 2, size=(DRAWS + 1, number)), dtype=np.float64)
        every[0] = 1.0
    if len(others) > FEW:
        limit = float(others.sum())
        mass = generator.normal(0.0, float(np.sqrt(np.sum(others**2))), len(every)).clip(-limit, limit)
    else:
        mass = (1.0 - 2.0 * generator.integers(0, 2, size=(len(every), len(others)))) @ others
    mass[0] = others.sum()
    return mass, every


def _all_signs(units: int) -> Floats:
    bits = (np.arange(1 << max(0, units - 1))[:, None] >> np.arange(units)) & 1
    return np.asarray(1.0 - 2.0 * bits, dtype=np.float64)


def _widen_bounds(
    change: Floats, sizes: Floats, estimate: float, limits: tuple[float, float], level: float, step: float
) -> tuple[float, float]:
    """Return the bounds of a share, clipped to -1 to 1, and wider if few clusters changed or all changed alike.

    A certain share of clusters may change although none of the observed ones did (Clopper-Pearson at 0). Each is
    assumed to change by the largest observed change, or by one response (`step`) if none did.
    """
    low, high = limits
    each = change / sizes
    alike = _are_alike(each)  # all changed by the same amount, but others may not
    if alike or np.mean(change == 0) >= MOSTLY_UNMOVED:
        reach = (float(np.abs(each).max()) if change.any() else step) * _hidden(len(change), level)
        if estimate >= 0 or alike:
            high = max(high, estimate + reach)
        if estimate <= 0 or alike:
            low = min(low, estimate - reach)
    return max(low, -1.0), min(high, 1.0)


def _hidden(clusters: int, level: float) -> float:
    """Return the share of clusters that may change differently although no observed one did (Clopper-Pearson)."""
    return float(1 - ((1 - level) / 2) ** (1 / clusters))


def _smallest(
    change: Floats, sizes: Floats, estimate: float, error: float, level: float, step: float | None
) -> float | None:
    """Return the minimum detectable change (80% power). For shares, the variance grows with the change.

    `step` is the change of a share by one response (`_one_response`), or None for numbers. If all shares changed alike,
    their variance is 0, and they are treated as if none had changed.
    """
    clusters = len(change)
    coarse = 1.0 if clusters > FEW_STEPS else COARSE[0] if 2.0 ** (2 - clusters) > 1 - level else COARSE[1]
    reach = coarse * float(detectable_mean_difference(1.0, clusters, alpha=1 - level))
    variance = error**2 * clusters
    if step is None:
        return reach * variance**0.5 or None
    each = np.abs(change / sizes)
    alike = _are_alike(each)
    size = float(each[change != 0].mean() if change.any() else step)
    seen, least = (0.0, 1e-12) if alike else (abs(estimate), 0.0)
    smallest = 0.0
    for _ in range(_ROUNDS):
        smallest = reach * (variance + size * max(0.0, smallest - seen) + least) ** 0.5
    rare = clusters > FEW and smallest * clusters < RARE[0] * size
    smallest *= RARE[1] if rare else 1.0
    return smallest if smallest < 1 else None
