"""How alike votes are that share a person, an item or a conversation, and what that makes of a mean's error.

Each shared thing (a way in which votes are related) adds its own covariance to a pair of votes. Half the mean squared
difference of votes that share it falls short of the variance by that covariance, so that pairs of votes tell it without
bias however few votes a person gave; two things that some pairs share at once are told apart by a small system of
equations. Persons and items enter with the same pair weights as if a tenth of the variance were theirs, so that one who
gave many votes does not decide alone how alike votes of one person are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import lsq_linear, nnls

from evenhand.stats.arrays import Codes, Floats

WORKING_CORRELATION = 0.1
"""Of votes of one person or item, by which many votes of one weigh less; the estimated one decides the error alone."""
LARGEST_SHARED = 0.95
"""Of the variance that all shared things together may take."""


@dataclass(frozen=True)
class Ways:
    """Votes (n,) and the ways in which they are related: one array of codes from 0 for each."""

    codes: tuple[Codes, ...]
    counts: tuple[npt.NDArray[np.int64], ...]
    pair_weights: tuple[Floats, ...]
    shared: Floats
    """(ways, ways): weighted pairs that share one of the first way, and at once one of the second."""

    @property
    def n(self) -> int:
        """Votes."""
        return len(self.codes[0])


def ways_of(labels: Sequence[npt.ArrayLike]) -> Ways:
    """Number the labels of each way (n,) and count which pairs share what."""
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
    """Weights (n,), adding to 1, under which n votes of one person or item count for n / (1 + (n - 1) / 10)."""
    weights = np.ones(ways.n)
    for code, count in zip(ways.codes, ways.counts, strict=True):
        weights /= 1.0 + WORKING_CORRELATION * (count[code] - 1.0)
    return np.asarray(weights / weights.sum())


def correlations(
    ways: Ways, residuals: Floats, variance: float = 1.0, *, parts: Codes | None = None, gap: float = 0.0
) -> Floats:
    """Share of the variance that each way has, at least 0 (but for ways whose levels span parts).

    residuals: (n,), any constant may be added to them. variance: of one vote, around the truth. parts: (n,), where the
    residuals are of several means, and gap: the error variance of a difference of two of them, half of which pairs
    across parts are too near each other. Votes of one person in two parts may be opposed: cutting that off at 0 would
    make differences look surer than they are.
    """
    found = np.zeros(len(ways.codes))
    active = [way for way in range(len(found)) if ways.shared[way, way] > 0]
    if not active or not variance > 0:
        return found
    excess, least = np.zeros(len(found)), np.zeros(len(found))
    for way in active:
        code, count = ways.codes[way], ways.counts[way]
        sums, squares = np.bincount(code, residuals), np.bincount(code, residuals**2)
        apart = count * squares - sums**2  # half the squared differences, over ordered pairs
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
    """Ordered pairs of each level whose votes are of the same part."""
    sizes = [np.bincount(code[parts == part], minlength=levels) for part in np.unique(parts)]
    return np.asarray(sum(size * (size - 1.0) for size in sizes))


@dataclass(frozen=True)
class Contrast:
    """How much of a vote's variance a weighted sum of votes has, and on how many degrees of freedom that is known."""

    share: float
    """Variance of the sum over that of one vote: 1 / the number of independent votes that would tell as much."""
    freedom: float


def contrast(ways: Ways, weights: Floats, shares: Floats) -> Contrast:
    """The error of the sum of weights (n,) times votes, if each way has its share of the variance.

    Degrees of freedom by Satterthwaite, the error of each share as in a one-way layout of clusters of these sizes.
    Source: Satterthwaite 1946; Swiger, Harvey, Everson & Gregory 1964 for the error of an intraclass correlation.
    """
    squares = float((weights**2).sum())
    reach = np.array([(np.bincount(code, weights) ** 2).sum() - squares for code in ways.codes])
    own = squares * (1.0 - LARGEST_SHARED)  # what is paired away never takes all of it
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
    """The error if votes that share anything were one vote: for votes all equal, which tell no correlation."""
    sums = [float((np.bincount(code, weights) ** 2).sum()) for code in ways.codes]
    worst = int(np.argmax(sums))
    return Contrast(sums[worst], max(1.0, len(ways.counts[worst]) - 1.0))
