"""Compute the minimum detectable mean of the sign-flip test, by simulating clusters of the given sizes."""

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from evenhand.schema import UsageError
from evenhand.stats.arrays import Floats
from evenhand.stats.clusters.flips import DRAWS, sign_patterns, smallest_flip_p
from evenhand.stats.power import POWER

LARGEST_CORRELATION = 0.9
_SETS = 400
_DRAWS = 1_999
_PRECISION = 0.002
_NEAR = 0.011
_SIMULATED_UP_TO = 1_000
"""Largest number of clusters for which data are simulated. With more, the normal approximation is accurate enough."""


def correlation_within(plus: npt.ArrayLike, minus: npt.ArrayLike) -> float:
    """Return the intraclass correlation (0 to 0.9) of outcomes with two directions.

    Parameters
    ----------
    plus, minus : array_like, shape (k,)
        Number of outcomes of each cluster in the one and in the other direction.

    Returns
    -------
    float
        (a - (p² + (1-p)²)) / (2 p (1-p)), with a the share of pairs within clusters that agree, and p the share of the
        first direction. 0 if no cluster has two outcomes. NaN if all outcomes have the same direction.

    References
    ----------
    - Ridout, Demétrio & Firth 1999: moment estimator for binary outcomes.

    >>> correlation_within([4, 0, 2], [0, 4, 2]) > correlation_within([2, 2, 2], [2, 2, 2])
    True
    """
    one, other = np.asarray(plus, dtype=np.float64), np.asarray(minus, dtype=np.float64)
    together = one + other
    pairs = float((together * (together - 1)).sum())
    if pairs <= 0:
        return 0.0
    share = float(one.sum() / together.sum())
    chance = 2 * share * (1 - share)
    if chance <= 0:
        return float("nan")
    agreeing = float((one * (one - 1) + other * (other - 1)).sum()) / pairs
    return float(np.clip((agreeing - (1 - chance)) / chance, 0.0, LARGEST_CORRELATION))


def smallest_shift(
    sizes: npt.ArrayLike,
    *,
    level: float,
    correlation: float = 0.0,
    decided: float = 1.0,
    power: float = POWER,
    seed: int = 0,
) -> float:
    """Return the mean outcome that `cluster_flip` distinguishes from 0 with the given power.

    Parameters
    ----------
    sizes : array_like, shape (k,)
        Number of outcomes in each cluster. An outcome is +1, -1 or 0 (undecided).
    level : float
        Two-sided significance level.
    correlation : float
        Correlation of directions within a cluster, 0 to 0.9.
    decided : float
        Share of outcomes that are not 0. A mean of m needs at least the share m, so larger shifts increase it.
    power : float
        Power of the test, above level / 2.
    seed : int
        Random seed.

    Returns
    -------
    float
        Mean outcome, 0 to 1. NaN if even outcomes that all have the same direction are not significant.

    Raises
    ------
    UsageError
        `level`, `correlation`, `decided` or `power` is not between 0 and 1, or the power is not above level / 2.

    Notes
    -----
    400 data sets of beta-binomial clusters (Williams 1975) are simulated for each of several shifts. Each is tested as
    in `cluster_flip`, with 1,999 sign patterns. With more than 1,000 clusters, the normal approximation is used.

    >>> round(smallest_shift([1] * 60, level=0.05), 1)
    0.4
    """
    counts = np.asarray(sizes, dtype=np.int64)
    counts = np.sort(counts[counts > 0])
    if not (0 < level < 1 and level / 2 < power < 1 and 0 <= correlation < 1 and 0 <= decided <= 1):
        raise UsageError(
            "smallest_shift: level, correlation, decided and power must be between 0 and 1, and power above "
            f"level / 2, got level={level}, correlation={correlation}, decided={decided}, power={power}."
        )
    if smallest_flip_p(len(counts)) > level:
        return float("nan")
    if len(counts) > _SIMULATED_UP_TO:
        shift = _by_formula(counts.astype(np.float64), level, correlation, decided, power)
        return shift if shift <= 1 else float("nan")
    draws = min(DRAWS, max(_DRAWS, int(10 / level)))
    signs = sign_patterns(len(counts), draws, seed).T.astype(np.float32)

    def simulated_power(shift: float) -> float:
        return _power(counts, signs, shift, level, correlation, decided, seed)

    # The normal quantile of the power is nearly linear in the shift, so a few steps along this line usually reach the
    # requested power. If they do not, bisect.
    reach = float(-ndtri(level / 2))
    shift = _by_formula(counts.astype(np.float64), level, correlation, decided, power)
    for _ in range(4):
        if shift >= 1:
            break
        here = simulated_power(shift)
        if abs(here - power) < _NEAR:
            return shift
        surely = float(ndtri(min(max(here, 0.02), 0.98)))
        shift *= (reach + float(ndtri(power))) / (reach + surely)
    if simulated_power(1.0) < power:
        return float("nan")
    low, high = 0.0, 1.0
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if simulated_power(middle) >= power else (middle, high)
    return (low + high) / 2


def _power(
    counts: npt.NDArray[np.int64],
    signs: npt.NDArray[np.float32],
    shift: float,
    level: float,
    correlation: float,
    decided: float,
    seed: int,
) -> float:
    generator = np.random.default_rng(seed)
    some = max(decided, shift)
    share = 0.5 + 0.5 * shift / some if some > 0 else 0.5
    shape = (_SETS, len(counts))
    chance: Floats | float = share
    if correlation > 0 and 0 < share < 1:
        weight = (1 - correlation) / correlation
        chance = generator.beta(share * weight, (1 - share) * weight, size=shape)
    known = generator.binomial(counts, some, size=shape) if some < 1 else np.broadcast_to(counts, shape)
    scores = (2 * generator.binomial(known, chance) - known).astype(np.float32)
    # sums are integers; the tolerance allows for rounding
    observed = np.abs(scores.sum(axis=1))[:, None] - 1e-3
    as_far = np.count_nonzero(np.abs(scores @ signs) >= observed, axis=1)
    drawn = 2 ** (len(counts) - 1) > signs.shape[1]
    return float(np.mean((as_far + drawn) / (signs.shape[1] + drawn) <= level))


def _by_formula(counts: Floats, level: float, correlation: float, decided: float, power: float) -> float:
    reach = float(ndtri(power) - ndtri(level / 2))
    some = decided
    for _ in range(20):
        spread = counts * some + counts * (counts - 1) * some**2 * correlation
        shift = reach * float(np.sqrt(spread.sum())) / float(counts.sum())
        some = max(decided, min(1.0, shift))
    return shift
