"""Find two contrasts (pairs of templates) that are nearly the same: descriptors have nearly the same numbers in both.

Two such contrasts are not independent, so a test over contrasts counts the same information twice.
"""

import numpy as np
from scipy.special import betainc

from evenhand.stats.arrays import Floats, mean_of_known
from evenhand.stats.contrasts.layout import with_reference

LARGEST_CORRELATION = 0.8
_CHANCE = 0.01


def alike_contrasts(values: Floats) -> tuple[int, int, float] | None:
    """Return the two most correlated contrasts and their correlation, if they are nearly the same.

    Parameters
    ----------
    values : numpy.ndarray, shape (contrasts, nouns, descriptors)
        Numbers as in `moderated_shifts`. The mean of each descriptor over contrasts is subtracted first.

    Returns
    -------
    tuple of (int, int, float), or None
        Positions of the two contrasts and their correlation over descriptors. None with fewer than three contrasts, or
        if no two are nearly the same.

    Notes
    -----
    Two contrasts are nearly the same if three conditions hold: their correlation is above 0.8; independent contrasts
    reach it in at most 1% of axes; and no two contrasts have an equally strong negative correlation. The last would
    suggest a factor that is common to all descriptors.

    >>> rows = np.random.default_rng(0).normal(size=(5, 40))
    >>> alike_contrasts(np.vstack([rows, rows[:1] + 0.01 * rows[1:2]])[:, None])[:2]
    (0, 5)
    """
    deviations, compared = with_reference(values)
    rows = mean_of_known(deviations[:, :, compared], 1)
    rows = rows[~np.isnan(rows).any(axis=1)]
    number, freedom = len(rows), int(compared.sum()) - 2
    if number < 3 or freedom < 2 or number < len(values):
        return None
    rows = rows - rows.mean(axis=0)
    sizes = np.sqrt((rows**2).sum(axis=1))
    if not sizes.all():
        return None
    correlations = (rows @ rows.T) / np.outer(sizes, sizes)
    np.fill_diagonal(correlations, 0.0)
    first, second = (int(place) for place in np.unravel_index(correlations.argmax(), correlations.shape))
    largest = min(1.0, float(correlations[first, second]))
    chance = float(betainc(freedom / 2, 0.5, 1 - largest**2)) / 2 * number * (number - 1) / 2
    if largest <= LARGEST_CORRELATION or chance > _CHANCE or correlations.min() < -LARGEST_CORRELATION:
        return None
    return first, second, largest
