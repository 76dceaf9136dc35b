"""Confidence interval of the SD of true group means, if each observed mean has a known error."""

from math import sqrt

from scipy.special import chdtr, chdtrc

from evenhand.stats.arrays import Floats


def limits_of_spread(means: Floats, noise: Floats, df: float) -> tuple[float, float]:
    """Return the 95% CI of the SD of true group means, from observed means with known noise.

    It inverts a scaled chi-square distribution whose mean and variance match those of the observed variance
    (Satterthwaite 1946). It is one-sided near 0 and two-sided far from it, so it excludes 0 exactly if a one-sided test
    at 5% rejects. `means` and `noise` (their squared standard errors) have the shape (groups,). `df` is the number of
    degrees of freedom of the noise.
    """
    count = len(means)
    observed, usual = float(means.var(ddof=1)), float(noise.mean())
    away = (means - means.mean()) ** 2
    uneven = max(1.0, float((noise * away).sum() / max(usual * away.sum(), 1e-300)))
    squares = float((noise**2).sum())

    def tails(spread: float) -> tuple[float, float, float]:
        square = spread**2
        mean = square + usual
        # Variance of the observed variance. Its three terms are the noise of the means, the noise times the true
        # differences (larger if the noisy groups are the ones that differ), and the error of the estimated noise.
        variance = (
            2 / (count - 1) ** 2 * ((1 - 2 / count) * squares + usual**2)
            + 5.2 * uneven * square * usual / (count - 1)
            + 4 * usual**2 / max(df, 1.0)
        )
        freedom = 2 * mean**2 / max(variance, 1e-300)
        at = observed * freedom / mean
        return (
            float(chdtrc(freedom, at)),
            float(chdtr(freedom, at)),
            square / (square + 2 * usual / sqrt(count - 1) if usual > 0 else max(square, 1e-300)),
        )

    def too_low(spread: float) -> float:
        above, _, slide = tails(spread)
        return above - 0.05 * (1 - slide / 2)

    def too_high(spread: float) -> float:
        _, below, slide = tails(spread)
        return below - 0.025 * slide if slide > 0 else below

    from scipy.optimize import brentq

    top = 10 * sqrt(observed + usual) + 1e-12
    middle = sqrt(max(observed - usual, 0.0))
    low = 0.0 if too_low(0.0) >= 0 else float(brentq(too_low, 0.0, max(middle, 1e-12) + sqrt(observed)))
    if too_high(top) > 0:
        return low, top
    start = max(middle, low)
    high = start if too_high(start) <= 0 else float(brentq(too_high, start, top))
    return low, high


def largest_spread(groups: int, width: float) -> float:
    """Return the largest possible SD (divisor: groups - 1) of numbers within a range of this width.

    >>> [round(largest_spread(groups, 1.0), 3) for groups in (2, 3, 4)]
    [0.707, 0.577, 0.577]
    """
    half = groups // 2
    return float(width * sqrt(half * (groups - half) / (groups * (groups - 1))))
