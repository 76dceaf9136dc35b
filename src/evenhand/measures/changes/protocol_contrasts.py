"""Compare levels of the consistency protocol with boundaries, with prompts and nonsense wordings as random samples.

Nonsense wordings are a sample of infinitely many, as prompts are. A result for the sampled ones need not hold for
others. The variance of a mean over both is therefore the full variance due to prompts plus that due to wordings.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import nctdtr, stdtr, stdtrit

from evenhand.schema import DataError
from evenhand.stats import POWER, Flags, Floats

LEVEL = 0.95
"""Coverage of the intervals: the error is 2.5% on each side of each boundary."""
MOSTLY_ALIKE = 0.5
"""If at least this share of prompts did not change, the other prompts say too little about rare changes."""
_ROUNDS = 60
_FILLINGS = 30
_MOST_PROMPTS = 100_000
_PROMPTS = np.unique(np.round(20 * 1.1 ** np.arange(90)).astype(np.int64))
_WORDINGS = (5, 8, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200)
_OTHER_LEVELS = 4
"""Number of levels that are run once per prompt, whatever the number of nonsense wordings: default, original, opposite,
blank.
"""


@dataclass(frozen=True)
class Spread:
    """Variance components of single cells (one prompt under one wording), in squared percentage points."""

    prompts: float
    wordings: float
    residual: float
    drawn: int
    """Number of sampled wordings. If it is 1, results hold for this wording only, and ``wordings`` is 0."""
    largest: float = 0.0
    """Change of one prompt, in percentage points, if most prompts do not change at all; otherwise 0."""


@dataclass(frozen=True)
class Contrast:
    """A mean over prompts and wordings, in percentage points, with a 95% CI.

    Attributes
    ----------
    estimate, low, high : float
        Mean and its confidence interval. The interval is NaN with fewer than two prompts.
    variance, freedom : float
        Squared standard error of the mean, and degrees of freedom of its t distribution.
    n_prompts, n_wordings : int
        Numbers of prompts and wordings.
    spread : Spread
        Variance components, for planning.
    """

    estimate: float
    low: float
    high: float
    variance: float
    freedom: float
    n_prompts: int
    n_wordings: int
    spread: Spread

    @property
    def p(self) -> float:
        """Return the two-sided p-value of a mean of 0. It is at most 0.05 exactly if the 95% CI excludes 0."""
        half = (self.high - self.low) / 2
        if not half > 0:
            return float("nan") if np.isnan(half) else float(self.estimate == 0)
        t = abs(self.estimate) * float(stdtrit(self.freedom, 0.5 + LEVEL / 2)) / half
        return float(2 * stdtr(self.freedom, -t))


@dataclass(frozen=True)
class Share:
    """Effect of a wording divided by the effect of the original wording, with a 95% CI.

    The bounds are None if the original's effect is too small to divide by.
    """

    estimate: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Advice:
    """Sample size with which a test of the consistency protocol would be decided in 80% of runs.

    Attributes
    ----------
    prompts : int
        Number of prompts.
    wordings : int or None
        Number of nonsense wordings. None if only one wording is used, so that their number does not matter.
    more_prompts : bool
        True if more prompts are enough. False if more wordings are needed too.
    near : bool
        True if the sample would be enough for clear-cut effects. The advice is then for the observed effect, which is
        nearer to the boundary.
    """

    prompts: int
    wordings: int | None = None
    more_prompts: bool = True
    near: bool = False


def sampled_contrast(cells: npt.ArrayLike, *, possible: float = 100.0) -> Contrast:
    """Return the mean of a table of prompts by wordings, with a 95% CI that generalises to similar prompts and
    wordings.

    Parameters
    ----------
    cells : array_like, shape (prompts, wordings) or (prompts,)
        Numbers in percentage points. NaN is missing and replaced by prompt effect plus wording effect. With a single
        column, results hold for that wording only.
    possible : float, default 100
        Largest possible change of one prompt, in percentage points.

    Returns
    -------
    Contrast
        The mean, its CI and its variance components.

    Notes
    -----
    The variance is s²(prompt means)/n + s²(wording means)/K, with Satterthwaite's degrees of freedom (1946). The
    interaction that both terms contain is not subtracted, because intervals would then be too short if wordings hardly
    differ. If most prompts did not change, the interval is widened: unchanged prompts may hide rare changes
    (Clopper-Pearson at 0). Coverage was checked in simulations.

    >>> of = sampled_contrast([[1.0, 2.0], [2.0, 3.0], [0.0, 1.0]])
    >>> of.estimate, round(of.variance, 4), round(of.freedom, 2)
    (1.5, 0.5833, 2.88)
    """
    table = np.asarray(cells, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    known = ~np.isnan(table)
    table = completed(table[known.any(axis=1)][:, known.any(axis=0)])
    n, k = table.shape if table.size else (0, 0)
    nan = float("nan")
    if n < 2:
        estimate = float(table.mean()) if table.size else nan
        return Contrast(estimate, nan, nan, nan, nan, n, k, Spread(nan, nan, nan, k))
    of_prompts, of_wordings = table.mean(axis=1), table.mean(axis=0)
    between = float(of_prompts.var(ddof=1)) / n
    across = float(of_wordings.var(ddof=1)) / k if k > 1 else 0.0
    variance, freedom = _variance(between, across, n, k)
    estimate = float(table.mean())
    half = float(stdtrit(freedom, 0.5 + LEVEL / 2)) * float(variance) ** 0.5
    largest = _largest(of_prompts, possible)
    half = max(half, largest * float(_hidden(n)))
    return Contrast(
        estimate,
        estimate - half,
        estimate + half,
        float(variance),
        float(freedom),
        n,
        k,
        _spread(table, largest),
    )


def completed(table: Floats) -> Floats:
    """Return the cells with missing ones replaced by fitted prompt + wording effects.

    >>> completed(np.array([[1.0, 2.0], [3.0, np.nan], [0.0, 1.0]])).round(3).tolist()
    [[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]]
    """
    absent = np.isnan(table)
    if not absent.any():
        return table
    filled = np.where(absent, np.nanmean(table), table)
    for _ in range(_FILLINGS):
        fitted = filled.mean(axis=1, keepdims=True) + filled.mean(axis=0) - filled.mean()
        filled = np.where(absent, fitted, table)
    return np.asarray(filled)


def share_of_effect(
    moved: npt.ArrayLike, effect: npt.ArrayLike, *, boundary: float
) -> tuple[Contrast, Share]:
    """Compare the effect of a wording with a share of the original wording's effect.

    Parameters
    ----------
    moved : array_like, shape (prompts, wordings) or (prompts,)
        Effect of the wording: default minus this wording, in percentage points.
    effect : array_like, shape (prompts,)
        Effect of the original wording: default minus original, in percentage points.
    boundary : float
        The share b of the original's effect that is tested.

    Returns
    -------
    contrast : Contrast
        Mean of moved - b * effect, in percentage points, with a 95% CI.
    share : Share
        Mean of `moved` divided by the mean of `effect`, with Fieller's 95% CI. It excludes `boundary` exactly if the
        interval of `contrast` excludes 0.

    Raises
    ------
    DataError
        The numbers of prompts differ.

    References
    ----------
    - Fieller 1954: interval of a ratio.

    >>> contrast, share = share_of_effect([[0.0], [8.0], [5.0], [4.0]], [20.0, 22.0, 18.0, 21.0], boundary=0.5)
    >>> contrast.high < 0, round(share.estimate, 3), share.high < 0.5
    (True, 0.21, True)
    """
    taken, whole = np.asarray(moved, dtype=np.float64), np.asarray(effect, dtype=np.float64)
    taken = taken[:, None] if taken.ndim == 1 else taken
    if whole.shape != taken.shape[:1]:
        raise DataError(
            f"share_of_effect: moved has {taken.shape[0]} prompts, but effect has the shape {whole.shape}.",
            "Give one effect for each prompt of moved.",
        )
    known = ~np.isnan(taken)
    rows = known.any(axis=1) & ~np.isnan(whole)
    table, whole = completed(taken[rows][:, known[rows].any(axis=0)]), whole[rows]
    possible = 100.0 * max(1.0, 1 + abs(boundary) if boundary < 0 else 1.0)
    contrast = sampled_contrast(table - boundary * whole[:, None], possible=possible)
    if len(whole) < 2 or not whole.mean():
        return contrast, Share(float("nan"), None, None)
    estimate = float(table.mean() / whole.mean())
    limits = _fieller(table, whole, estimate)
    if limits is None:
        return contrast, Share(estimate, None, None)
    largest = _largest((table - estimate * whole[:, None]).mean(axis=1), 100.0)
    reach = largest * float(_hidden(len(whole))) / abs(float(whole.mean()))
    low, high = min(limits[0], estimate - reach), max(limits[1], estimate + reach)
    # both intervals must agree at the boundary, although their minimum widths differ slightly
    if contrast.low <= 0 <= contrast.high:
        low, high = min(low, boundary), max(high, boundary)
    elif estimate < boundary:
        high = min(high, float(np.nextafter(boundary, -np.inf)))
    else:
        low = max(low, float(np.nextafter(boundary, np.inf)))
    return contrast, Share(estimate, low, high)


def advise(spread: Spread, distance: float) -> Advice | None:
    """Return the cheapest numbers of prompts and wordings that would decide a test, or None.

    Parameters
    ----------
    spread : Spread
        Observed variance components.
    distance : float
        Distance of the true value from the boundary, in percentage points.

    Returns
    -------
    Advice or None
        The sample size with the fewest continuations and 80% power (noncentral t, with the variance of
        `sampled_contrast`). None if 100,000 prompts and 200 wordings are not enough.

    >>> advise(Spread(2500.0, 0.0, 0.0, 1), 10.0)
    Advice(prompts=217, wordings=None, more_prompts=True, near=False)
    >>> advise(Spread(900.0, 100.0, 200.0, 5), 6.0).more_prompts
    False
    """
    if not distance > 0 or not np.isfinite([spread.prompts, spread.wordings, spread.residual]).all():
        return None
    prompts = _PROMPTS[_PROMPTS <= _MOST_PROMPTS].astype(np.float64)
    wordings = np.unique([spread.drawn, *_WORDINGS]) if spread.drawn > 1 else np.ones(1, dtype=np.int64)
    n, k = np.meshgrid(prompts, wordings.astype(np.float64), indexing="ij")
    enough = _decides(spread, distance, n, k)
    if not enough.any():
        return None
    cost = np.where(enough, n * (k + _OTHER_LEVELS), np.inf)
    best, column = np.unravel_index(int(np.argmin(cost)), cost.shape)
    here = int(np.flatnonzero(wordings == spread.drawn)[0])
    return Advice(
        int(prompts[best]),
        int(wordings[column]) if spread.drawn > 1 else None,
        bool(enough[:, here].any()),
    )


def decides(contrast: Contrast, distance: float) -> bool:
    """Return True if the current sample decides a true value at this distance from the boundary with 80% power.

    >>> decides(sampled_contrast([[1.0, 2.0], [2.0, 3.0], [0.0, 1.0]]), 10.0)
    True
    """
    if contrast.n_prompts < 2 or not distance > 0:
        return False
    here = _decides(
        contrast.spread, distance, np.array([contrast.n_prompts]), np.array([contrast.n_wordings])
    )
    return bool(here[0])


def _decides(spread: Spread, distance: float, n: npt.ArrayLike, k: npt.ArrayLike) -> Flags:
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    between = spread.prompts / n + spread.residual / (n * k)
    across = np.where(k > 1, spread.wordings / k + spread.residual / (n * k), 0.0)
    variance, freedom = _variance(between, across, n, k)
    error = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    critical = stdtrit(freedom, 0.5 + LEVEL / 2)
    # for larger distances, the noncentral t is 1 up to rounding, and its series is slow
    shift = np.minimum(distance / error, 30.0)
    found = 1 - nctdtr(freedom, shift, critical) >= POWER
    return np.asarray(found & (distance > spread.largest * _hidden(n)))


def _variance(
    between: npt.ArrayLike, across: npt.ArrayLike, n: npt.ArrayLike, k: npt.ArrayLike
) -> tuple[Floats, Floats]:
    first, second = np.asarray(between, dtype=np.float64), np.asarray(across, dtype=np.float64)
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    variance = first + second
    parts = first**2 / (n - 1) + second**2 / np.maximum(k - 1, 1)
    freedom = np.divide(variance**2, parts, out=np.asarray(n - 1 + 0 * variance), where=parts > 0)
    return variance, freedom


def _largest(of_prompts: Floats, possible: float) -> float:
    """Return the assumed change of one prompt if most prompts did not change or all changed alike; otherwise 0."""
    moving = of_prompts != 0
    if moving.mean() > 1 - MOSTLY_ALIKE and np.ptp(of_prompts) > 0:
        return 0.0
    return float(np.abs(of_prompts).max()) if moving.any() else possible


def _hidden(n: npt.ArrayLike) -> Floats:
    """Return the share of prompts that may change although none of n did (Clopper-Pearson at 0)."""
    return np.asarray(1 - ((1 - LEVEL) / 2) ** (1 / np.asarray(n, dtype=np.float64)))


def _spread(table: Floats, largest: float) -> Spread:
    n, k = table.shape
    of_prompts, of_wordings = table.mean(axis=1), table.mean(axis=0)
    if k < 2:
        return Spread(float(of_prompts.var(ddof=1)), 0.0, 0.0, 1, largest)
    rest = table - of_prompts[:, None] - of_wordings + table.mean()
    residual = float(np.sum(rest**2) / ((n - 1) * (k - 1)))
    prompts = max(0.0, float(of_prompts.var(ddof=1)) - residual / k)
    wordings = max(0.0, float(of_wordings.var(ddof=1)) - residual / n)
    return Spread(prompts, wordings, residual, k, largest)


def _fieller(table: Floats, effect: Floats, estimate: float) -> tuple[float, float] | None:
    """Return the bounds of the ratio; None if the effect is not significant, so that they do not form an interval."""
    n, k = table.shape
    of_prompts, upper = table.mean(axis=1), 0.5 + LEVEL / 2
    across = float(table.mean(axis=0).var(ddof=1)) / k if k > 1 else 0.0
    error = float(effect.var(ddof=1) / n) ** 0.5
    if abs(float(effect.mean())) <= float(stdtrit(n - 1, upper)) * error:
        return None

    def beyond(ratio: float) -> bool:
        between = float((of_prompts - ratio * effect).var(ddof=1)) / n
        variance, freedom = _variance(between, across, n, k)
        reach = float(stdtrit(freedom, upper)) * float(variance) ** 0.5
        return bool(abs(float(of_prompts.mean()) - ratio * float(effect.mean())) > reach)

    sides = [_crossing(beyond, estimate, direction) for direction in (-1.0, 1.0)]
    if any(side is None for side in sides):
        return None
    return float(sides[0] or 0.0), float(sides[1] or 0.0)


def _crossing(beyond: Callable[[float], bool], start: float, direction: float) -> float | None:
    inside, step = start, 0.05
    for _ in range(_ROUNDS):
        if beyond(start + direction * step):
            break
        inside, step = start + direction * step, 2 * step
    else:
        return None
    outside = start + direction * step
    for _ in range(_ROUNDS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if beyond(middle) else (middle, outside)
    return outside
