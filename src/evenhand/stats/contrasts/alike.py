"""Contrasts that are one: two wordings to which every descriptor answers in the same way."""

import numpy as np
from scipy.special import betainc

from evenhand.stats.arrays import Floats, mean_of_known
from evenhand.stats.contrasts.layout import with_reference

LARGEST_CORRELATION = 0.8
_CHANCE = 0.01


def alike_contrasts(values: Floats) -> tuple[int, int, float] | None:
    """The two contrasts that answer most alike over descriptors, and their correlation, if they are nearly one.

    values: (contrasts, nouns, descriptors), as in `moderated_shifts`. What a descriptor does in all contrasts is taken
    off first. Nearly one: a correlation above 0.8 that one of as many unrelated pairs would show in a hundredth of
    axes at most, while none is as far below 0 (a factor behind all descriptors gives both). None with fewer than three
    contrasts.

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
