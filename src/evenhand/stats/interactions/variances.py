"""Variances of contrasts of cell means, and the linear algebra behind them."""

import numpy as np
from scipy.special import fdtr, ncfdtrinc

from evenhand.stats.arrays import Floats

MODEL_DF = 10.0
"""Weight (degrees of freedom) of the model's variance in that of a contrast."""
FEW_EVENTS, MANY_EVENTS = 5.0, 10.0
"""Expected numbers of events in a cell. From the second on, the scatter of the cell is trusted; below the first, the
variance of a contrast is at least that of the model. 5 is the usual rule for expected counts (Cochran 1954)."""


def moderate_variance(
    own: Floats, own_df: Floats | float, model: Floats, events: Floats | None = None
) -> Floats:
    """Return variances of contrasts: means of their own and the model's, weighted by degrees of freedom.

    Parameters
    ----------
    own, model : numpy.ndarray, shape (m,)
        Variance from the scatter in the cells, and variance under the additive model.
    own_df : numpy.ndarray, shape (m,), or float
        Degrees of freedom of `own`.
    events : numpy.ndarray, shape (m,), optional
        For rates: the smallest expected number of events, or of non-events, in a cell of the contrast. A small cell
        often has no event, and then no scatter, although its true rate is above 0. With few events, the variance is
        therefore not below that of the model.

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
    """Return the noncentrality for which `share` of the F distribution is below `ratio`, or 0."""
    return float(ncfdtrinc(df, spare, share, ratio)) if fdtr(df, spare, ratio) > share else 0.0
