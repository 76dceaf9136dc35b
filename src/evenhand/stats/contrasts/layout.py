"""Compare numbers by contrast, noun and descriptor with a reference, and compute mean squares; cells may be missing."""

from dataclasses import dataclass

import numpy as np

from evenhand.schema import UsageError
from evenhand.stats.arrays import Flags, Floats, Indices, mean_of_known

_ROUNDS = 500
_CLOSE = 1e-12


def with_reference(values: Floats) -> tuple[Floats, Flags]:
    """Return each number minus the mean of the *other* descriptors of its axis, and flags of the compared descriptors.

    Parameters
    ----------
    values : numpy.ndarray, shape (contrasts, nouns, descriptors)
        Numbers; NaN is missing.

    Returns
    -------
    deviations : numpy.ndarray, same shape
        Numbers minus the reference. NaN for missing cells and for descriptors that are not compared.
    compared : numpy.ndarray of bool, shape (descriptors,)
        True for descriptors that are known in two contrasts (in one, if there is only one).

    Raises
    ------
    UsageError
        The array has another shape or contains infinite numbers.

    Notes
    -----
    The mean over descriptors is subtracted within each contrast and noun. The result is multiplied by D / (D - 1) for D
    compared descriptors, which gives the difference from the mean of the others. If descriptors are missing, the mean
    is that of an additive fit, so that a missing extreme descriptor does not change the reference of the others.

    >>> with_reference(np.array([[[1.0, 0.0, -1.0]]]))[0].tolist()
    [[[1.5, 0.0, -1.5]]]
    """
    if values.ndim != 3 or np.isinf(values).any():
        raise UsageError(
            f"Contrasts must be an array of three dimensions without infinite numbers, got shape {values.shape}"
            + (" with infinite numbers." if np.isinf(values).any() else "."),
            "Give an array (contrasts, nouns, descriptors), with NaN where a number is missing.",
        )
    kept = values.copy()
    least = min(2, np.count_nonzero((~np.isnan(values)).sum(axis=2).max(axis=1, initial=0) > 1))
    while True:
        kept[(~np.isnan(kept)).sum(axis=2) < 2] = np.nan  # the only descriptor in its sentence: no reference
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
    """Return the mean over descriptors as if none were missing (additive fit), shape (contrasts, nouns)."""
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
    """Mean over contrasts and variance components of each descriptor; arrays of shape (d,).

    Attributes
    ----------
    mean : numpy.ndarray
        Mean over contrasts.
    between, nouns_between, residual : numpy.ndarray
        Mean squares between contrasts, between nouns (crossed nouns only), and of the residuals.
    contrasts : numpy.ndarray
        Number of contrasts in which the descriptor is known.
    nouns : numpy.ndarray
        Harmonic mean of the number of nouns per contrast.
    free : numpy.ndarray
        Residual degrees of freedom.
    by_contrast : numpy.ndarray, shape (contrasts, d)
        Mean of the descriptor in each contrast; NaN if unknown.
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
    """Return the mean squares of deviations of shape (contrasts, nouns, d).

    With `own_nouns`, nouns are nested within contrasts, otherwise crossed with them. If cells are missing, the mean of
    a contrast is that of its known nouns (nested) or of the additive fit of contrast and noun (crossed). The number of
    nouns is then the harmonic mean over contrasts.
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
    """Return the variance of each column over its known rows; NaN with fewer than two."""
    number = np.count_nonzero(~np.isnan(rows), axis=0)
    squares = np.nansum((rows - mean_of_known(rows, 0)) ** 2, axis=0)
    return np.asarray(squares / np.where(number > 1, number - 1, np.nan))
