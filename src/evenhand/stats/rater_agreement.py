"""Kappa, specific agreement and correlations of two raters, with cluster-robust standard errors.

Each statistic is a smooth function of means. The influence of one row on it has a closed form. The spread of
the influences, summed within clusters, is the standard error. Without clusters, the standard error of kappa is
that of Fleiss, Cohen and Everitt, up to the factor n / (n - 1).
"""

import numpy as np

from evenhand.schema import UsageError, checked
from evenhand.stats.arrays import Codes, Floats, middle_ranks
from evenhand.stats.cluster_interval import ClusterT, cluster_t
from evenhand.stats.intervals import Interval


@checked
def kappa(first: Floats, second: Floats, clusters: Codes, level: float = 0.95) -> Interval:
    """Return Cohen's kappa of two raters, with its confidence interval.

    Use it to measure how much two raters or classifiers agree beyond chance.

    Parameters
    ----------
    first, second : numpy.ndarray, shape (n,)
        Verdicts of the two raters on the same rows (for example texts), 0 or 1.
    clusters : numpy.ndarray of int, shape (n,)
        Cluster of each row, such as its prompt, as codes from 0. Rows of different clusters are independent.
    level : float, default 0.95
        Confidence level.

    Returns
    -------
    Interval
        Kappa with an interval within -1 to 1: 1 is perfect agreement, 0 agreement by chance. NaN if both raters
        always give the same single verdict. The bounds are NaN with fewer than two clusters.

    Raises
    ------
    UsageError
        The arrays are empty or differ in shape.

    References
    ----------
    - Cohen 1960.
    - Fleiss, Cohen & Everitt 1969, eq. 13: standard error.

    Examples
    --------
    >>> one, other = np.array([1.0, 1, 1, 0, 0, 0, 1, 0]), np.array([1.0, 1, 0, 0, 0, 0, 1, 1])
    >>> round(kappa(one, other, np.arange(8)).estimate, 4)
    0.5
    """
    _require_pairs("kappa", first, second, clusters)
    a, b = first.mean(), second.mean()
    agree = (first == second).astype(np.float64)
    observed, expected = agree.mean(), a * b + (1 - a) * (1 - b)
    if not expected < 1:
        return _interval(float("nan"), np.zeros(len(first)), clusters, level)
    moved = (first - a) * (2 * b - 1) + (second - b) * (2 * a - 1)
    influence = (agree - observed) / (1 - expected) - (1 - observed) * moved / (1 - expected) ** 2
    return _interval(float((observed - expected) / (1 - expected)), influence, clusters, level, (-1.0, 1.0))


@checked
def specific_agreement(
    first: Floats, second: Floats, clusters: Codes, value: float, level: float = 0.95
) -> Interval:
    """Return the probability that one rater gives a verdict, given that the other rater gives it.

    Use it next to `kappa` if one verdict is rare. It shows on which of the two verdicts raters agree.

    Parameters
    ----------
    first, second, clusters, level
        Verdicts of two raters, clusters and confidence level, as in `kappa`.
    value : float
        The verdict: 1 (negative) or 0 (not negative).

    Returns
    -------
    Interval
        Probability with its interval. NaN if no rater gives the verdict.

    Raises
    ------
    UsageError
        The arrays are empty or differ in shape.

    Notes
    -----
    This is the Dice coefficient of the two sets.

    References
    ----------
    - Cicchetti & Feinstein 1990.

    Examples
    --------
    >>> specific_agreement(np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 0]), np.arange(4), 1.0).estimate
    0.6666666666666666
    """
    _require_pairs("specific_agreement", first, second, clusters)
    both = ((first == value) & (second == value)).astype(np.float64)
    either = ((first == value).astype(np.float64) + (second == value)) / 2
    if not either.mean() > 0:
        return _interval(float("nan"), np.zeros(len(first)), clusters, level)
    ratio = float(both.mean() / either.mean())
    return _interval(ratio, (both - ratio * either) / either.mean(), clusters, level, (0.0, 1.0))


@checked
def pearson(first: Floats, second: Floats, clusters: Codes, level: float = 0.95) -> Interval:
    """Return Pearson's correlation of two scores, with a confidence interval.

    Use it if rows share clusters, such as prompts. For scores on different scales, use `spearman`.

    Parameters
    ----------
    first, second : numpy.ndarray, shape (n,)
        Scores of the same rows.
    clusters, level
        Clusters and confidence level, as in `kappa`.

    Returns
    -------
    Interval
        Correlation, -1 to 1, with its interval. NaN if a score is constant. The bounds are also NaN if the
        correlation is -1 or 1, or with fewer than two clusters.

    Raises
    ------
    UsageError
        The arrays are empty or differ in shape.

    Notes
    -----
    The interval is computed on Fisher's scale, with a cluster-robust standard error.

    Examples
    --------
    >>> round(pearson(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4]), np.arange(4)).estimate, 6)
    0.8
    """
    _require_pairs("pearson", first, second, clusters)
    standard = [_standardise(values) for values in (first, second)]
    if standard[0] is None or standard[1] is None:
        return _interval(float("nan"), np.zeros(len(first)), clusters, level)
    one, other = standard[0], standard[1]
    r = float((one * other).mean())
    return _on_fishers_scale(r, one * other - r * (one**2 + other**2) / 2, clusters, level)


@checked
def spearman(first: Floats, second: Floats, clusters: Codes, level: float = 0.95) -> Interval:
    """Return Spearman's rank correlation of two scores, with a confidence interval.

    Use it if rows share clusters, such as prompts, and only the order of the scores is comparable.

    Parameters
    ----------
    first, second : numpy.ndarray, shape (n,)
        Scores of the same rows. Ties get the middle rank.
    clusters, level
        Clusters and confidence level, as in `kappa`.

    Returns
    -------
    Interval
        Correlation, -1 to 1, with its interval. NaN if a score is constant. The bounds are also NaN if the
        correlation is -1 or 1, or with fewer than two clusters.

    Raises
    ------
    UsageError
        The arrays are empty or differ in shape.

    Notes
    -----
    The interval is computed on Fisher's scale. The standard error accounts for the estimation of the ranks.

    References
    ----------
    - Borkowf 2002, section 2.

    Examples
    --------
    >>> round(spearman(np.array([1.0, 2, 30, 4]), np.array([1.0, 30, 20, 4]), np.arange(4)).estimate, 6)
    0.4
    """
    _require_pairs("spearman", first, second, clusters)
    ranks = [middle_ranks(values) for values in (first, second)]
    standard = [_standardise(values) for values in ranks]
    if standard[0] is None or standard[1] is None:
        return _interval(float("nan"), np.zeros(len(first)), clusters, level)
    one, other = standard[0], standard[1]
    r = float((one * other).mean())
    # a row affects its own product, and the ranks of all rows with larger scores
    scale = [float(values.std()) / len(values) for values in ranks]  # SD of ranks as shares
    moved = one * other - r
    moved += _centre(_mean_above(first, other)) / scale[0] + _centre(_mean_above(second, one)) / scale[1]
    variance_of_ranks = _variance_influence(first, one, scale[0]) + _variance_influence(
        second, other, scale[1]
    )
    return _on_fishers_scale(r, moved - r / 2 * variance_of_ranks, clusters, level)


@checked
def difference_of_means(first: Floats, second: Floats, clusters: Codes, level: float = 0.95) -> Interval:
    """Return the mean of first minus second over the same rows, with a t interval over clusters.

    Use it to compare the rates of two raters or classifiers on the same texts.

    Parameters
    ----------
    first, second : numpy.ndarray, shape (n,)
        Values of the same rows, 0 to 1, such as the verdicts of two raters.
    clusters, level
        Clusters and confidence level, as in `kappa`.

    Returns
    -------
    Interval
        Difference, first minus second, with its interval. The interval is clipped to -1 to 1.

    Raises
    ------
    UsageError
        The arrays are empty or differ in shape.

    Examples
    --------
    >>> difference_of_means(np.array([1.0, 1, 0, 1]), np.array([1.0, 0, 0, 0]), np.arange(4)).estimate
    0.5
    """
    _require_pairs("difference_of_means", first, second, clusters)
    difference = first - second
    return _interval(float(difference.mean()), difference - difference.mean(), clusters, level, (-1.0, 1.0))


def _require_pairs(owner: str, first: Floats, second: Floats, clusters: Codes) -> None:
    """Raise UsageError unless the three arrays have one dimension and the same length."""
    shapes = [values.shape for values in (first, second, clusters)]
    if len(set(shapes)) > 1 or len(shapes[0]) != 1 or not shapes[0][0]:
        raise UsageError(
            f"{owner}: first, second and clusters have the shapes {', '.join(map(str, shapes))}.",
            "Give three arrays of the same shape (n,), with at least one value.",
        )


def _standardise(values: Floats) -> Floats | None:
    centred = values - values.mean()
    deviation = float(np.sqrt(np.square(centred).mean()))
    return centred / deviation if deviation > 1e-12 * max(1.0, float(np.abs(values).max())) else None


def _centre(values: Floats) -> Floats:
    return np.asarray(values - values.mean())


def _mean_above(values: Floats, weights: Floats) -> Floats:
    """Return for each row the mean of `weights` over rows with a larger value, plus half of rows with an equal one."""
    order = np.argsort(values, kind="stable")
    ordered, total = values[order], np.concatenate([[0.0], np.cumsum(weights[order])])
    below, not_above = np.searchsorted(ordered, values), np.searchsorted(ordered, values, side="right")
    return np.asarray((total[-1] - (total[below] + total[not_above]) / 2) / len(values))


def _variance_influence(values: Floats, standard: Floats, scale: float) -> Floats:
    """Return the influence of each row on the variance of the standardised ranks: 0 without ties, up to rounding."""
    return np.asarray(standard**2 - 1 + 2 / scale * _centre(_mean_above(values, standard)))


def _spread(influence: Floats, clusters: Codes) -> ClusterT:
    codes = np.unique(clusters, return_inverse=True)[1]
    return cluster_t(np.bincount(codes, weights=influence), len(influence))


def _interval(
    estimate: float,
    influence: Floats,
    clusters: Codes,
    level: float,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Interval:
    spread = _spread(influence, clusters)
    number, half = int(spread.clusters), float(spread.half_width(level))
    if np.isnan(estimate) or number < 2:
        return Interval(estimate, float("nan"), float("nan"), float("nan"), number, len(influence))
    low, high = max(estimate - half, bounds[0]), min(estimate + half, bounds[1])
    return Interval(estimate, low, high, float(spread.standard_error), number, len(influence))


def _on_fishers_scale(r: float, influence: Floats, clusters: Codes, level: float) -> Interval:
    """Return an interval computed on Fisher's scale (artanh r), so that it is within -1 to 1 and valid for large r."""
    spread = _spread(influence, clusters)
    error, number = float(spread.standard_error), int(spread.clusters)
    if number < 2 or not abs(r) < 1 - 1e-12:
        return Interval(r, float("nan"), float("nan"), error, number, len(influence))
    half = float(spread.half_width(level)) / (1 - r**2)
    z = float(np.arctanh(r))
    return Interval(r, float(np.tanh(z - half)), float(np.tanh(z + half)), error, number, len(influence))
