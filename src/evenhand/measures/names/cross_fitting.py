"""Cross-fitting of token bins, against selection bias: half of the names finds the bins, the others are measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from evenhand.measures.names.judging import judged, of_weights, row_table, too_few
from evenhand.measures.names.self_chats import LEAST_NAMES, NameCounts
from evenhand.stats import Codes, Floats, t_inference

SPLITS = 20
SMOOTHING = 0.5
"""Added to counts before tokens are assigned to bins, so that rare tokens are not at the ends of the order."""
SAME = 1e-9
"""A standard error below this is due to rounding: names do not differ at all."""
Entries = Sequence[tuple[int, int]]
"""The combinations (group, bin) whose overindexing is measured. Their numbers together are called a profile."""
Binning = Callable[[Floats], Codes]
"""Function from frequencies of V tokens, shape (groups, V), to the bin of each token, shape (V,)."""


@dataclass(frozen=True)
class CrossFitted:
    """Result of `cross_fitted`: estimates with 95% CI and standard error. Arrays have the shape (1 + entries,).

    The first number is the length of the profile, measured along the direction that other names suggest. The others are
    the overindexing of each entry. All numbers are fractions.
    """

    estimate: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    freedom: Floats


def overindexing(masses: Floats, entries: Entries) -> Floats:
    """Return how much more a group uses a bin than the mean of groups: share / mean share - 1, shape (entries,).

    `masses` (groups, bins) are the shares of each group's tokens. The result is 0 for a bin that no group uses.
    """
    mean = masses.mean(axis=0)
    ratio = np.divide(masses, mean, out=np.ones(masses.shape), where=mean > 0) - 1
    return np.array([ratio[entry] for entry in entries])


def bin_masses(frequencies: Floats, bins: Codes, n_bins: int) -> Floats:
    """Return the share of each group's tokens in each bin, shape (groups, bins)."""
    return np.array([np.bincount(bins, weights=row, minlength=n_bins) for row in frequencies])


def cross_fitted(
    counted: NameCounts, binning: Binning, entries: Entries, n_bins: int, *, seed: int
) -> CrossFitted | None:
    """Return the profile of overindexing in bins that were found with other names; None with fewer than LEAST_NAMES per
    group.

    Names of each group are divided into two random halves, SPLITS times. Names of a stratum (such as a race) are
    distributed evenly, in the same order for all groups. Otherwise a difference between strata could look like one
    between groups in one half, and the reverse in the other. One half determines the bins and a direction. The other
    half's overindexing is measured, and its component along this direction. Then the halves are exchanged. Tokens that
    the first half does not contain are left out, because their bin is unknown. Without bias, all expectations are 0.
    Standard errors are over names (linearised ratios, `judging.over_names`) and averaged over splits. Intervals and p
    are by Student's t.
    """
    sizes = np.bincount(counted.group, minlength=len(counted.groups))
    if sizes.min() < LEAST_NAMES:
        return None
    rng = np.random.default_rng(seed)
    estimates, variances, freedoms = [], [], []
    for _ in range(SPLITS):
        half = _halves(counted, rng)
        folds = [_fold(counted, half == number, binning, entries, n_bins) for number in (0, 1)]
        estimates.append(np.mean([fold[0] for fold in folds], axis=0))
        variance, freedom = _join_variances(
            np.array([fold[1] for fold in folds]), np.array([fold[2] for fold in folds])
        )
        variances.append(variance / 4)
        freedoms.append(freedom)
    estimate, error = np.mean(estimates, axis=0), np.sqrt(np.mean(variances, axis=0))
    freedom = np.mean(freedoms, axis=0)
    limits = t_inference(estimate, error, freedom)
    return CrossFitted(estimate, limits.low, limits.high, error, freedom)


def _halves(counted: NameCounts, rng: np.random.Generator) -> Codes:
    """Return the half (0 or 1) of each name, shape (n,)."""
    order = rng.permutation(counted.stratum.max() + 1)[counted.stratum]
    half = np.empty(len(counted.names), dtype=np.int64)
    for group in range(len(counted.groups)):
        mine = rng.permutation(np.flatnonzero(counted.group == group))
        half[mine[np.argsort(order[mine], kind="stable")]] = np.arange(len(mine)) % 2
    return half


def _fold(
    counted: NameCounts, learned: Codes, binning: Binning, entries: Entries, n_bins: int
) -> tuple[Floats, Floats, Floats]:
    """Return estimates, variances and degrees of freedom (1 + entries,) from the names that are not in `learned`."""
    said = np.flatnonzero(counted.counts[np.flatnonzero(learned)].sum(axis=0))
    counted = counted.of_tokens(said) if len(said) else counted
    frequencies = counted.frequencies(np.flatnonzero(learned), smoothing=SMOOTHING)
    bins = binning(frequencies)
    expected = overindexing(bin_masses(frequencies, bins, n_bins), entries)
    length = np.linalg.norm(expected)
    direction = expected / length if length > 0 else np.zeros(len(entries))
    directions = np.vstack([direction, np.eye(len(entries))])

    rows = np.flatnonzero(~learned)
    indicator = np.zeros((counted.counts.shape[1], n_bins))
    indicator[np.arange(len(bins)), bins] = 1.0
    used = np.asarray(counted.counts[rows] @ indicator)
    totals = used.sum(axis=1)
    groups = counted.group[rows]
    masses = np.array(
        [
            used[groups == g].sum(axis=0) / max(1.0, totals[groups == g].sum())
            for g in range(len(counted.groups))
        ]
    )
    slopes = _slopes(masses, entries)
    variances, freedoms = [], []
    for group in range(len(counted.groups)):
        mine = groups == group
        residuals = (used[mine] - totals[mine, None] * masses[group]) / max(1.0, totals[mine].sum())
        influence = residuals @ slopes[group].T @ directions.T
        factor, freedom = of_weights(totals[mine])
        variances.append(factor @ influence**2)
        freedoms.append(np.full(len(directions), freedom))
    variance, joined = _join_variances(np.array(variances), np.array(freedoms))
    return directions @ overindexing(masses, entries), variance, joined


def _join_variances(variances: Floats, freedoms: Floats) -> tuple[Floats, Floats]:
    """Return the sum of independent variances (parts, numbers), and its degrees of freedom (Welch), each (numbers,)."""
    total = variances.sum(axis=0)
    parts = (variances**2 / freedoms).sum(axis=0)
    return total, np.divide(total**2, parts, out=np.ones(len(total)), where=parts > 0)


def _slopes(masses: Floats, entries: Entries) -> Floats:
    """Return the derivatives of the profile by each group's share of each bin, shape (groups, entries, bins).

    The entry of a group and bin is share / mean - 1, and the mean contains the shares of all groups.
    """
    number = len(masses)
    mean = masses.mean(axis=0)
    slopes = np.zeros((number, len(entries), masses.shape[1]))
    for place, (group, which) in enumerate(entries):
        if mean[which] == 0:
            continue
        slopes[:, place, which] = -masses[group, which] / (number * mean[which] ** 2)
        slopes[group, place, which] += 1 / mean[which]
    return slopes


def row_of(counted: NameCounts, found: CrossFitted | None, level: float) -> pl.DataFrame:
    """Return the row (`judging.ROW`) of the profile's length, with the numbers of tokens (n) and names (n_units)."""
    row: dict[str, Any] = {
        "n": int(counted.counts.sum()),
        "n_missing": counted.missing,
        "n_units": len(counted.names),
    }
    if found is not None and found.standard_error[0] <= SAME:
        same = "The conversations of all names use the same words equally often, so they cannot be distinguished."
        apart = "All names of a group use the same words equally often: their variation cannot be estimated."
        told = same if abs(found.estimate[0]) <= SAME else apart
        return row_table(row | {"estimate": float(found.estimate[0]), "null": 0.0, "obstacle": told})
    if found is not None:
        values = judged(
            float(found.estimate[0]), float(found.standard_error[0]), float(found.freedom[0]), level
        )
        return row_table(row | values)
    sizes = np.bincount(counted.group, minlength=len(counted.groups))
    least = int(sizes.argmin())
    return row_table(row | {"obstacle": too_few(counted.groups[least], int(sizes[least]), LEAST_NAMES)})


def entry_columns(found: CrossFitted | None, entries: int) -> list[pl.Series]:
    """Return the columns cross_fitted, cross_fitted_low and cross_fitted_high of the profile's entries; null if not
    estimated.
    """
    columns = {"cross_fitted": "estimate", "cross_fitted_low": "low", "cross_fitted_high": "high"}
    return [
        pl.Series(name, getattr(found, of)[1:] if found else [None] * entries, dtype=pl.Float64).fill_nan(
            None
        )
        for name, of in columns.items()
    ]


def published_norm(
    counted: NameCounts, norm: Callable[[NameCounts], float], *, draws: int, seed: int
) -> pl.DataFrame:
    """Return one row with the published norm (l2), and its null distribution.

    null_mean and null_97_5 are the mean and 97.5% quantile if groups are assigned to names at random.
    """
    rng = np.random.default_rng(seed)
    dealt = [norm(replace(counted, group=rng.permutation(counted.group))) for _ in range(draws)]
    values: dict[str, Any] = {
        "l2": norm(counted),
        "null_mean": np.mean(dealt),
        "null_97_5": np.quantile(dealt, 0.975),
    }
    return pl.DataFrame({name: [float(value)] for name, value in values.items()})
