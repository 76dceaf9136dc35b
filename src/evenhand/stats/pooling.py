"""Partial pooling: estimates of small groups are drawn towards the mean of all, by empirical Bayes."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, gammaln, stdtrit

from evenhand.schema import UsageError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pooled:
    """Shrunken estimates of the groups and what they were drawn towards."""

    estimate: Floats
    low: Floats
    high: Floats
    mean: float
    """Mean of the distribution of true group values."""
    between_variance: float
    """Its variance; 0: no sign that groups differ, all estimates are (nearly) the mean."""


def pool_rates(successes: npt.ArrayLike, totals: npt.ArrayLike, level: float = 0.95) -> Pooled:
    """Rates of many groups, each shrunken by as much as its own sample is too small to say.

    True rates are taken to follow a beta distribution, fitted by maximum marginal likelihood
    (beta-binomial); estimate and limits are the mean and quantiles of each group's posterior.
    Limits ignore the uncertainty of the fitted distribution, and with fewer than about 20 groups are
    somewhat too narrow; but it is never taken to know more than all outcomes together, so
    that where groups show no difference the limits are about those of the common rate.

    Arguments: `successes` and `totals` (groups,), total 0 allowed (such a group gets the common
    distribution); `level`, the coverage. Returns Pooled. Raises UsageError for impossible counts
    or no outcomes at all. Source: Griffiths 1973; Efron & Hastie 2016, ch. 6.

    >>> pooled = pool_rates([0, 5, 40, 2], [5, 10, 100, 4])
    >>> bool(pooled.estimate[0] > 0.0), bool(abs(pooled.estimate[2] - 0.4) < 0.02)
    (True, True)
    """
    hits, tries = np.asarray(successes, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    if hits.ndim != 1 or hits.shape != tries.shape or not (np.all(hits >= 0) and np.all(hits <= tries)):
        raise UsageError(
            "pool_rates needs two arrays (groups,) of the same length with 0 <= successes <= totals."
        )
    if not tries.sum() > 0:
        raise UsageError("pool_rates was given no outcomes: all totals are 0.")
    mean, fitted = _fit_beta(hits, tries)
    strength = min(fitted, float(tries.sum()))
    alpha, beta = mean * strength + hits, (1 - mean) * strength + tries - hits
    tail = (1 - level) / 2
    return Pooled(
        alpha / (alpha + beta),
        np.asarray(betaincinv(alpha, beta, tail)),
        np.asarray(betaincinv(alpha, beta, 1 - tail)),
        mean,
        mean * (1 - mean) / (fitted + 1) if fitted < _NO_SPREAD else 0.0,
    )


def pool_means(estimates: npt.ArrayLike, standard_errors: npt.ArrayLike, level: float = 0.95) -> Pooled:
    """Means of many groups with known standard errors, each shrunken towards the common mean.

    True means are taken to be normal; their variance is Paule and Mandel's, the one that makes the
    weighted squared deviations equal to their expectation. Limits include the uncertainty of the
    common mean and (Morris' term) of the shrinkage.

    Arguments: `estimates` and `standard_errors` (groups,), at least two, errors above 0; NaN groups
    stay NaN; `level`, the coverage. Returns Pooled. Raises UsageError for wrong shapes or errors.
    Source: Paule & Mandel 1982; Morris 1983, eq. 4.1-4.2; DerSimonian & Kacker 2007.

    >>> pooled = pool_means([0.0, 1.0, 5.0, 2.0], [1.0, 1.0, 1.0, 1.0])
    >>> bool(pooled.estimate[2] < 5.0), round(pooled.mean, 6), round(pooled.between_variance, 6)
    (True, 2.0, 3.666667)
    """
    values, errors = np.asarray(estimates, dtype=np.float64), np.asarray(standard_errors, dtype=np.float64)
    if values.ndim != 1 or values.shape != errors.shape:
        raise UsageError("pool_means needs two arrays (groups,) of the same length.")
    there = ~np.isnan(values) & ~np.isnan(errors)
    count = int(there.sum())
    if count < 2 or np.any(errors[there] <= 0):
        raise UsageError("pool_means needs at least two groups, each with a standard error above 0.")
    known, variance = values[there], np.square(errors[there])
    between = _paule_mandel(known, variance)
    weights = 1 / (between + variance)
    mean = float(weights @ known / weights.sum())
    kept = between / (between + variance)
    shrunken = mean + kept * (known - mean)
    mean_variance = 1 / weights.sum()
    spread = kept * variance + np.square(1 - kept) * mean_variance
    if count > 3:
        # what is not known about the shrinkage itself matters most for groups far from the mean
        spread = spread + 2 / (count - 3) * np.square(1 - kept) * np.square(known - mean)
    half = float(stdtrit(count - 1, (1 + level) / 2)) * np.sqrt(spread)
    estimate, low, high = (np.full(len(values), np.nan) for _ in range(3))
    estimate[there], low[there], high[there] = shrunken, shrunken - half, shrunken + half
    return Pooled(estimate, low, high, mean, between)


_NO_SPREAD = 1e8  # a beta distribution this strong is a single rate


def _fit_beta(hits: Floats, tries: Floats) -> tuple[float, float]:
    """Mean and strength (sum of both parameters) of the most likely beta distribution of true rates."""
    overall = float(hits.sum() / tries.sum())
    if overall in (0.0, 1.0):
        # all outcomes agree and the likelihood is highest at a rate of exactly 0 or 1, which is more
        # than they can say: the posterior mean under Jeffreys' prior stands in
        return (float(hits.sum()) + 0.5) / (float(tries.sum()) + 1.0), _NO_SPREAD
    from scipy.optimize import minimize

    def cost(logits: Floats) -> float:
        mean = 1 / (1 + np.exp(-logits[0]))
        strength = np.exp(logits[1])
        return -_log_marginal(hits, tries, float(mean), float(strength))

    start = np.log(overall / (1 - overall))
    bounds = [(start - 5, start + 5), (np.log(1e-2), np.log(_NO_SPREAD))]
    fits = [
        minimize(cost, [start, np.log(guess)], method="L-BFGS-B", bounds=bounds) for guess in (1.0, 10.0, 1e3)
    ]
    best = min(fits, key=lambda fit: float(fit.fun))
    one_rate = -_log_marginal(hits, tries, overall, _NO_SPREAD)
    if one_rate <= float(best.fun) + 1e-6:
        return overall, _NO_SPREAD
    return float(1 / (1 + np.exp(-best.x[0]))), float(np.exp(best.x[1]))


def _log_marginal(hits: Floats, tries: Floats, mean: float, strength: float) -> float:
    """Beta-binomial log-likelihood, without the binomial coefficients, which do not depend on the fit."""
    alpha, beta = mean * strength, (1 - mean) * strength
    if strength >= _NO_SPREAD:
        # gammaln differences of such size would be rounding noise; this is their limit
        return float(hits.sum() * np.log(mean) + (tries - hits).sum() * np.log1p(-mean))
    terms = (
        gammaln(alpha + hits) - gammaln(alpha) + gammaln(beta + tries - hits) - gammaln(beta)
        - gammaln(strength + tries) + gammaln(strength)
    )  # fmt: skip
    return float(terms.sum())


def _paule_mandel(values: Floats, variance: Floats) -> float:
    def surplus(between: float) -> float:
        weights = 1 / (between + variance)
        mean = weights @ values / weights.sum()
        return float(weights @ np.square(values - mean)) - (len(values) - 1)

    if surplus(0.0) <= 0:
        return 0.0
    low, high = 0.0, float(np.square(values - values.mean()).sum()) + float(variance.max())
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if surplus(middle) > 0 else (low, middle)
    return (low + high) / 2
