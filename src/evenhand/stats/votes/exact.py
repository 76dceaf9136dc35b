"""Statistics of judgements as in published studies: exact tests, stars, smallest significant shares, chi-square."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, bdtrc, chdtrc

from evenhand.schema import UsageError

STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
"""Levels below which a p-value gets these stars, as papers print them."""


def binomial_p(successes: int, n: int) -> float:
    """Return the exact two-sided p-value of `successes` out of n independent votes, if both answers are equally likely.

    NaN without votes.

    >>> round(binomial_p(224, 400), 3)
    0.019
    """
    if not 0 <= successes <= n:
        raise UsageError(f"binomial_p: successes must be from 0 to n, got successes={successes}, n={n}.")
    if n == 0:
        return float("nan")
    fewer = min(successes, n - successes)
    return float(min(1.0, bdtr(fewer, n, 0.5) + bdtrc(n - fewer - 1, n, 0.5)))


def stars(p: float) -> str:
    """Return the asterisks of a p-value: three below .001, two below .01, one below .05.

    >>> stars(0.019)
    '*'
    """
    return next((marks for level, marks in STARS if p < level), "")


def minimal_significant(n: int, alpha: float = 0.05) -> float:
    """Return the smallest share of n independent votes that differs significantly from 0.5 in the exact two-sided test.

    NaN if none does. With few persons or many votes per item, a larger share is needed (see `win_rates`).

    >>> [minimal_significant(n) for n in (100, 200, 400, 800)]
    [0.61, 0.575, 0.5525, 0.53625]
    """
    if n < 0 or not 0 < alpha < 1:
        raise UsageError(
            f"minimal_significant: n must be 0 or more, and alpha between 0 and 1, got n={n}, alpha={alpha}."
        )
    counts = np.arange(n // 2, n + 1)
    found = counts[np.minimum(1.0, 2 * bdtrc(counts - 1.0, n, 0.5)) < alpha]
    return float(found[0] / n) if len(found) else float("nan")


def published_agreement(choices: Sequence[npt.ArrayLike]) -> float:
    """Return the agreement of votes on pairs as ACUTE-Eval's analysis computes it.

    `choices` has the votes of each pair: 1 for one model, 0 for the other. The agreement of a pair is the share of its
    more common answer, or 0 if both are equally common. The mean over pairs with two or more votes is returned, or NaN
    if there are none. Random votes have an agreement of about one half.

    >>> published_agreement([[1, 1], [1, 0], [1], [1, 1, 0]])
    0.5555555555555555
    """
    shares = []
    for votes in choices:
        values = np.asarray(votes, dtype=np.float64)
        if len(values) > 1:
            share = float(values.mean())
            shares.append(0.0 if share == 0.5 else max(share, 1 - share))
    return float(np.mean(shares)) if shares else float("nan")


def chi_square(table: npt.ArrayLike) -> tuple[float, int, float]:
    """Return Pearson's chi-square of a table of counts, its degrees of freedom and p, without continuity correction.

    Rows and columns without counts are left out. NaN with fewer than two rows or columns.

    >>> chi_square([[30, 70], [50, 50]])[1], round(chi_square([[30, 70], [50, 50]])[2], 4)
    (1, 0.0039)
    """
    counts = np.atleast_2d(np.asarray(table, dtype=np.float64))
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if min(counts.shape) < 2:
        return float("nan"), 0, float("nan")
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    statistic = float((np.square(counts - expected) / expected).sum())
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return statistic, freedom, float(chdtrc(freedom, statistic))
