"""Estimate how similar judgements are that share an annotator, item or conversation, and the error of means of them.

Each shared factor (a way in which judgements are related) adds a covariance to pairs of judgements. Half the mean
squared difference of judgements that share the factor is smaller than the variance by this covariance. Pairs therefore
estimate it without bias, however few judgements an annotator gave. If pairs share two factors, a small system of
equations separates them. Pairs are weighted as if each factor had a tenth of the variance, so that an annotator with
many judgements does not dominate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import lsq_linear, nnls

from evenhand.stats.arrays import Codes, Floats

WORKING_CORRELATION = 0.1
"""Assumed correlation of judgements with a common factor, for weights only; errors use the estimated one."""
LARGEST_SHARED = 0.95
"""Largest share of the variance that all factors together may have."""


@dataclass(frozen=True)
class Ways:
    """Factors by which judgements (n,) are related: one array of codes from 0 for each factor."""

    codes: tuple[Codes, ...]
    counts: tuple[npt.NDArray[np.int64], ...]
    pair_weights: tuple[Floats, ...]
    shared: Floats
    """Weighted number of pairs that share the first factor and also the second, shape (factors, factors)."""

    @property
    def n(self) -> int:
        """Return the number of judgements."""
        return len(self.codes[0])


def find_factors(labels: Sequence[npt.ArrayLike]) -> Ways:
    """Return the factors by which judgements are related, from one array of labels (n,) for each factor."""
    codes = tuple(np.unique(np.asarray(each), return_inverse=True)[1].reshape(-1) for each in labels)
    counts = tuple(np.bincount(each) for each in codes)
    weights = tuple(np.asarray((1.0 + WORKING_CORRELATION * (count - 1.0)) ** -2) for count in counts)
    shared = np.zeros((len(codes), len(codes)))
    for first, code in enumerate(codes):
        for second, other in enumerate(codes):
            both, number = np.unique(code * len(counts[second]) + other, return_counts=True)
            shared[first, second] = (
                weights[first][both // len(counts[second])] * number * (number - 1.0)
            ).sum()
    return Ways(codes, counts, weights, shared)


def working_weights(ways: Ways) -> Floats:
    """Return weights (n,) that sum to 1; n judgements of an annotator or item count as n / (1 + (n - 1) / 10)."""
    weights = np.ones(ways.n)
    for code, count in zip(ways.codes, ways.counts, strict=True):
        weights /= 1.0 + WORKING_CORRELATION * (count[code] - 1.0)
    return np.asarray(weights / weights.sum())


def correlations(
    ways: Ways, residuals: Floats, variance: float = 1.0, *, parts: Codes | None = None, gap: float = 0.0
) -> Floats:
    """Return the share of the variance that is due to each factor.

    Parameters
    ----------
    residuals : numpy.ndarray, shape (n,)
        Residuals of the judgements; a constant has no effect.
    variance : float
        True variance of one judgement.
    parts : numpy.ndarray of int, shape (n,), optional
        Code of the part, if residuals are from the means of several parts.
    gap : float
        Error variance of the difference of two parts' means. Pairs across parts are too similar by half of it.

    Returns
    -------
    numpy.ndarray, shape (factors,)
        Shares, at least 0. A factor with levels in several parts may be negative, because an annotator may judge the
        two parts in opposite ways. A bound at 0 would make errors of differences too small.
    """
    found = np.zeros(len(ways.codes))
    active = [way for way in range(len(found)) if ways.shared[way, way] > 0]
    if not active or not variance > 0:
        return found
    excess, least = np.zeros(len(found)), np.zeros(len(found))
    for way in active:
        code, count = ways.codes[way], ways.counts[way]
        sums, squares = np.bincount(code, residuals), np.bincount(code, residuals**2)
        apart = count * squares - sums**2  # half the sum of squared differences over ordered pairs
        pairs = variance * count * (count - 1.0)
        if parts is not None:
            across = count * (count - 1.0) - _inside(code, parts, len(count))
            pairs -= gap / 2 * across
            least[way] = -np.inf if across.any() else 0.0
        excess[way] = float((ways.pair_weights[way] * (pairs - apart)).sum()) / variance
    scale = np.sqrt(np.diag(ways.shared)[active])
    rows, right = ways.shared[np.ix_(active, active)] / scale[:, None], excess[active] / scale
    found[active] = (
        lsq_linear(rows, right, (least[active], np.inf), method="bvls").x
        if least.any()
        else nnls(rows, right)[0]
    )
    total = float(found.sum())
    return found * (LARGEST_SHARED / total) if total > LARGEST_SHARED else found


def _inside(code: Codes, parts: Codes, levels: int) -> Floats:
    """Return the number of ordered pairs within the same part, for each level."""
    sizes = [np.bincount(code[parts == part], minlength=levels) for part in np.unique(parts)]
    return np.asarray(sum(size * (size - 1.0) for size in sizes))


@dataclass(frozen=True)
class Contrast:
    """Error of a weighted sum of judgements, and its degrees of freedom."""

    share: float
    """Variance of the sum divided by that of one judgement: 1 / the effective number of independent judgements."""
    freedom: float


def contrast(ways: Ways, weights: Floats, shares: Floats) -> Contrast:
    """Return the error of a weighted sum of judgements (`weights` (n,)), given the variance share of each factor.

    The degrees of freedom are Satterthwaite's. The error of each share is that of a one-way layout with clusters of
    these sizes. Source: Satterthwaite 1946; Swiger, Harvey, Everson & Gregory 1964 (error of an intraclass
    correlation).
    """
    squares = float((weights**2).sum())
    reach = np.array([(np.bincount(code, weights) ** 2).sum() - squares for code in ways.codes])
    # In a difference of two parts, effects of annotators who judged both cancel. What no factor explains remains.
    own = squares * (1.0 - LARGEST_SHARED)
    share = max(squares + float((reach * shares).sum()), own)
    doubt = 2.0 * share**2 / ways.n
    for way, count in enumerate(ways.counts):
        several = count > 1
        clusters = int(several.sum())
        if clusters:
            n, rho = count[several].astype(np.float64), shares[way]
            mass = ways.pair_weights[way][several] * n * (n - 1)
            error = 2 * (1 + (n - 1) * rho) ** 2 * (1 - rho) ** 2 / (n * (n - 1))
            bias = clusters / max(clusters - 1, 0.5)
            doubt += reach[way] ** 2 * float((mass**2 * error).sum()) / float(mass.sum()) ** 2 * bias
    return Contrast(share, max(1.0, 2.0 * share**2 / doubt))


def whole_clusters(ways: Ways, weights: Floats) -> Contrast:
    """Return the error if all judgements that share a factor count as one.

    It is used if all judgements are equal, because they contain no information about correlations.
    """
    sums = [float((np.bincount(code, weights) ** 2).sum()) for code in ways.codes]
    worst = int(np.argmax(sums))
    return Contrast(sums[worst], max(1.0, len(ways.counts[worst]) - 1.0))
