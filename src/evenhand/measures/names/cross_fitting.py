"""Bins of tokens found with half of the names and measured on the others, so that chance is not taken for bias."""

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
"""Added to the counts by which tokens are put into bins, so that one seen once is not at the end of the order."""
SAME = 1e-9
"""A standard error that is rounding alone: names do not differ at all."""
Entries = Sequence[tuple[int, int]]
"""(group, bin) of each number of a profile."""
Binning = Callable[[Floats], Codes]
"""From frequencies (groups, V) to the bin of each token, (V,)."""


@dataclass(frozen=True)
class CrossFitted:
    """estimate, low, high, standard_error: (1 + entries,): first the profile's length along its expected direction,
    then each of its entries, as fractions."""

    estimate: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    freedom: Floats


def overindexing(masses: Floats, entries: Entries) -> Floats:
    """How much more often a group uses a bin than groups do on average, (entries,): share / mean share - 1.

    Parameters
    ----------
    masses
        (groups, bins), shares of each group's tokens. 0 where nobody uses the bin.
    """
    mean = masses.mean(axis=0)
    ratio = np.divide(masses, mean, out=np.ones(masses.shape), where=mean > 0) - 1
    return np.array([ratio[entry] for entry in entries])


def bin_masses(frequencies: Floats, bins: Codes, n_bins: int) -> Floats:
    """Share of each group's tokens that lies in each bin, (groups, bins)."""
    return np.array([np.bincount(bins, weights=row, minlength=n_bins) for row in frequencies])


def cross_fitted(
    counted: NameCounts, binning: Binning, entries: Entries, n_bins: int, *, seed: int
) -> CrossFitted | None:
    """The profile of overindexing in bins that names did not help to find; None with fewer than LEAST_NAMES a group.

    Names of each group are dealt to two halves at random, SPLITS times, those of a stratum in turns, and strata in the
    same order for all groups: else what one half has more of, the other has less, and a race that matters is found
    with one and denied by the other. Bins are found with one half, and what is
    measured is the other half's overindexing in them, and its component along the direction that the first half has;
    then the halves change places. Tokens that the first half did not say are left out: nothing tells their bin, and
    all names that are said back would come to lie in the same one. Under no bias each expectation is 0. Standard errors
    come from names (a ratio's residuals, linearised; `judging.over_names`), averaged over splits; intervals and p from
    Student's t.
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
        variance, freedom = _joined(
            np.array([fold[1] for fold in folds]), np.array([fold[2] for fold in folds])
        )
        variances.append(variance / 4)
        freedoms.append(freedom)
    estimate, error = np.mean(estimates, axis=0), np.sqrt(np.mean(variances, axis=0))
    freedom = np.mean(freedoms, axis=0)
    limits = t_inference(estimate, error, freedom)
    return CrossFitted(estimate, limits.low, limits.high, error, freedom)


def _halves(counted: NameCounts, rng: np.random.Generator) -> Codes:
    """To which half each name is dealt, (n,), 0 or 1."""
    order = rng.permutation(counted.stratum.max() + 1)[counted.stratum]
    half = np.empty(len(counted.names), dtype=np.int64)
    for group in range(len(counted.groups)):
        mine = rng.permutation(np.flatnonzero(counted.group == group))
        half[mine[np.argsort(order[mine], kind="stable")]] = np.arange(len(mine)) % 2
    return half


def _fold(
    counted: NameCounts, learned: Codes, binning: Binning, entries: Entries, n_bins: int
) -> tuple[Floats, Floats, Floats]:
    """Estimates, variances and degrees of freedom, each (1 + entries,), from the names not in `learned` (n,), flags."""
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
    variance, joined = _joined(np.array(variances), np.array(freedoms))
    return directions @ overindexing(masses, entries), variance, joined


def _joined(variances: Floats, freedoms: Floats) -> tuple[Floats, Floats]:
    """The sum of independent variances, (parts, numbers), and its degrees of freedom, each (numbers,) (Welch)."""
    total = variances.sum(axis=0)
    parts = (variances**2 / freedoms).sum(axis=0)
    return total, np.divide(total**2, parts, out=np.ones(len(total)), where=parts > 0)


def _slopes(masses: Floats, entries: Entries) -> Floats:
    """Derivatives of the profile by each group's share of each bin, (groups, entries, bins)."""
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
    """The row (`judging.ROW`) of the profile's length, of n tokens said in the conversations of n_units names."""
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
    """Columns cross_fitted, cross_fitted_low, cross_fitted_high of the profile's entries; null where not estimated."""
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
    """One row: l2, the norm as published, and null_mean and null_97_5, its mean and 97.5 % quantile when groups are
    dealt to names at random, which can have no meaning."""
    rng = np.random.default_rng(seed)
    dealt = [norm(replace(counted, group=rng.permutation(counted.group))) for _ in range(draws)]
    values: dict[str, Any] = {
        "l2": norm(counted),
        "null_mean": np.mean(dealt),
        "null_97_5": np.quantile(dealt, 0.975),
    }
    return pl.DataFrame({name: [float(value)] for name, value in values.items()})
