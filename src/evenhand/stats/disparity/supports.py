"""Intervals of rates for groups with unequal numbers of prompts, whose prompts may have unequal variances.

Responses to a prompt are correlated. The correlation (intraclass correlation, ICC) is estimated from all groups
together, and from a group's own prompts as far as they contain information. If a small group's prompts contain little,
a guard allows for the worst case in that group only.

The support of a rate is its likelihood relative to that of the observed mean, with the ICC integrated out. The interval
at a normal quantile z has the rates with a log support of at least -z²/2.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri, rel_entr

from evenhand.stats.arrays import Floats
from evenhand.stats.disparity.units import Units

Z = 1.959963984540054
GRID = np.unique(np.concatenate([np.linspace(0, 5, 201), np.geomspace(5, 45, 100), [Z]]))
"""Normal quantiles at which the bounds are stored."""
CORRELATIONS = np.array([0.001, 0.02, 0.05, 0.1, 0.17, 0.25, 0.35, 0.45, 0.6, 0.75, 0.9, 0.99])
"""Grid of possible ICCs of a group."""
GROUPS_DECIDE = 0.4
"""Caution from which an axis is significant only if one of its groups is. Chosen by simulation."""
_LARGEST_PENALTY = (
    4.0  # the guard's log support of the worst ICC is reduced by up to this, if its own ICC is known
)
_HALF_PENALTY = (
    1.0  # information about a group's own ICC, in prompts, at which the reduction is half as large
)
_PSEUDO_GROUPS = 1.0  # weight, in groups, of a uniform prior for the common ICC
_INFORMATION = 4.0  # scales p (1 - p) so that a prompt counts as 1 at a rate of 50%
_STEPS = 15
_SILENT = 0.25  # information about its own ICC, in prompts, at which the caution for a group is half of the next number
_SILENT_WEIGHT = 0.9  # caution for a group without any: the smallest that keeps the level in simulations
_POWER_Z = 0.8416212335729143
_KINDS = 16  # numbers of prompts for which the minimum detectable effect is computed; others are interpolated
_MANY = 64
_POINTS = np.concatenate([[0.0], np.geomspace(0.01, 60, 160)])


@dataclass(frozen=True)
class Supports:
    """Empirical-Bayes intervals of groups' rates, for prompts with several responses.

    The intraclass correlation (ICC) of responses to a prompt is unknown. Each quantity is computed on a grid of ICCs.

    Attributes
    ----------
    means, prompts : numpy.ndarray, shape (groups,)
        Mean over the prompts of each group, and number of prompts.
    dispersion : numpy.ndarray, shape (groups, ICCs)
        Variance of a prompt's mean divided by that of one Bernoulli trial.
    evidence : numpy.ndarray, shape (groups, ICCs)
        Likelihood of the variance within each group, relative to its maximum.
    weights : numpy.ndarray, shape (ICCs,)
        Distribution of the ICC that all groups share.
    information : numpy.ndarray, shape (groups,)
        Information about the group's own ICC, in prompts. 0 if all its prompts have equal means.
    learnt, guarded : numpy.ndarray, shape (groups, 2, quantiles)
        Lower and upper bounds of rates at the quantiles of `GRID`. ``guarded`` ones assume less about the ICC.

    References
    ----------
    - Efron 2010, section 1: empirical Bayes. Wilson 1927: the score interval. Simulated for this use.
    """

    means: Floats
    prompts: Floats
    dispersion: Floats
    evidence: Floats
    weights: Floats
    information: Floats
    learnt: Floats
    guarded: Floats

    @staticmethod
    def estimate(units: Units) -> "Supports":
        """Estimate the correlation of responses and the intervals of rates, from groups with at least one prompt each.

        >>> values = np.repeat([0.0, 0.2, 0.4, 1.0], [4, 4, 2, 2])
        >>> units = Units.from_arrays(values, np.arange(12) % 2, samples=np.full(12, 5.0))
        >>> Supports.estimate(units).guarded[:, :, 80].round(2).tolist()
        [[0.08, 0.61], [0.08, 0.61]]
        """
        prompts = units.sizes.astype(np.float64)
        means = units.group_means(units.values)
        squares = np.bincount(units.groups, np.square(units.values - means[units.groups]), units.n_groups)
        variance = squares / np.maximum(prompts - 1, 1)
        inverse = units.group_means(1 / units.samples)
        return Supports.from_moments(means, variance, prompts, inverse)

    @staticmethod
    def from_moments(
        means: Floats,
        variance: Floats,
        prompts: Floats,
        inverse: Floats,
        *,
        counts: Floats | None = None,
        sets: int = 1,
    ) -> "Supports":
        """Return the supports from moments of the prompts' means, each of shape (groups,).

        `variance` is that of the prompts' means (divisor: prompts - 1). `inverse` is the mean over prompts of 1 /
        samples. `counts` is the number of groups with the moments of a row; default 1. Rows may be those of several
        data sets of equally many groups, one data set after the other; `weights` then has one row per group.
        """
        counts = np.ones(len(means)) if counts is None else counts
        dispersion = CORRELATIONS + (1 - CORRELATIONS) * inverse[:, None]
        trial = means * (1 - means) + variance / prompts
        seen = trial > 1e-12
        own = np.clip(np.divide(variance, trial, out=np.zeros_like(trial), where=seen), dispersion[:, 0], 1)
        information = (prompts - 1) * np.minimum(1, _INFORMATION * trial) * seen
        logarithm = -0.5 * information[:, None] * (np.log(dispersion) + own[:, None] / dispersion)
        evidence = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
        uniform = 1 / len(CORRELATIONS)
        weights = np.full((sets, 1, len(CORRELATIONS)), uniform)
        by_set, groups = evidence.reshape(sets, -1, len(CORRELATIONS)), counts.reshape(sets, 1, -1)
        for _ in range(_STEPS):
            posterior = by_set * weights
            posterior /= posterior.sum(axis=2, keepdims=True)
            weights = (groups @ posterior + _PSEUDO_GROUPS * uniform) / (
                groups.sum(axis=2, keepdims=True) + _PSEUDO_GROUPS
            )
        weights = weights[0, 0] if sets == 1 else np.repeat(weights[:, 0], groups.shape[2], axis=0)
        nothing = np.empty((0, 2, len(GRID)))
        found = Supports(means, prompts, dispersion, evidence, weights, information, nothing, nothing)
        learnt, guarded = found._limits()
        return Supports(means, prompts, dispersion, evidence, weights, information, learnt, guarded)

    def log_supports(self, rates: Floats) -> tuple[Floats, Floats]:
        """Return the log supports of rates, each of the shape of `rates` (groups, n); 0 at each group's mean.

        The first one ("learnt") averages over ICCs, with weights from all groups and the group's own variance. The
        second one ("guarded") is at least as large: it also allows for the ICC that suits the rate best, at a penalty.
        """
        means = self.means[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.square(rates - means) / (rates * (1 - rates))
        deviance = np.maximum(2 * (rel_entr(means, rates) + rel_entr(1 - means, 1 - rates)), 0)
        distance = self.prompts[:, None] * np.minimum(score, deviance)
        distance = np.where(rates == means, 0.0, distance)
        mixture = self.evidence * self.weights / np.sqrt(self.dispersion)
        mixture /= mixture.sum(axis=1, keepdims=True)
        likely, worst = np.zeros(rates.shape), np.zeros(rates.shape)
        for number in range(len(CORRELATIONS)):
            one = np.exp(-0.5 * distance / self.dispersion[:, [number]])
            likely += one * mixture[:, [number]]
            worst = np.maximum(worst, one * self.evidence[:, [number]])
        penalty = _LARGEST_PENALTY * self.information / (self.information + _HALF_PENALTY)
        learnt = np.log(np.maximum(likely, 1e-280))
        guard = np.log(np.maximum(worst, 1e-280)) - penalty[:, None]
        return np.minimum(learnt, 0), np.minimum(np.maximum(learnt, guard), 0)

    @property
    def correlation(self) -> float:
        """Return the median of the distribution of the ICC that all groups share, for one data set."""
        return float(np.interp(0.5, np.cumsum(self.weights) - self.weights / 2, CORRELATIONS))

    @property
    def caution(self) -> Floats:
        """Return the weight of these intervals, compared with those of a permutation of prompts, 0 to 1 (groups,).

        A permutation assumes equal variances of prompts in all groups. It has less weight in three cases: a group has
        fewer prompts than another, its prompts vary more than those of all groups, or they contain little information
        about their variance. All weights are continuous, so that a single prompt does not change a verdict by much.
        """
        smaller = np.clip(self.prompts.max() / self.prompts - 1, 0, 1)
        posterior = self.evidence * self.weights
        posterior /= posterior.sum(axis=1, keepdims=True)
        shared = (self.dispersion * self.weights).sum(axis=1)
        wider = np.clip(np.log2((posterior * self.dispersion).sum(axis=1) / shared), 0, 1)
        silent = _SILENT_WEIGHT * _SILENT / (_SILENT + self.information)
        return np.asarray(1 - (1 - smaller) * (1 - wider) * (1 - silent))

    def bounds_at(self, z: float | Floats) -> tuple[Floats, Floats]:
        """Return the guarded bounds at normal quantiles, each (groups,), or (many, groups) for many quantiles."""
        at = np.asarray(z, dtype=np.float64)
        low, high = (
            np.stack([np.interp(at, GRID, row) for row in self.guarded[:, side]], axis=-1) for side in (0, 1)
        )
        return low, high

    def widths(self, contrasts: Floats) -> tuple[Floats, Floats]:
        """Return the distances of the lower and upper bounds of contrasts from the estimates (quantiles, contrasts).

        Each contrast (contrasts, groups) is one group minus a mean of others. Guarded bounds are used for the tested
        group and for the one other group whose guard matters most, learnt ones for the rest.
        """
        squares = [np.square(part - self.means[:, None, None]) for part in (self.learnt, self.guarded)]
        learnt, excess = squares[0], np.maximum(squares[1] - squares[0], 0)
        weights = np.square(np.minimum(contrasts, 0))
        tested = contrasts.argmax(axis=1)
        used = contrasts.max(axis=1) > 0
        rest = np.einsum("cg,gsz->csz", weights, learnt) + _largest_excess(weights, excess)
        own = np.where(used[:, None, None], squares[1][tested], 0.0)
        below, above = own[:, 0] + rest[:, 1], own[:, 1] + rest[:, 0]
        return np.sqrt(below).T, np.sqrt(above).T

    def _limits(self) -> tuple[Floats, Floats]:
        shape = (len(self.means), 2, len(GRID))
        found = np.empty(shape), np.empty(shape)
        step = _POINTS / (2 * np.sqrt(self.prompts[:, None]))
        for side, sign in enumerate((-1, 1)):
            angle = np.clip(
                np.arcsin(np.sqrt(np.clip(self.means, 0, 1)))[:, None] + sign * step, 0, np.pi / 2
            )
            rates = np.clip(np.sin(angle) ** 2, 1e-12, 1 - 1e-12)
            rates[:, 0] = self.means
            for kept, support in zip(found, self.log_supports(rates), strict=True):
                reach = np.maximum.accumulate(np.sqrt(-2 * support), axis=1)
                for group in range(shape[0]):
                    kept[group, side] = np.interp(GRID, reach[group], rates[group], right=float(side))
        return found

    def p_of_equal_rates(self) -> float:
        """Return the p-value of the likelihood-ratio test that all rates are equal, for one data set."""
        rates = np.sin(np.linspace(0.001, np.pi / 2 - 0.001, 400)) ** 2
        rates = np.unique(np.concatenate([rates, np.clip(self.means, 1e-9, 1 - 1e-9)]))
        groups = len(self.means)
        total = self.log_supports(np.broadcast_to(rates, (groups, len(rates))))[1].sum(axis=0)
        return float(chdtrc(groups - 1, -2 * total.max()))


def _largest_excess(weights: Floats, excess: Floats) -> Floats:
    """Return the largest weighted excess over the other groups of each contrast (contrasts, 2, quantiles).

    `weights` (contrasts, groups) are the squared weights of the other groups. `excess` (groups, 2, quantiles) is how
    much larger the squared width of the guarded bound is than that of the learnt one.

    If each group is compared with all others, the others are the same for all contrasts, except for the tested group.
    The largest and second-largest excess are then sufficient.
    """
    if len(weights) <= _MANY:
        return np.stack([(row[:, None, None] * excess).max(axis=0) for row in weights])
    members = weights.max(axis=0) > 0
    order = np.argsort(np.where(members[:, None, None], excess, -1.0), axis=0)
    first, second = (np.take_along_axis(excess, order[[place]], axis=0)[0] for place in (-1, -2))
    result = np.empty((len(weights), *first.shape))
    for number, row in enumerate(weights):
        own = (order[-1] == number) & (row[number] == 0)
        result[number] = row.max() * np.where(own, second, first)
    return result


def detectable_excess(
    prompts: Floats, base: float, correlation: float, inverse: float, level: float
) -> Floats:
    """Return the excess over the others' rate that is detected with 80% power (groups,); NaN if none is.

    Parameters
    ----------
    prompts : numpy.ndarray, shape (groups,)
        Number of prompts of each group. Groups with equal numbers have the same result. With more than `_KINDS`
        different numbers, results are interpolated.
    base : float
        Rate of the other groups.
    correlation : float
        Correlation of the responses to a prompt (ICC).
    inverse : float
        1 / number of responses per prompt.
    level : float
        Two-sided level of one group.
    """
    numbers, counts = np.unique(prompts, return_counts=True)
    places = np.unique(np.linspace(0, len(numbers) - 1, min(len(numbers), _KINDS)).round().astype(int))
    shares = counts.astype(np.float64)
    found = [
        _solve_excess(number, numbers, shares, base, correlation, inverse, level)
        for number in numbers[places]
    ]
    known = np.array(found)
    if np.isnan(known).any():
        known = np.where(np.isnan(known), np.inf, known)
    each = np.interp(np.log(prompts), np.log(numbers[places]), known)
    return np.asarray(np.where(np.isfinite(each), each, np.nan))


def _solve_excess(
    number: float,
    numbers: Floats,
    counts: Floats,
    base: float,
    correlation: float,
    inverse: float,
    level: float,
) -> float:
    rest = counts - (numbers == number)
    groups = float(counts.sum())
    dispersion = correlation + (1 - correlation) * inverse
    z = float(-ndtri(level / 2))

    def shortfall(excess: float) -> float:
        means = np.append(np.full(len(numbers), base), base + excess)
        variance = dispersion * means * (1 - means)
        sizes = np.append(numbers, number)
        kinds = Supports.from_moments(
            means, variance, sizes, np.full(len(sizes), inverse), counts=np.append(rest, 1.0)
        )
        learnt, guarded = (
            np.square([np.interp(z, GRID, row[1]) - base for row in part[:-1]])
            for part in (kinds.learnt, kinds.guarded)
        )
        own = means[-1] - np.interp(z, GRID, kinds.guarded[-1, 0])
        one = np.where(rest > 0, np.maximum(guarded - learnt, 0), 0).max()
        width = np.sqrt(own**2 + (rest @ learnt + one) / (groups - 1) ** 2)
        noise = variance / sizes
        deviation = np.sqrt(noise[-1] + rest @ noise[:-1] / (groups - 1) ** 2)
        return float(excess - width - _POWER_Z * deviation)

    low, high = 0.0, 1 - base - 1e-6
    if shortfall(high) < 0:
        return float("nan")
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (middle, high) if shortfall(middle) < 0 else (low, middle)
    return high


def combine_by_cauchy(p: list[Floats]) -> Floats:
    """Return the Cauchy combination of several p-values (Liu & Xie 2020), which is valid under dependence.

    >>> round(float(combine_by_cauchy([np.array(0.01), np.array(0.5)])), 4)
    0.02
    """
    tangent = np.tan((0.5 - np.clip(p, 1e-15, 1 - 1e-9)) * np.pi).mean(axis=0)
    return np.asarray(0.5 - np.arctan(tangent) / np.pi)


def cautious_axis_p(
    caution: Floats, dealt: Floats, by_groups: Floats, single: Floats, equal: Floats
) -> Floats:
    """Return the p of "no group differs", which also holds if the prompts of groups have unequal variances.

    It combines two p-values with the weight `caution`: that of the permutations (`dealt`), and one that allows for
    unequal variances. The latter combines Simes' p over the groups (`single`) with a likelihood ratio (`equal`). The
    likelihood ratio counts only to the extent that the permutations confirm it. All arrays have one value per data set.

    Parameters
    ----------
    caution : numpy.ndarray
        Result of `axis_caution`, 0 to 1.
    dealt : numpy.ndarray
        Permutation p of the axis.
    single : numpy.ndarray
        Simes' p of the groups' differences with the intervals of `Supports`.
    equal : numpy.ndarray
        p of the likelihood-ratio test that all rates are equal.
    by_groups : numpy.ndarray
        Simes' p of the groups' differences. It is a lower bound of the result if the caution is `GROUPS_DECIDE` or
        more. The bound is relaxed continuously for smaller cautions.
    """
    # Without max(), a few prompts that are always harmful would give small p of the chi-square distribution by chance.
    own = combine_by_cauchy([single, np.maximum(equal, dealt)])
    z = [-ndtri(np.clip(p, 1e-300, 1.0) / 2) for p in (dealt, own, by_groups)]
    bound = z[2] / np.maximum(np.minimum(caution / GROUPS_DECIDE, 1.0), 1e-9)
    return np.asarray(2 * ndtr(-np.minimum((1 - caution) * z[0] + caution * z[1], bound)))


def axis_caution(means: Floats, prompts: Floats, caution: Floats) -> Floats:
    """Return the caution of an axis: that of its groups, weighted by their part of the sum of squares between groups.

    `means` and `caution` have the shape (..., groups), `prompts` (groups,).
    """
    centre = (means * prompts).sum(axis=-1, keepdims=True) / prompts.sum()
    share = prompts * np.square(means - centre)
    return np.asarray((share * caution).sum(axis=-1) / np.maximum(share.sum(axis=-1), 1e-300))
