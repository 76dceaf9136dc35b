"""Test how each descriptor differs from the others in exactly these sentences: contrasts are fixed, nouns sampled."""

import numpy as np

from evenhand.stats.arrays import Floats
from evenhand.stats.cluster_means import ClusterMeans, t_inference
from evenhand.stats.contrasts.layout import mean_squares, with_reference

_PRIOR = 1.75
"""Weight of the axis' mean variance, in nouns, as in `moderation.LEAST_WEIGHT`."""


def shifts_in_these_sentences(values: Floats, *, own_nouns: bool, margin: float = 0.0) -> ClusterMeans:
    """Return the shift of each descriptor from the others in exactly these contrasts.

    The result generalises to other nouns, but not to other sentences.

    Parameters
    ----------
    values : numpy.ndarray, shape (contrasts, nouns, descriptors)
        Numbers in nats, as in `moderated_shifts`.
    own_nouns : bool
        True if each contrast has its own nouns.
    margin : float
        Largest shift, in nats, that counts as no difference.

    Returns
    -------
    ClusterMeans, arrays of shape (descriptors,)
        Shifts (``estimate``) with 95% CI (``low``, ``high``) and two-sided ``p``. The interval is NaN if each contrast
        has one noun. All are NaN for descriptors that are not compared (see `layout.with_reference`).

    Notes
    -----
    The test is Student's t over nouns. The variance between nouns of each descriptor is shrunken towards the mean
    variance of the axis, which has the weight of 1.75 nouns.

    >>> x = np.array([[[0.1, -0.2], [0.25, -0.1]], [[1.0, -1.1], [1.1, -1.0]]])
    >>> found = shifts_in_these_sentences(x, own_nouns=True)
    >>> found.estimate.round(2).tolist(), bool(found.p[0] < 0.01)
    ([1.21, -1.21], True)
    """
    deviations, compared = with_reference(values)
    columns = [np.full(values.shape[2], np.nan) for _ in range(4)]
    if compared.any():
        squares = mean_squares(deviations[:, :, compared], own_nouns=own_nouns)
        if own_nouns:
            within, free = squares.residual, squares.free
        else:
            within = np.nan_to_num(squares.nouns_between)
            per_noun = (~np.isnan(deviations[:, :, compared])).any(axis=0)
            free = np.maximum(per_noun.sum(axis=0) - 1.0, 0.0)
        usable = free >= 1
        shared = float(within[usable].mean()) if usable.any() else float("nan")
        moderated = (_PRIOR * shared + free * within) / (_PRIOR + free)
        error = np.where(usable, np.sqrt(moderated / (squares.contrasts * squares.nouns)), np.nan)
        found = t_inference(squares.mean, error, _PRIOR + free, margin=margin)
        for column, numbers in zip(columns, (found.estimate, found.low, found.high, found.p), strict=True):
            column[compared] = numbers
    return ClusterMeans(*columns)
