"""Variances of contrasts of cell means, and the linear algebra behind them."""

import numpy as np
from scipy.special import fdtr, ncfdtrinc

from evenhand.stats.arrays import Floats

MODEL_DF = 10.0
"""Degrees of freedom of the model's variance when it is averaged with the empirical variance of a contrast."""
FEW_EVENTS, MANY_EVENTS = 5.0, 10.0
"""Expected numbers of events in a cell. With `FEW_EVENTS` or fewer, the variance of a contrast is at least that of the
model. With `MANY_EVENTS` or more, it has no minimum. In between, the minimum is phased out linearly. 5 is the usual
rule for expected counts (Cochran 1954)."""


def moderate_variance(
    own: Floats, own_df: Floats | float, model: Floats, events: Floats | None = None
) -> Floats:
    """Return the mean of each contrast's empirical variance and its variance under the additive model.

    The weights are degrees of freedom.

    Parameters
    ----------
    own, model : numpy.ndarray, shape (m,)
        Empirical variance of the contrast, and its variance under the additive model.
    own_df : numpy.ndarray, shape (m,), or float
        Degrees of freedom of `own`.
    events : numpy.ndarray, shape (m,), optional
        For rates: the smallest expected number of events, or of non-events, in a cell of the contrast. A small cell
        often has no event. Its empirical variance is then 0, although its true rate is above 0. With few events, the
        result is therefore not below `model`.

    Examples
    --------
    >>> own, model = np.array([0.0, 0.0]), np.array([1.0, 1.0])
    >>> moderate_variance(own, 30.0, model, np.array([2.0, 50.0]))
    array([1.  , 0.25])
    """
    moderated = (own_df * own + MODEL_DF * model) / (own_df + MODEL_DF)
    if events is None:
        return moderated
    scarcity = np.clip((MANY_EVENTS - events) / (MANY_EVENTS - FEW_EVENTS), 0, 1)
    return moderated + scarcity * np.maximum(model - moderated, 0)


def make_residual_maker(design: Floats, weights: Floats) -> Floats:
    """Return I - X (X'WX)⁺ X'W, which gives the residuals of a weighted fit, shape (cells, cells)."""
    cross = np.linalg.pinv(design.T @ (weights[:, None] * design))
    maker: Floats = np.eye(len(weights)) - design @ cross @ (design * weights[:, None]).T
    return maker


def find_noncentrality(ratio: float, df: float, spare: float, share: float) -> float:
    """Return the noncentrality at which `share` of the noncentral F distribution is below `ratio`.

    df, spare: degrees of freedom of the numerator and the denominator. Return 0 if at most `share` of the central F
    distribution is below `ratio`.
    """
    return float(ncfdtrinc(df, spare, share, ratio)) if fdtr(df, spare, ratio) > share else 0.0
