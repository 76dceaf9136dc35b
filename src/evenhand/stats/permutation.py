"""Permutation tests: labels permuted within blocks, signs flipped, and responses exchanged between systems."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.schema import UsageError, checked_kinds
from evenhand.stats.arrays import Floats, Indices, call_statistic, require_codes

Labels = Indices
LabelStatistic = Callable[[Floats, Labels], npt.ArrayLike]
"""A function of values (n,) and labels (draws, n), coded 0, 1, ..., that returns statistics (draws,)."""

_CELLS = 1 << 21
_EXACT_UP_TO = 16  # 65,536 sign patterns, half of which must be computed


@dataclass(frozen=True)
class Null:
    """An observed statistic with its null distribution.

    Result of `permutation_null`. The null distribution is that of the statistic if labels had no effect.

    Attributes
    ----------
    observed : float
        Observed value.
    mean, quantile_95 : float
        Mean and 95% quantile under the null.
    p : float
        One-sided p-value: (1 + k) / (1 + draws), for k permutations with a value at least as large as the observed one.
    draws : int
        Number of permutations.
    excess : float
        Observed value minus the mean under the null. Above 0, it is larger than expected by chance.
    """

    observed: float
    mean: float
    quantile_95: float
    p: float
    """One-sided p-value: (1 + number of permutations with a value at least as large as the observed one) / (1 +
    permutations).
    """
    draws: int

    @property
    def excess(self) -> float:
        """Return the observed value minus its mean under the null."""
        return self.observed - self.mean


@checked_kinds
def permutation_null(
    statistic: LabelStatistic,
    values: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    blocks: npt.ArrayLike | None = None,
    draws: int = 999,
    seed: int,
) -> Null:
    """Return the null distribution of a statistic of labelled values, by permuting labels within blocks.

    Use it for a statistic that is not 0 without bias, such as `group_gap`. It shows how large the statistic is by
    chance.

    Parameters
    ----------
    statistic : callable
        Takes values (n,) and labels (k, n), coded 0, 1, ... in sorted order, and returns (k,). It must be large
        if bias is large.
    values : array_like, shape (n,)
        Values; NaN is left out.
    labels : array_like, shape (n,)
        Label of each value's group. The groups are compared.
    blocks : array_like, shape (n,), optional
        Label of each value's block, such as its template or prompt. Labels are permuted within blocks only, so
        that differences between blocks have no effect. Default: one block.
    draws : int, default 999
        Number of permutations.
    seed : int
        Random seed.

    Returns
    -------
    Null
        Observed value, mean, 95% quantile and one-sided p (large values are significant).

    Raises
    ------
    UsageError
        Shapes differ, there are fewer than two groups, or `draws` is below 1.

    References
    ----------
    - Phipson & Smyth 2010: p.
    - Good 2005, chapter 3.

    Examples
    --------
    >>> null = permutation_null(group_gap, [0, 0, 1, 0, 1, 1, 1, 1], list("aaaabbbb"), seed=0)
    >>> null.observed, 0 < null.p < 1, null.excess < null.observed
    (0.75, True, True)
    """
    numbers, names = np.asarray(values, dtype=np.float64), np.asarray(labels)
    places = np.zeros(numbers.shape, dtype=np.intp) if blocks is None else np.asarray(blocks)
    if numbers.ndim != 1 or names.shape != numbers.shape or places.shape != numbers.shape:
        raise UsageError(
            f"Values, labels and blocks have different shapes: {numbers.shape}, {names.shape}, {places.shape}.",
            "Give one label (and one block) for each value.",
        )
    known = ~np.isnan(numbers)
    groups, codes = np.unique(names[known], return_inverse=True)
    if len(groups) < 2:
        raise UsageError(
            f"A permutation test needs at least two groups, got {len(groups)}.",
            "Give labels of at least two groups.",
        )
    block = np.unique(places[known], return_inverse=True)[1]
    order = np.argsort(block, kind="stable")
    numbers, codes, block = numbers[known][order], codes[order].astype(np.intp), block[order]
    owner, name = "permutation_null", "statistic"
    observed = float(call_statistic(owner, name, statistic, numbers, codes[None, :], shape=(1,))[0])
    generator = np.random.default_rng(seed)
    simulated = np.empty(draws)
    step = max(1, _CELLS // len(numbers))
    for start in range(0, draws, step):
        size = min(step, draws - start)
        # sorting block number + random fraction shuffles every block in place, all draws at once
        shuffled = np.argsort(block + generator.random((size, len(numbers))), axis=1)
        simulated[start : start + size] = call_statistic(
            owner, name, statistic, numbers, codes[shuffled], shape=(size,)
        )
    return Null(
        observed=observed,
        mean=float(simulated.mean()),
        quantile_95=float(np.quantile(simulated, 0.95)),
        p=(1 + int(np.count_nonzero(simulated >= observed - _rounding(observed)))) / (1 + draws),
        draws=draws,
    )


@checked_kinds
def group_gap(values: npt.ArrayLike, labels: npt.ArrayLike) -> Floats:
    """Return the largest minus the smallest group mean, for each of several assignments of values to groups.

    Use it with `permutation_null`, which shows its size without bias. This popular statistic is practically never 0,
    even without bias.

    Parameters
    ----------
    values : array_like, shape (n,)
        Values.
    labels : array_like of int, shape (draws, n)
        One assignment per row: the group of each value, coded 0, 1, ...

    Returns
    -------
    numpy.ndarray, shape (draws,)
        Gaps, in the unit of the values.

    Raises
    ------
    UsageError
        The labels are not integers, or the shapes do not match.

    Examples
    --------
    >>> group_gap([0.0, 1.0, 1.0, 1.0], [[0, 0, 1, 1], [0, 1, 0, 1]]).tolist()
    [0.5, 0.5]
    """
    numbers, codes = np.asarray(values, dtype=np.float64), np.asarray(labels)
    if codes.dtype.kind not in "iu" or numbers.ndim != 1 or codes.ndim != 2 or codes.shape[1] != len(numbers):
        raise UsageError(
            f"group_gap: values of shape {numbers.shape} and labels of shape {codes.shape} do not match.",
            "Give values of shape (n,) and whole numbers as labels of shape (permutations, n).",
        )
    if not codes.size:
        raise UsageError(
            "group_gap: values or labels are empty.", "Give at least one value and one permutation."
        )
    require_codes("group_gap", "labels", codes, len(numbers))
    draws, groups = len(codes), int(codes.max()) + 1
    cells = (codes + np.arange(draws)[:, None] * groups).ravel()
    sums = np.bincount(cells, weights=np.tile(numbers, draws), minlength=draws * groups)
    counts = np.bincount(cells, minlength=draws * groups)
    means = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0).reshape(draws, groups)
    return np.asarray(np.nanmax(means, axis=1) - np.nanmin(means, axis=1))


@checked_kinds
def sign_flip_test(
    differences: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None, draws: int = 9999, seed: int = 0
) -> tuple[Floats, Floats]:
    """Test whether the mean paired difference is zero, by randomly flipping signs.

    Use it to compare two systems on the same prompts. It makes no assumption on the distribution, except that
    differences are symmetric around 0 under the null hypothesis.

    Parameters
    ----------
    differences : array_like, shape (n,) or (m, n)
        Paired differences; NaN is missing. Each row is a separate test.
    clusters : array_like, shape (n,), optional
        Label of each column's cluster, such as its prompt. The signs of a cluster are flipped together.
        Default: each column by itself.
    draws : int, default 9999
        Number of random sign patterns. With 16 or fewer clusters, all patterns are used.
    seed : int, default 0
        Random seed.

    Returns
    -------
    mean : numpy.ndarray, shape (m,)
        Mean differences. NaN for rows in which all differences are missing.
    p : numpy.ndarray, shape (m,)
        Two-sided p-values. NaN for rows in which all differences are missing.

    Raises
    ------
    UsageError
        Shapes do not match, or `draws` is below 1.

    Notes
    -----
    If all sign patterns are used, p is the share of patterns whose sum is at least as far from 0 as the observed one.
    If patterns are random and k of them have such a sum, p is (1 + k) / (1 + draws).

    References
    ----------
    - Fisher 1935, section 21.
    - Phipson & Smyth 2010.

    Examples
    --------
    >>> mean, p = sign_flip_test([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> mean.tolist(), p.tolist()
    ([3.0], [0.0625])
    """
    rows = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    if rows.ndim > 2:
        raise UsageError(f"sign_flip_test: differences must have the shape (n,) or (m, n), got {rows.shape}.")
    present = np.count_nonzero(~np.isnan(rows), axis=1)
    amounts = np.nan_to_num(rows)  # a missing pair contributes 0 for either sign
    mean = np.divide(amounts.sum(axis=1), present, out=np.full(len(rows), np.nan), where=present > 0)
    if clusters is not None:
        labels = np.asarray(clusters)
        if labels.shape != (rows.shape[1],):
            raise UsageError(
                f"clusters has the shape {labels.shape}, but there are {rows.shape[1]} differences in a row.",
                "Give one cluster label for each difference.",
            )
        codes = np.unique(labels, return_inverse=True)[1]
        amounts = amounts @ (codes[:, None] == np.arange(codes.max() + 1)).astype(np.float64)
    units = amounts.shape[1]
    exact = units <= _EXACT_UP_TO
    patterns = _all_signs(units) if exact else _random_signs(units, draws, seed)
    as_far = np.zeros(len(rows), dtype=np.int64)
    observed = np.abs(amounts.sum(axis=1))
    threshold = observed - 1e-12 * np.abs(amounts).sum(axis=1)
    step = max(1, _CELLS // len(patterns))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        sums = np.abs(amounts[block] @ patterns.T)
        as_far[block] = np.count_nonzero(sums >= threshold[block, None], axis=1)
    p = as_far / len(patterns) if exact else (1 + as_far) / (1 + draws)
    return mean, np.where(present > 0, p, np.nan)


@checked_kinds
def exchange_test(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: npt.ArrayLike,
    statistic: Callable[[Floats], Floats],
    *,
    draws: int = 1999,
    seed: int,
) -> Floats:
    """Test whether two systems are equal in a statistic, by randomly exchanging their responses.

    Use it for a statistic that is a function of sums over texts, such as BLEU or F1. For a mean, use `sign_flip_test`.

    Parameters
    ----------
    first, second : array_like, shape (n, k)
        One row per text (or other observation): its contribution to each of the k sums of the system.
    clusters : array_like, shape (n,)
        Label of each row's cluster. The rows of a cluster are exchanged together.
    statistic : callable
        Takes sums (..., k) and returns statistics (..., m).
    draws : int, default 1999
        Number of random exchanges.
    seed : int
        Random seed.

    Returns
    -------
    numpy.ndarray, shape (m,)
        Two-sided p: the share of exchanges, including the observed data, in which the systems differ at least as much.
        NaN if a statistic is not a number.

    Raises
    ------
    UsageError
        Shapes do not match, or `draws` is below 1.

    References
    ----------
    - Noreen 1989.
    - Riezler & Maxwell 2005: the test for BLEU.

    Examples
    --------
    The statistic is the share of hits. The first system always hits, the second never:

    >>> hits = np.array([[1.0, 1.0]] * 12)
    >>> exchange_test(hits, hits * [0, 1], range(12), lambda sums: sums[..., :1] / sums[..., 1:], seed=0).tolist()
    [0.001]
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (first, second)]
    labels = np.asarray(clusters)
    if sides[0].ndim != 2 or sides[0].shape != sides[1].shape or labels.shape != sides[0].shape[:1]:
        raise UsageError(
            f"exchange_test: sums of shapes {sides[0].shape} and {sides[1].shape} and clusters of shape "
            f"{labels.shape} do not match.",
            "Give both sums in the shape (n, k), and one cluster label for each of the n rows.",
        )
    codes = np.unique(labels, return_inverse=True)[1]
    groups = int(codes.max()) + 1 if len(codes) else 0
    moved = np.stack(
        [np.bincount(codes, weights=column, minlength=groups) for column in (sides[1] - sides[0]).T], axis=-1
    )
    middle, half = (sides[0] + sides[1]).sum(axis=0) / 2, moved / 2
    moved_all = half.sum(axis=0)
    shape = call_statistic("exchange_test", "statistic", statistic, middle + moved_all).shape

    def differ(by: Floats) -> Floats:
        wanted = (*by.shape[:-1], *shape)
        sums = (middle + by, middle - by)
        one, other = (
            call_statistic("exchange_test", "statistic", statistic, side, shape=wanted) for side in sums
        )
        return np.abs(one - other)

    observed = differ(moved_all)
    as_far = np.zeros(len(observed), dtype=np.int64)
    generator = np.random.default_rng(seed)
    step = max(1, _CELLS // max(1, groups))
    for start in range(0, draws, step):
        signs = 1.0 - 2.0 * generator.integers(0, 2, size=(min(step, draws - start), groups))
        as_far += np.count_nonzero(differ(signs @ half) >= observed * (1 - 1e-9), axis=0)
    return np.where(np.isfinite(observed), (1 + as_far) / (1 + draws), np.nan)


def _all_signs(units: int) -> Floats:
    # a pattern and its opposite are equally far from 0, so the last sign is fixed
    bits = (np.arange(1 << max(0, units - 1))[:, None] >> np.arange(units)) & 1
    return np.asarray(1.0 - 2.0 * bits, dtype=np.float64)


def _random_signs(units: int, draws: int, seed: int) -> Floats:
    bits = np.random.default_rng(seed).integers(0, 2, size=(draws, units))
    return np.asarray(1.0 - 2.0 * bits, dtype=np.float64)


def _rounding(observed: float) -> float:
    # sums in another order may differ in the last digits; such permutations count as equally large
    return 1e-12 * max(1.0, abs(observed))
