"""Closed-form tails of a standardised contrast and of the sum of squares between groups under permutation.

The tail of a contrast is that of Student's t, with the skewness of rare events. That of the sum of squares uses its
first three moments under permutation, which are exact.
"""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammainc, gammaincc, gammainccinv, ndtr, ndtri, stdtr

from evenhand.stats.arrays import Floats
from evenhand.stats.disparity.units import Units

_GRID = np.concatenate([np.linspace(0, 8, 161), np.geomspace(8.1, 40, 60)])
_LEAST, _FEW = 1e-300, 5
_ROUNDING = 1e-11
"""Share of the total sum of squares within groups below which it counts as 0."""
_Powers = dict[tuple[int, ...], Floats]


@dataclass(frozen=True)
class ClosedForm:
    """Contrasts of group means with their moments if no group differs; arrays of shape (contrasts,).

    ``difference`` is the observed contrast, and ``z`` the contrast divided by its standard error. For outcomes of 0 or
    1, z is moved half a step towards 0 (continuity correction). ``skewness`` is that of the difference. ``within`` is
    the variance of units within groups. If it is 0, z is infinite; p then comes from permutations and intervals.
    """

    difference: Floats
    z: Floats
    skewness: Floats
    within: float


def closed_form(units: Units, contrasts: Floats) -> ClosedForm:
    """Return the moments of contrasts (contrasts, groups) if units are exchangeable; every group needs a unit."""
    sizes = units.sizes.astype(np.float64)
    means = units.group_means(units.stratum_deviations)
    left = units.residuals()
    freedom = max(units.freedom, 1)
    within = float(np.square(left).sum()) / freedom
    if within * freedom <= _ROUNDING * float(
        np.square(units.stratum_deviations - units.stratum_deviations.mean()).sum()
    ):
        within = 0.0
    cubes = float((left**3).sum()) / freedom
    squares = contrasts * contrasts
    error = squares @ (1 / sizes)
    difference = contrasts @ means
    skewness = np.zeros(len(contrasts))
    z = np.where(np.abs(difference) < 1e-12, 0.0, np.copysign(np.inf, difference))
    if within > 0:
        step = np.zeros(len(contrasts))
        if units.shares:
            per = np.bincount(units.groups, weights=units.samples, minlength=units.n_groups)
            largest = np.abs(contrasts) >= np.abs(contrasts).max(axis=1, keepdims=True) - 1e-12
            step = np.where(largest, np.abs(contrasts) / (2 * per), 0.0).max(axis=1)
        z = np.sign(difference) * np.maximum(np.abs(difference) - step, 0) / np.sqrt(within * error)
        skewness = cubes * ((squares * contrasts) @ (1 / np.square(sizes))) / (within * error) ** 1.5
    return ClosedForm(difference, z, skewness, within)


def two_tails(z: Floats, skewness: Floats, freedom: int) -> Floats:
    """Return the probability of |statistic| >= |z| for a standardised sum with this skewness and degrees of freedom."""
    # Convert t to a normal quantile (by the lower tail, which keeps its precision for small probabilities). Then use
    # Pearson's type III (a shifted gamma distribution with shape 4 / skewness²), which has this skewness.
    size = -ndtri(np.maximum(stdtr(float(freedom), -np.abs(z)), _LEAST))
    shape = 4 / np.maximum(np.square(skewness), 1e-10)
    root = np.sqrt(shape)
    long = gammaincc(shape, np.maximum(shape + size * root, 0))
    short = 1 - gammaincc(shape, np.maximum(shape - size * root, 0))
    nearly = np.abs(skewness) < 1e-3
    return np.asarray(np.clip(np.where(nearly, 2 * ndtr(-size), long + short), _LEAST, 1.0))


def least_p(units: Units, contrasts: Floats) -> Floats:
    """Return the smallest p that contrasts can have in closed form (contrasts,).

    It is 1 / the number of ways to choose the units of the groups with the largest weight. It is 1 if one of these
    groups has fewer than five units, which is too few for a closed form.
    """
    weight = np.abs(contrasts)
    weighty = weight >= weight.max(axis=1, keepdims=True) - 1e-12
    chance = np.where(units.sizes < _FEW, 1.0, np.exp(-units.log_choices()))
    return np.asarray(np.maximum(np.where(weighty, chance, 0.0).max(axis=1), _LEAST))


def critical_value(level: float, skewness: Floats, freedom: int) -> Floats:
    """Return the |z| that is exceeded with probability `level`, for each skewness, by interpolation.

    >>> critical_value(0.05, np.zeros(1), 10**6).round(3).tolist()
    [1.96]
    """
    kinds, back = np.unique(np.round(np.abs(skewness), 3), return_inverse=True)
    tails = two_tails(_GRID[:, None], np.asarray(kinds, dtype=np.float64)[None, :], freedom)
    found = [np.interp(-np.log(level), -np.log(np.maximum(tail, 1e-290)), _GRID) for tail in tails.T]
    return np.asarray(found)[back]


@dataclass(frozen=True)
class SquaresTail:
    """Distribution of the sum of squares between groups under permutation, in units of the variance of all units.

    ``mean`` is groups - 1. ``deviation`` is the standard deviation. ``freedom`` has the degrees of freedom between and
    within groups.
    """

    mean: float
    deviation: float
    skewness: float
    freedom: tuple[int, int]

    @staticmethod
    def from_units(units: Units) -> "SquaresTail":
        """Return the distribution with three exact moments.

        With strata, the moments are those of permutations without strata. Each stratum costs one degree of freedom.

        >>> tail = SquaresTail.from_units(Units.from_arrays(np.arange(8.0), np.repeat([0, 1], 4)))
        >>> round(tail.mean, 9), round(tail.deviation, 3)
        (1.0, 1.238)
        """
        mean, deviation, skewness = moments_of_squares(
            units.stratum_deviations, units.sizes.astype(np.float64)
        )
        between = units.n_groups - 1
        share = between / mean if mean > 0 else 1.0
        return SquaresTail(float(between), deviation * share, skewness, (between, max(units.freedom, 1)))

    def p(self, spread: float, *, stretch: float = 1.0) -> float:
        """Return the probability of a spread (sum of squares between / variance within) at least this large.

        The distribution is Pearson's type III. `stretch` scales the distance from the mean. It is below 1 if
        permutations show that the tail is longer.
        """
        if self.deviation <= 0 or spread <= 0:
            return 1.0
        distance = stretch * self.distance(spread)
        if abs(self.skewness) < 1e-3:
            return max(float(ndtr(-distance)), _LEAST)
        shape = 4 / self.skewness**2
        place = shape + float(np.sign(self.skewness)) * distance * np.sqrt(shape)
        tail = gammaincc if self.skewness > 0 else gammainc
        return min(max(float(tail(shape, max(place, 0.0))), _LEAST), 1.0)

    @property
    def uneven(self) -> bool:
        """Return True if the skewness is more than 1.5 times that for normal means, √(8 / (groups - 1))."""
        return bool(self.skewness > 1.5 * np.sqrt(8 / max(self.mean, 1.0)))

    def distance(self, spread: float) -> float:
        """Return the distance of a spread (as in `p`) from its mean under permutation, in standard deviations.

        The spread is first converted to a share of the total sum of squares, whose moments are exact.
        """
        between, within = self.freedom
        share = 1.0 if np.isinf(spread) else spread / (spread + within)
        return ((between + within) * share - self.mean) / self.deviation

    def quantile(self, level: float) -> float:
        """Return the distance from the mean, in standard deviations, that is exceeded with probability `level`.

        A negative skewness counts as 0.
        """
        if self.skewness < 1e-3:
            return float(-ndtri(level))
        shape = 4 / self.skewness**2
        return float((gammainccinv(shape, level) - shape) / np.sqrt(shape))


def moments_of_squares(values: Floats, sizes: Floats) -> tuple[float, float, float]:
    """Return mean, standard deviation and skewness of the sum of squares between groups across all permutations.

    They are in units of the variance of all values (divisor: units - 1). All are 0 if all values are equal. Powers of a
    group's sum are sums over distinct units, whose permutation means follow from the power sums of all values.

    Parameters
    ----------
    values : numpy.ndarray, shape (units,)
        Values of all units.
    sizes : numpy.ndarray, shape (groups,)
        Number of units of each group.

    References
    ----------
    - Pitman 1938: moments of symmetric functions under permutation; derived here up to the sixth order.

    Examples
    --------
    >>> [round(value, 3) for value in moments_of_squares(np.arange(8.0), np.array([4.0, 4.0]))]
    [1.0, 1.238, 1.793]
    """
    total = len(values)
    centred = values - values.mean()
    variance = float(np.mean(np.square(centred)))
    if variance <= 0 or total < 2:
        return 0.0, 0.0, 0.0
    scaled = centred / np.sqrt(variance)
    sums, power = {}, np.ones(total)
    for order in range(1, 7):
        power = power * scaled
        sums[order] = float(power.sum())
    sums[1] = 0.0
    kinds, counts = np.unique(sizes, return_counts=True)

    def over_deals(powers: _Powers) -> float:
        chances = {parts: float(np.prod(total - np.arange(len(parts)), dtype=np.float64)) for parts in powers}
        known = [parts for parts in powers if chances[parts] > 0]
        return sum(float(powers[parts]) * _distinct(sums, parts) / chances[parts] for parts in known)

    first, second, third = (_expand_power(kinds, order) for order in (1, 2, 3))
    twice = _times(first, first)
    one, two, three, pairs, mixed, cubes = (
        {parts: np.asarray(np.sum(value * counts)) for parts, value in powers.items()}
        for powers in (first, second, third, twice, _times(first, second), _times(twice, first))
    )
    mean = over_deals(one)
    square = over_deals(_sum((1, two), (1, _times(one, one)), (-1, pairs)))
    cube = over_deals(
        _sum(
            (1, three),
            (3, _times(two, one)),
            (-3, mixed),
            (1, _times(_times(one, one), one)),
            (-3, _times(one, pairs)),
            (2, cubes),
        )
    )
    spread = max(square - mean**2, 0.0)
    if spread <= 1e-9 * mean**2:  # the sum of squares is constant: permutations only exchange whole groups
        return mean * (total - 1) / total, 0.0, 0.0
    skewness = (cube - 3 * mean * square + 2 * mean**3) / spread**1.5
    scale = (total - 1) / total
    return mean * scale, float(np.sqrt(spread)) * scale, skewness


def _expand_power(sizes: Floats, order: int) -> _Powers:
    """Return the expansion of (sum of a group)^(2 order) / size^order into products over different units.

    A key such as (2, 1, 1) stands for the products x_i² x_j x_k of three different units. Its value (sizes,) is the
    coefficient of their mean across all permutations, for each group size.
    """
    parts = _coincidences(2 * order)
    chosen = {n: np.prod([sizes - place for place in range(n)], axis=0) for n in range(1, 2 * order + 1)}
    return {part: count * chosen[len(part)] / sizes**order for part, count in parts.items()}


@lru_cache(maxsize=8)
def _coincidences(order: int) -> dict[tuple[int, ...], int]:
    """Return the number of ways to divide `order` factors into sets, by the sizes of the sets."""
    found: Counter[tuple[int, ...]] = Counter({(): 1})
    for _ in range(order):
        grown: Counter[tuple[int, ...]] = Counter()
        for part, count in found.items():
            grown[(*part, 1)] += count
            for place, size in enumerate(part):
                larger = (*part[:place], size + 1, *part[place + 1 :])
                grown[tuple(sorted(larger, reverse=True))] += count
        found = grown
    return dict(found)


def _times(left: _Powers, right: _Powers) -> _Powers:
    """Return the product of two expansions (see `_expand_power`) of different groups, which share no unit."""
    result: _Powers = {}
    for one, value in left.items():
        for other, factor in right.items():
            key = tuple(sorted(one + other, reverse=True))
            result[key] = np.asarray(result.get(key, 0.0) + value * factor)
    return result


def _sum(*terms: tuple[int, _Powers]) -> _Powers:
    """Return the sum of expansions (see `_expand_power`), each multiplied by its factor."""
    result: _Powers = {}
    for factor, powers in terms:
        for key, value in powers.items():
            result[key] = np.asarray(result.get(key, 0.0) + factor * value)
    return result


def _distinct(sums: dict[int, float], parts: tuple[int, ...]) -> float:
    """Return the sum of products of powers over different units, computed from power sums."""
    if not parts:
        return 1.0
    *rest, last = parts
    value = sums[last] * _distinct(sums, tuple(rest))
    for place, size in enumerate(rest):
        value -= _distinct(sums, (*rest[:place], size + last, *rest[place + 1 :]))
    return value
