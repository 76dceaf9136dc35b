"""Test how each descriptor differs from the others of its axis in sentences like these: moderated t over contrasts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.stats.arrays import Flags, Floats, Indices
from evenhand.stats.cluster_means import ClusterMeans, t_inference
from evenhand.stats.common_level import detectable_factor, find_common_level, reference_contrasts
from evenhand.stats.contrasts.axis_test import SKEWED_FREEDOM, Flips, flips_reach, skewed_p
from evenhand.stats.contrasts.layout import mean_squares, with_reference
from evenhand.stats.contrasts.moderation import LEAST_DIRECTIONS, moderate
from evenhand.stats.contrasts.smallest import smallest_shift, smallest_skewed_shift
from evenhand.stats.multiplicity import simes

LEAST_CONTRASTS = 3
_NOTHING = 1e-9
_FEW_GAPS = 0.1
_CONSTANT = "Its numbers do not vary between sentences, so they do not show how other sentences would differ."
_APART = 4.0
"""A contrast is called far from the others if its distance from their median exceeds this many median distances."""
LARGEST_SMALLEST = 3.0
"""Nats (a ratio of 20): if the minimum detectable shift is larger, the axis is not measurable."""


@dataclass(frozen=True)
class Shifts:
    """Shift of each descriptor from the other descriptors of its axis. Result of `moderated_shifts`.

    Arrays have the shape (descriptors,) and are NaN for descriptors that are not compared.

    Attributes
    ----------
    shift, low, high : numpy.ndarray
        Mean shift over contrasts in nats, with 95% CI.
    p : numpy.ndarray
        Two-sided p-value of a true shift within the margin.
    variance, freedom : numpy.ndarray
        Squared standard error of the shift, and its degrees of freedom.
    axis_p : float
        p of "no descriptor shifts by more than the margin".
    least_largest : float
        Lower 95% bound of the absolute size of the largest shift of the axis. 0 if axis_p is above 0.05.
    minimum_detectable : float
        Shift of a single descriptor that is detected with 80% power. If contrasts may be skewed and nothing was
        detected, it is that of the descriptor for which it is largest.
    contrasts : int
        Number of contrasts.
    obstacle : str or None
        Reason why nothing could be detected.
    reference : numpy.ndarray of bool, or None
        Descriptors that do not stand out. Each descriptor is compared with their mean. None: with all others.
    has_common_level : bool
        False if about as many descriptors differ as do not, so that none can be named.
    """

    shift: Floats
    low: Floats
    high: Floats
    p: Floats
    variance: Floats
    freedom: Floats
    axis_p: float
    least_largest: float
    minimum_detectable: float
    contrasts: int
    obstacle: str | None
    reference: Flags | None = None
    has_common_level: bool = True


def moderated_shifts(
    values: Floats,
    *,
    own_nouns: bool,
    margin: float = 0.0,
    level: float = 0.05,
    seed: int = 0,
    common_level: bool = True,
) -> Shifts:
    """Test the shift of each descriptor from the others of its axis, by a moderated t test over contrasts.

    A contrast is a pair of opposite templates, such as "I love X." and "I hate X.". Contrasts and nouns are samples, so
    results generalise to similar sentences.

    Parameters
    ----------
    values : numpy.ndarray, shape (contrasts, nouns, descriptors)
        Differences of surprisal in nats; NaN is missing. Pass the differences of two models to test a change.
    own_nouns : bool
        True if each contrast has its own nouns; False if nouns are crossed with contrasts.
    margin : float
        Largest shift, in nats, that counts as no difference.
    level : float
        Significance level of the axis.
    seed : int
        Random seed of sign patterns, which are drawn with more than 13 contrasts.
    common_level : bool
        On an axis with a detected difference, compare descriptors with those that do not stand out
        (`find_common_level`), not with all others.

    Returns
    -------
    Shifts
        Shifts with CI, p and minimum detectable shift.

    Notes
    -----
    The axis is tested by sign flips of whole contrasts, or by Simes' test over descriptors if there are too few
    contrasts. With crossed nouns or more than 10% missing cells, the larger p of both tests counts.

    If a single factor dominates the variation between contrasts (fewer than 1.5 effective dimensions), p is at least
    that of a skewness-corrected t test. The p and the CI of a descriptor are from the same t distribution. Contrasts
    with missing cells have less weight. Up to 10% missing cells were simulated.

    References
    ----------
    - Smyth 2004: moderation of variances.
    - Hall 1992: skewness.

    >>> rows = np.array([[0.2, -1.1, 0.4, 0.1], [-0.1, -0.9, 0.3, -0.2], [0.3, -1.4, 0.0, 0.2]])
    >>> moderated_shifts(rows[:, None], own_nouns=True).shift.round(2).tolist()
    [0.42, -1.27, 0.56, 0.29]
    """
    deviations, compared = with_reference(values)
    if not compared.any():
        return _unknown(
            np.full(values.shape[2], np.nan), 0, "Fewer than two descriptors of the axis can be compared."
        )
    nothing = _NOTHING * float(np.nanmax(np.abs(values)))
    if float(np.nanmax(np.abs(deviations))) <= nothing:
        deviations = deviations * 0.0  # all equal up to rounding
    squares = mean_squares(deviations[:, :, compared], own_nouns=own_nouns)
    there = (~np.isnan(squares.by_contrast)).any(axis=1)
    contrasts = int(there.sum())

    def wide(numbers: Floats) -> Floats:
        result = np.full(values.shape[2], np.nan)
        result[compared] = numbers
        return result

    if contrasts < 2:
        return _unknown(wide(squares.mean), contrasts, _too_few(contrasts))
    moderated = moderate(squares, own_nouns=own_nouns)
    error = np.sqrt(moderated.variance)
    gaps = float(np.isnan(deviations[:, :, compared]).mean())
    varies = bool((moderated.variance > nothing**2).any())
    if not varies and float(np.abs(squares.mean).max()) > nothing:
        return _unknown(wide(squares.mean), contrasts, _CONSTANT)
    if not varies:
        return _all_alike(compared, contrasts, margin)
    found = t_inference(squares.mean, error, moderated.freedom, margin=margin)
    enough = flips_reach(contrasts, level)
    lopsided = moderated.directions < LEAST_DIRECTIONS
    flips = Flips(contrasts, seed, level) if enough else None
    rows = squares.by_contrast[there]

    def p_beyond(boundary: float) -> float:
        p = [] if flips is None else [flips.p(rows, boundary, moderated.noise)]
        if flips is None or not own_nouns or gaps > _FEW_GAPS:
            p.append(simes(t_inference(squares.mean, error, moderated.freedom, margin=boundary).p))
        if lopsided:
            p.append(simes(skewed_p(squares.mean, error, moderated.freedom, rows, boundary)))
        return max(p)

    whole = p_beyond(margin)
    limits: dict[str, Any] = {"margin": margin, "level": level}
    freedom = moderated.freedom / (SKEWED_FREEDOM if lopsided else 1.0)
    smallest = smallest_shift(moderated.variance, freedom, **limits)
    # This applies only if the axis is not significant. If it is, each descriptor is tested by its own t.
    if lopsided and enough and whole > level:
        smallest = max(
            smallest,
            smallest_skewed_shift(rows, moderated.variance, moderated.freedom, seed=seed, **limits),
            float(np.abs(squares.mean).max()),
        )
    obstacle: str | None = None
    if contrasts < LEAST_CONTRASTS:
        obstacle = _too_few(contrasts)
    elif lopsided and not enough:
        needed = next(n for n in range(contrasts, 99) if flips_reach(n, level))
        obstacle = (
            f"Nearly all variation between the {contrasts} sentence pairs is in one direction or one descriptor, which "
            f"so few pairs cannot distinguish from chance. At least {needed} pairs are needed. Increase --limit."
        )
    elif lopsided and whole > level and smallest > LARGEST_SMALLEST:
        obstacle = _disagreeing(rows)
    elif whole > level and smallest > LARGEST_SMALLEST:
        obstacle = (
            f"The minimum detectable shift is {smallest:.1f} nats, and more than {LARGEST_SMALLEST:g} nats (a ratio of "
            "20) is not expected. Use more sentence pairs."
        )

    # the smallest largest shift that the test of the axis does not reject, by bisection
    least = 0.0
    if whole <= 0.05:
        least, above = margin, float(np.abs(squares.mean).max())
        for _ in range(12):
            middle = (least + above) / 2
            least, above = (middle, above) if p_beyond(middle) <= 0.05 else (least, middle)
    common = None
    if common_level and whole <= level and len(squares.mean) > 2:
        compare = _comparison(squares.mean, moderated.variance, moderated.freedom, margin)
        common = find_common_level(squares.mean, compare)
        against = compare(common.reference)
        p = np.maximum(against.p, common.p)
        # the interval includes the margin exactly if p is above .05
        low = np.where(p > 0.05, np.minimum(against.low, margin), against.low)
        high = np.where(p > 0.05, np.maximum(against.high, -margin), against.high)
        found = replace(against, low=low, high=high, p=p)
    if common_level:
        smallest *= detectable_factor(len(squares.mean))
    reference = np.zeros(len(compared), dtype=bool)
    if common is not None:
        reference[compared] = common.reference
    return Shifts(
        shift=wide(found.estimate),
        low=wide(found.low),
        high=wide(found.high),
        p=wide(found.p),
        variance=wide(moderated.variance),
        freedom=wide(moderated.freedom),
        axis_p=whole,
        least_largest=least,
        minimum_detectable=smallest,
        contrasts=contrasts,
        obstacle=obstacle,
        reference=reference if common is not None and common.exists else None,
        has_common_level=common is None or common.exists,
    )


def _comparison(
    shift: Floats, variance: Floats, freedom: Floats, margin: float
) -> Callable[[Flags], ClusterMeans]:
    """Return the function that compares each descriptor with the mean of a reference.

    Parameters
    ----------
    shift, variance : numpy.ndarray, shape (descriptors,)
        Shifts from the mean of all others, and their variances. The deviation from the mean of all descriptors, and its
        variance, are smaller by the factor (d - 1) / d.
    """
    share = (len(shift) - 1) / len(shift)

    def compare(reference: Flags) -> ClusterMeans:
        contrasts = reference_contrasts(reference)
        error = np.sqrt(np.square(contrasts) @ (variance * share))
        return t_inference(contrasts @ (shift * share), error, freedom, margin=margin)

    return compare


def _all_alike(compared: Flags, contrasts: int, margin: float) -> Shifts:
    """Return the shifts if all descriptors are exactly equal in all contrasts.

    Student's interval would have width 0. Instead, the width assumes that some contrasts could still differ: as many as
    Clopper-Pearson allows for 0 of n, each by `LARGEST_SMALLEST`. No smaller shift is stated as detectable.
    """
    zero = np.where(compared, 0.0, np.nan)
    reach = max(margin, LARGEST_SMALLEST * (1 - 0.025 ** (1 / contrasts)))
    few = contrasts < LEAST_CONTRASTS
    return Shifts(
        shift=zero,
        low=zero - reach,
        high=zero + reach,
        p=zero + 1.0,
        variance=zero,
        freedom=zero + contrasts - 1,
        axis_p=1.0,
        least_largest=0.0,
        minimum_detectable=reach,
        contrasts=contrasts,
        obstacle=_too_few(contrasts) if few else None,
    )


def _unknown(shift: Floats, contrasts: int, obstacle: str) -> Shifts:
    """Return shifts without interval and test."""
    nothing, nan = np.full(len(shift), np.nan), float("nan")
    return Shifts(
        shift=shift,
        low=nothing,
        high=nothing,
        p=nothing,
        variance=nothing,
        freedom=nothing,
        axis_p=nan,
        least_largest=0.0,
        minimum_detectable=nan,
        contrasts=contrasts,
        obstacle=obstacle,
    )


def pairwise_shifts(
    values: Floats,
    first: Indices,
    second: Indices,
    *,
    own_nouns: bool,
    margin: float = 0.0,
    confidence: float = 0.95,
) -> ClusterMeans:
    """Test the differences between pairs of descriptors, by the moderated t test of `moderated_shifts`.

    Parameters
    ----------
    values, own_nouns
        As in `moderated_shifts`.
    first, second : numpy.ndarray of int, shape (pairs,)
        Positions of the descriptors of each pair.
    confidence : float
        Confidence level. Use a higher level if the pairs were selected.
    margin : float
        Smallest shift that counts, in nats.

    Returns
    -------
    ClusterMeans, arrays of shape (pairs,)
        First minus second (``estimate``, in nats) with CI (``low``, ``high``) and ``p``. p is not adjusted for the
        number of pairs. NaN if a pair shares fewer than two contrasts.

    >>> rows = np.array([[1.0, -1.0], [1.2, -1.2], [0.8, -0.8]])[:, None]
    >>> float(pairwise_shifts(rows, np.array([0]), np.array([1]), own_nouns=True).estimate[0].round(3))
    2.0
    """
    deviations, compared = with_reference(values)
    number = int(compared.sum())
    if number < 2 or not len(first):
        return ClusterMeans(*[np.full(len(first), np.nan)] * 4)
    axis = mean_squares(deviations[:, :, compared], own_nouns=own_nouns)
    differences = (deviations[:, :, first] - deviations[:, :, second]) * ((number - 1) / number)
    squares = mean_squares(differences, own_nouns=own_nouns)
    if axis.contrasts.max() < 2:
        nothing = np.full(len(first), np.nan)
        return ClusterMeans(squares.mean, nothing, nothing, nothing)
    moderated = moderate(squares, own_nouns=own_nouns, axis=axis)
    error = np.sqrt(moderated.variance)
    return t_inference(squares.mean, error, moderated.freedom, margin=margin, level=confidence)


def _too_few(contrasts: int) -> str:
    there = "is only 1 matched pair" if contrasts == 1 else f"are only {contrasts} matched pairs"
    return f"There {there} of sentences. At least {LEAST_CONTRASTS} are needed. Increase --limit."


def _disagreeing(rows: Floats) -> str:
    """Return the obstacle if contrasts (sentence pairs) differ so much that nothing is detectable.

    `rows` (contrasts, descriptors) are the shifts. The sentence states how many contrasts are far from the others.
    """
    rows = np.nan_to_num(rows)
    away = rows - rows.mean(axis=0)
    along = rows @ np.linalg.svd(away, full_matrices=False)[2][0]
    distance = np.abs(along - np.median(along))
    apart = int(np.count_nonzero(distance > _APART * np.median(distance)))
    told = f" ({apart} of them {'is' if apart == 1 else 'are'} far from the others)" if apart else ""
    return (
        f"The {len(rows)} sentence pairs give very different results{told}, so the minimum detectable ratio is above "
        "20 "
        f"({LARGEST_SMALLEST:g} nats). Use more pairs."
    )
