"""Numbers by contrast, noun and descriptor: each beside its reference, and their mean squares, gaps allowed."""

from dataclasses import dataclass

import numpy as np

from evenhand.schema import UsageError
from evenhand.stats.arrays import Flags, Floats, Indices, mean_of_known

_ROUNDS = 500
_CLOSE = 1e-12


def with_reference(values: Floats) -> tuple[Floats, Flags]:
    """Each number minus the mean of the *other* descriptors of its axis, and which descriptors can be compared.

    values: (contrasts, nouns, descriptors), NaN where missing. Within a contrast and noun the mean over
    descriptors is taken off and the rest multiplied by D / (D - 1), D the descriptors compared. Where
    descriptors are missing the mean is that of an additive fit, so that a far descriptor's absence
    moves nobody else. A descriptor is compared if it is known in two contrasts (in the only one, if there is
    one). Returns the numbers, NaN where missing or not compared, and flags (descriptors,).
    Raises UsageError for an array of another shape or infinite numbers.

    >>> with_reference(np.array([[[1.0, 0.0, -1.0]]]))[0].tolist()
    [[[1.5, 0.0, -1.5]]]
    """
    if values.ndim != 3 or np.isinf(values).any():
        raise UsageError(
            f"Contrasts were given as an array of shape {values.shape}"
            + (" with infinite numbers." if np.isinf(values).any() else "."),
            "Give (contrasts, nouns, descriptors), NaN where a number is missing.",
        )
    kept = values.copy()
    least = min(2, np.count_nonzero((~np.isnan(values)).sum(axis=2).max(axis=1, initial=0) > 1))
    while True:
        kept[(~np.isnan(kept)).sum(axis=2) < 2] = np.nan  # alone in its sentence: beside nobody
        few = (~np.isnan(kept)).any(axis=1).sum(axis=0) < max(least, 1)
        if not (~np.isnan(kept[:, :, few])).any():
            break
        kept[:, :, few] = np.nan
    compared = ~few
    number = int(compared.sum())
    if number < 2:
        return np.full(values.shape, np.nan), np.zeros(values.shape[2], dtype=np.bool_)
    reference = _cell_means(kept[:, :, compared])
    return (kept - reference[:, :, None]) * (number / (number - 1)), compared


def _cell_means(values: Floats) -> Floats:
    """(contrasts, nouns): what the mean over descriptors would be if none were missing."""
    cells = mean_of_known(values, 2)
    if not np.isnan(values).any():
        return cells
    scale = float(np.nanstd(values)) or 1.0
    for _ in range(_ROUNDS):
        descriptors = mean_of_known(values - cells[:, :, None], (0, 1))
        descriptors = descriptors - descriptors.mean()
        better = mean_of_known(values - descriptors, 2)
        change = np.nanmax(np.abs(better - cells), initial=0.0)
        cells = better
        if change <= _CLOSE * scale:
            break
    return cells


@dataclass(frozen=True)
class MeanSquares:
    """Of each descriptor (d,): its mean over contrasts, and what varies between contrasts, nouns, and within.

    Attributes
    ----------
    contrasts
        How many it is known in.
    nouns
        Harmonic mean of nouns a contrast.
    free
        Residual degrees.
    by_contrast
        (contrasts, d), its mean in each contrast, NaN where unknown.
    """

    mean: Floats
    between: Floats
    nouns_between: Floats
    residual: Floats
    contrasts: Floats
    nouns: Floats
    free: Floats
    by_contrast: Floats


def mean_squares(deviations: Floats, *, own_nouns: bool) -> MeanSquares:
    """The mean squares of (contrasts, nouns, d): nouns within contrasts (own) or crossed with them.

    With gaps a contrast's mean is that of its own known nouns (own), or of the additive fit of contrast
    and noun (crossed), and the harmonic mean of their number stands for it.
    """
    known = ~np.isnan(deviations)
    contrast, noun = mean_of_known(deviations, 1), np.zeros(deviations.shape[1:])
    if not own_nouns:
        contrast, noun = _additive(deviations, known)
    cells = known.sum(axis=1)
    contrasts = np.count_nonzero(cells, axis=0).astype(np.float64)
    nouns = _harmonic(cells)
    per_noun = known.sum(axis=0)
    parameters = contrasts + (0 if own_nouns else np.maximum(np.count_nonzero(per_noun, axis=0) - 1, 0))
    free = np.maximum(known.sum(axis=(0, 1)) - parameters, 0)
    squares = np.nansum((deviations - contrast[:, None] - noun[None]) ** 2, axis=(0, 1))
    return MeanSquares(
        mean=mean_of_known(contrast, 0),
        between=nouns * _variance(contrast),
        nouns_between=np.zeros(len(nouns)) if own_nouns else _harmonic(per_noun) * _variance(noun),
        residual=np.divide(squares, free, out=np.zeros_like(squares), where=free > 0),
        contrasts=contrasts,
        nouns=nouns,
        free=free,
        by_contrast=contrast,
    )


def _additive(values: Floats, known: Flags) -> tuple[Floats, Floats]:
    contrast, noun = mean_of_known(values, 1), np.zeros(values.shape[1:])
    scale = float(np.nanstd(values)) or 1.0
    for _ in range(_ROUNDS):
        noun = mean_of_known(values - contrast[:, None], 0)
        noun = noun - mean_of_known(noun, 0)
        better = mean_of_known(values - noun[None], 1)
        change = np.nanmax(np.abs(better - contrast), initial=0.0)
        contrast = better
        if known.all() or change <= _CLOSE * scale:
            break
    return contrast, noun


def _harmonic(counts: Indices) -> Floats:
    inverse = np.divide(1.0, counts, out=np.zeros(counts.shape), where=counts > 0)
    return np.asarray(
        np.count_nonzero(counts, axis=0) / np.where(inverse.sum(axis=0) > 0, inverse.sum(axis=0), np.nan)
    )


def _variance(rows: Floats) -> Floats:
    """Of each column over its known rows; NaN with fewer than two."""
    number = np.count_nonzero(~np.isnan(rows), axis=0)
    squares = np.nansum((rows - mean_of_known(rows, 0)) ** 2, axis=0)
    return np.asarray(squares / np.where(number > 1, number - 1, np.nan))
