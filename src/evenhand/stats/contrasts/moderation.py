"""Compute the variance of each descriptor's shift, shrunken towards the common variance of its axis."""

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtri, polygamma

from evenhand.stats.arrays import Floats, mean_of_known
from evenhand.stats.contrasts.layout import MeanSquares

LEAST_DIRECTIONS = 1.5
"""Smallest effective number of directions in which descriptors vary between contrasts.

Below it, one factor moves all descriptors. Their variances then do not average out skewness, so a skewness-corrected
test is used as well.
"""
LEAST_WEIGHT = 1.753
"""Weight of the prior, in contrasts, if all variation is specific to descriptors (log-SD of variances: 1.4)."""
_LOG_VARIANCE = 2.0
"""Assumed variance of the logarithm of the descriptors' interaction variances (log-SD 1.4)."""


@dataclass(frozen=True)
class ModeratedVariance:
    """Variance of each descriptor's mean (d,) and its degrees of freedom (d,); NaN with a single contrast.

    Attributes
    ----------
    noise : numpy.ndarray, shape (d,)
        Noise part of the variance of the mean in one contrast.
    directions : float
        Number of directions in which descriptors vary between contrasts. 1 if one factor or one descriptor causes
        nearly all of the variation.
    """

    variance: Floats
    freedom: Floats
    noise: Floats
    directions: float


def prior_weight(noise: float, between: float, contrasts: float, descriptors: float, free: float) -> float:
    """Return the prior degrees of freedom of the axis' common variance.

    They depend on the design and on the share of noise in the variance, but not on other axes. Variances of
    interactions (descriptor × contrast) are assumed to differ between descriptors by a log-SD of 1.4. The noise is
    assumed not to differ. The larger its share, the more alike the variances are, and the larger the weight.

    Parameters
    ----------
    noise, between : float
        Residual and between-contrast mean squares, averaged over the axis.
    contrasts, descriptors : float
        Numbers of contrasts and of descriptors.
    free : float
        Residual degrees of freedom of one descriptor.

    Returns
    -------
    float
        Degrees of freedom, at least `LEAST_WEIGHT`.

    References
    ----------
    - Smyth 2004 (moderated t). He fits the weight to the data. Fitted by axis, the false-positive rate was up to 30%
      in simulated audits, so the weight is fixed here.

    Examples
    --------
    >>> round(prior_weight(0.0, 1.0, 5, 4, 5), 3), round(prior_weight(0.5, 1.0, 1e6, 10, 1e6), 2)
    (1.753, 2.95)
    """
    if free < 1:
        return LEAST_WEIGHT
    share = 1.0
    if between > 0:
        # the observed share of noise, divided by the 90% quantile of its error, so that noise is not overestimated
        tail = float(fdtri((contrasts - 1) * (descriptors - 1), free * (descriptors - 1), 0.90))
        share = min(1.0, noise / between / tail)
    # 2 trigamma⁻¹(variance of log variances) is the prior df (Smyth 2004); the noise dilutes that variance
    diluted = float(np.log1p((1 - share) ** 2 * np.expm1(_LOG_VARIANCE)))
    weight = 2 * _inverse_trigamma(diluted) if diluted > 0 else np.inf
    return float(max(LEAST_WEIGHT, min(weight, free)))


def moderate(squares: MeanSquares, *, own_nouns: bool, axis: MeanSquares | None = None) -> ModeratedVariance:
    """Return the moderated variances of the means in `squares`.

    The means are those of the descriptors of one axis, or of differences between two of them. For differences, pass the
    mean squares of the axis' descriptors as `axis`: their averages give the prior. A difference of two descriptors
    varies 2 (d - 1) / d times as much as one descriptor minus the mean of the d - 1 others.
    """
    whole = squares if axis is None else axis
    descriptors = len(whole.mean)
    scale = 1.0 if axis is None else 2 * (descriptors - 1) / descriptors
    between, noise = float(np.nanmean(whole.between)) * scale, float(np.mean(whole.residual)) * scale
    free, contrasts = float(np.mean(whole.free)), float(np.mean(whole.contrasts))
    weight = prior_weight(noise, between, contrasts, descriptors, free)
    own = np.zeros(len(squares.mean))
    if free < 1:
        prior = np.full(len(squares.mean), between)
    else:
        # the noise of each descriptor, shrunken towards that of the axis with the weight of 4 degrees of freedom
        own = (4 * noise + squares.free * squares.residual) / (4 + squares.free)
        prior = own + max(0.0, between - noise)
    rest = squares.contrasts - 1
    moderated = (weight * prior + rest * squares.between) / (weight + rest)
    if not own_nouns:
        moderated = moderated + max(0.0, float(np.nanmean(whole.nouns_between)) * scale - noise)
    directions = _dimensions(whole.by_contrast)
    extra = bounded_weight(weight, directions, contrasts, descriptors)
    return ModeratedVariance(
        variance=moderated / (squares.contrasts * squares.nouns),
        freedom=np.minimum(extra + rest, (contrasts - 1) * (descriptors - 1)),
        noise=own / squares.nouns,
        directions=directions,
    )


def bounded_weight(weight: float, directions: float, contrasts: float, descriptors: float) -> float:
    """Return the degrees of freedom that the axis' common variance adds to those of a descriptor.

    If one factor moves all descriptors, the others add no information about the variance of one. `weight` is therefore
    multiplied by the number of directions beyond the first, divided by the number expected for independent descriptors.
    The result is at most (contrasts - 1) × (directions - 1), the degrees of freedom that these directions have.

    Parameters
    ----------
    weight : float
        Result of `prior_weight`.
    directions : float
        Effective number of directions in which descriptors vary between contrasts.
    contrasts, descriptors : float
        Numbers of contrasts and of descriptors.

    Examples
    --------
    >>> bounded_weight(1.75, 3.0, 5, 16), bounded_weight(1.75, 1.0, 5, 16)
    (1.75, 0.0)
    """
    expected = expected_dimensions(contrasts, descriptors) - 1
    share = min(1.0, (directions - 1) / expected) if expected > 0 else 1.0
    return min(weight * share, (contrasts - 1) * (directions - 1))


def expected_dimensions(contrasts: float, descriptors: float) -> float:
    """Return the expected effective number of directions if descriptors vary independently.

    It is the participation ratio of a Wishart matrix: with n = contrasts - 1 and m = descriptors - 1, nm / (n + m + 1).
    """
    one, other = contrasts - 1, descriptors - 1
    return max(1.0, one * other / (one + other + 1))


def _dimensions(by_contrast: Floats) -> float:
    """Return the number of directions in which descriptors vary between contrasts: 1 if one factor moves them all.

    It is the participation ratio of the eigenvalues. If it is 1, other descriptors add no information about a variance,
    and a descriptor has only the degrees of freedom of its own contrasts.
    """
    rows = np.nan_to_num(by_contrast - mean_of_known(by_contrast, 0))
    products = rows @ rows.T
    squares = float((products**2).sum())
    return float(np.trace(products)) ** 2 / squares if squares > 0 else 1.0


def _inverse_trigamma(value: float) -> float:
    """Return the inverse trigamma function, by Newton's method on the convex 1 / trigamma (Smyth 2004, appendix)."""
    place = 0.5 + 1 / value
    for _ in range(60):
        trigamma = float(polygamma(1, place))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, place))
        place += step
        if abs(step) < 1e-12 * place:
            break
    return place
