"""Distinct-n: the share of different n-grams in texts, plain and at a fixed number of n-grams.

The plain share decreases with the length of texts, because words recur. A model that stops early, or a group with few
texts, therefore looks diverse. It is also reported for random subsets of texts with a fixed number of n-grams. The
expectation across all subsets has a closed form, so nothing is sampled.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from evenhand.stats import Codes, Floats, jackknife


@dataclass(frozen=True)
class Distinct:
    """Distinct n-grams divided by n-grams: `plain` for all, and `estimate` with 95% CI for `budget` n-grams."""

    plain: float
    estimate: float
    low: float
    high: float
    grams: int


def distinct_grams(codes: Codes, texts: Codes, clusters: Codes, budget: int, level: float = 0.95) -> Distinct:
    """Return the diversity of n-grams: in all texts, and in expectation over samples of texts with `budget` n-grams.

    The CI uses Student's t over clusters and a jackknife that leaves out one cluster at a time. It is too wide if there
    are only slightly more n-grams than `budget`.

    Parameters
    ----------
    codes : numpy.ndarray of int, shape (n-grams,)
        Equal for equal n-grams.
    texts : numpy.ndarray of int, shape (n-grams,)
        Code of the text of each n-gram.
    clusters : numpy.ndarray of int, shape (n-grams,)
        Code of the cluster of this text.
    budget : int
        Number of n-grams. With fewer n-grams, `estimate` and its interval are NaN. Texts are sampled without
        replacement until they contain this number on average; values between whole numbers of texts are interpolated.

    References
    ----------
    - Li et al. 2016, section 5 (distinct-n); Hurlbert 1971 and Colwell et al. 2012 (rarefaction by samples); Arvesen
      1969 (jackknife of such statistics).

    Examples
    --------
    >>> result = distinct_grams(np.array([0, 0, 1, 2]), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), 2)
    >>> result.plain, round(result.estimate, 4)
    (0.75, 0.75)
    """
    total, nan = len(codes), float("nan")
    if not total:
        return Distinct(nan, nan, nan, nan, 0)
    gram = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    kinds = int(gram.max()) + 1
    text = np.unique(texts, return_inverse=True)[1].astype(np.int64)
    number = int(text.max()) + 1
    if total < budget:
        return Distinct(kinds / total, nan, nan, nan, total)
    cluster_of = np.zeros(number, dtype=np.int64)
    cluster_of[text] = np.unique(clusters, return_inverse=True)[1]
    cells = np.unique(text * kinds + gram)  # each n-gram once per text
    holders = np.bincount(cells % kinds, minlength=kinds)  # number of texts that contain each n-gram
    drawn = budget * number / total
    estimate = float(_chance_seen(holders, number, drawn).sum()) / budget
    lengths = np.bincount(cluster_of[text]).astype(np.float64)
    sizes = np.bincount(cluster_of)
    if len(sizes) < 2:
        return Distinct(kinds / total, estimate, nan, nan, total)
    others = _leaving_one_out(cells, holders, cluster_of, sizes, lengths, budget)
    limits = jackknife([estimate], others[:, None], level=level)
    low, high = float(limits.low[0]), float(limits.high[0])
    return Distinct(kinds / total, estimate, max(low, 0.0), min(high, 1.0), total)


def _leaving_one_out(
    cells: Codes, holders: Codes, cluster_of: Codes, sizes: Codes, lengths: Floats, budget: int
) -> Floats:
    """Return the estimate without each cluster, shape (clusters,)."""
    kinds, number = len(holders), len(cluster_of)
    pairs, held = np.unique(cluster_of[cells // kinds] * kinds + cells % kinds, return_counts=True)
    owner, gram = pairs // kinds, pairs % kinds
    estimates = np.empty(len(sizes))
    common, copies = np.unique(holders, return_counts=True)
    total = float(lengths.sum())
    for size in np.unique(sizes):  # clusters with equal numbers of texts are computed together
        of_size = sizes == size
        left = number - int(size)
        if left < 1:
            estimates[of_size] = np.nan
            continue
        # leaving out a cluster changes the mean length, and so the number of texts for the budget
        drawn = np.minimum(budget * left / np.maximum(total - lengths[of_size], 1.0), left)
        middle = float(drawn.mean())
        whole = float(copies @ _chance_seen(common, left, middle))
        slope = float(
            copies
            @ (_chance_seen(common, left, int(middle) + 1.0) - _chance_seen(common, left, float(int(middle))))
        )
        mine = of_size[owner]
        rarer = _chance_seen(holders[gram[mine]] - held[mine], left, middle)
        change = np.bincount(
            owner[mine], weights=rarer - _chance_seen(holders[gram[mine]], left, middle), minlength=len(sizes)
        )
        estimates[of_size] = (whole + change[of_size] + slope * (drawn - middle)) / budget
    return estimates


def _chance_seen(holders: Codes, number: int, drawn: float) -> Floats:
    """Return the probability that `drawn` of `number` texts contain an n-gram that `holders` of them contain.

    It is interpolated linearly between whole numbers of texts.
    """
    below = min(int(drawn), number)
    above = min(below + 1, number)
    lower, upper = (_seen_in_whole(holders, number, whole) for whole in (below, above))
    return lower + (min(drawn, float(number)) - below) * (upper - lower)


def _seen_in_whole(holders: Codes, number: int, drawn: int) -> Floats:
    """Return 1 - C(number - holders, drawn) / C(number, drawn)."""
    rest = np.maximum(number - holders, 0)
    possible = rest >= drawn
    inside = np.where(possible, rest, drawn)
    log = gammaln(inside + 1) - gammaln(inside - drawn + 1)
    log = log - gammaln(number + 1) + gammaln(number - drawn + 1)
    return np.asarray(1 - np.where(possible, np.exp(log), 0.0))
