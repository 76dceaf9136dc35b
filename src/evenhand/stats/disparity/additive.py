"""Test which cells of a table of two group columns depart from additive log-odds.

A cell that departs also shifts the fit of its neighbours. Reporting all significant cells at once would therefore
report cells without a departure. Here, the most extreme cell is reported first and gets its own parameter. The other
cells are then tested again.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtri

from evenhand.stats.arrays import Codes, Flags, Floats
from evenhand.stats.disparity.units import Units
from evenhand.stats.power import POWER

_FIRST, _MOST, _ENOUGH = 199, 4_999, 20
_VALUES = 30_000_000
_CHUNK = 4_000_000
_LEVEL = 0.05
_STEPS, _RIDGE = 60, 1e-6


@dataclass(frozen=True)
class Departures:
    """Departures of cells (pairs of groups from two columns) from additive log-odds. Result of `departures`.

    All arrays have the shape (cells,).

    Attributes
    ----------
    expected : numpy.ndarray
        Rate that the other cells predict. NaN if it cannot be predicted.
    excess, low, high, p : numpy.ndarray
        Rate minus ``expected``, with 95% CI and p. p and CI of the cells that do not depart significantly are
        simultaneous (valid for all of these cells together).
    named : numpy.ndarray of bool
        True for cells that depart significantly. They are tested in steps, each against a fit in which the cells found
        before have their own parameters.
    smallest : numpy.ndarray
        True excess that is detected with 80% power.
    mirror : numpy.ndarray of int
        Another cell that necessarily departs by the same amount in the other direction; -1 if there is none. ``named``
        is False for both, because the data cannot show which of the two differs.
    axis_p, axis_low, axis_high : float
        p of "no cell departs", and the CI of the cell that departs most (``most``).
    """

    expected: Floats
    excess: Floats
    low: Floats
    high: Floats
    p: Floats
    named: Flags
    smallest: Floats
    mirror: Codes
    axis_p: float
    axis_low: float
    axis_high: float
    most: int


def departures(
    units: Units, rows: Codes, columns: Codes, *, level: float = 0.05, family: float = 1.0, seed: int = 0
) -> Departures | None:
    """Test for each cell whether its rate departs from additive log-odds of row and column, by permuting units between
    cells.

    A cell is a pair of groups from two columns, such as gender and religion.

    Parameters
    ----------
    units : Units
        Values between 0 and 1. Their groups are the cells, each with at least one unit.
    rows, columns : numpy.ndarray of int, shape (cells,)
        Codes of the two groups of each cell, from 0.
    level : float
        Significance level of the whole table, for the minimum detectable departures.
    family : float
        Number of tables that share one test. p is multiplied by it.
    seed : int
        Random seed.

    Returns
    -------
    Departures or None
        None if no cell can be compared with others, or nothing varies.

    References
    ----------
    - Freedman & Lane 1983: permuted residuals of a fit. Simulated for this use.

    Examples
    --------
    >>> x = np.random.default_rng(0).binomial(1, np.repeat([0.2, 0.2, 0.2, 0.2, 0.2, 0.7], 80)).astype(float)
    >>> found = departures(Units.from_arrays(x, np.repeat(np.arange(6), 80)), np.array([0, 0, 0, 1, 1, 1]),
    ...                    np.array([0, 1, 2, 0, 1, 2]))
    >>> found.most, found.axis_p < 0.01
    (5, True)
    """
    count = units.n_groups
    own = np.zeros(count, dtype=bool)
    design = _design(rows, columns)
    columns_of = {name: np.full(count, np.nan) for name in ("expected", "excess", "low", "high", "p")}
    generator = np.random.default_rng(seed)
    first: dict[str, float | int] = {}
    smallest, mirror = np.full(count, np.nan), np.full(count, -1)
    while True:
        fit = _Fit.fit_model(units, np.concatenate([design, np.eye(count)[:, own]], axis=1))
        if fit is None or not fit.free.any():
            break
        drawn = fit.deals(units, generator)
        largest, size = drawn[:, fit.free].max(axis=1), np.abs(fit.z)
        worst = int(np.argmax(np.where(fit.free, size, -1.0)))
        together = _share(largest, size[worst])
        if not own.any():
            p = min(1.0, together * family)
            width = _quantile(largest, _LEVEL / family, int(fit.free.sum()))
            width = _agreeing(width, size[worst], p)
            excess, half = fit.excess[worst], width * fit.error[worst]
            first = {"axis_p": p, "axis_low": excess - half, "axis_high": excess + half, "most": worst}
            smallest = fit.smallest(_quantile(largest, level, int(fit.free.sum())))
            mirror = fit.mirrors()
        members = np.arange(count) == worst
        if together <= _LEVEL:
            if mirror[worst] >= 0:
                members = (members | (mirror == worst) | (mirror == mirror[worst])) & fit.free
            p_of = np.full(int(members.sum()), _share(drawn[:, worst], size[worst]))
            width = _agreeing(_quantile(drawn[:, worst], _LEVEL, 1), size[worst], 0.0)
        else:
            members = fit.free & ~own
            p_of = np.array([_share(largest, size[place]) for place in np.flatnonzero(members)])
            width = _agreeing(_quantile(largest, _LEVEL, int(fit.free.sum())), size[worst], 1.0)
        parts = (
            fit.means - fit.excess,
            fit.excess,
            fit.excess - width * fit.error,
            fit.excess + width * fit.error,
        )
        for name, part in zip(("expected", "excess", "low", "high"), parts, strict=True):
            columns_of[name][members] = part[members]
        columns_of["p"][members] = p_of
        if together > _LEVEL:
            break
        own[worst] = True
    if not first:
        return None
    told = own & (mirror < 0)
    return Departures(**columns_of, named=told, smallest=smallest, mirror=mirror, **first)  # type: ignore[arg-type]


def _design(rows: Codes, columns: Codes) -> Floats:
    by_row = (rows[:, None] == np.arange(rows.max() + 1)).astype(np.float64)
    by_column = (columns[:, None] == np.arange(1, columns.max() + 1)).astype(np.float64)
    return np.concatenate([by_row, by_column], axis=1)


def _share(drawn: Floats, observed: float) -> float:
    return float((1 + np.count_nonzero(drawn >= observed - 1e-9)) / (1 + len(drawn)))


def _quantile(drawn: Floats, level: float, cells: int) -> float:
    """Return the |z| that is exceeded with probability `level`, from permuted values `drawn`.

    A quantile that fewer than 20 permuted values exceed is imprecise. It is extrapolated from the one that 20 exceed,
    by the ratio of normal quantiles for the largest of `cells` values.
    """
    seen = max(level, min(_ENOUGH / len(drawn), 0.5))
    there = float(np.quantile(drawn, 1 - seen, method="higher"))
    return there * float(ndtri(level / (2 * cells)) / ndtri(seen / (2 * cells)))


def _agreeing(width: float, size: float, p: float) -> float:
    """Return the half-width of an interval around |z| = `size`, adjusted so that it excludes 0 exactly if p <= 0.05."""
    return min(width, 0.999 * size) if p <= _LEVEL else max(width, 1.001 * size)


@dataclass(frozen=True)
class _Fit:
    """Weighted fit of the additive model; arrays of shape (cells,).

    Attributes
    ----------
    means, rate, sizes : numpy.ndarray
        Observed means, fitted rates and numbers of units.
    stays : numpy.ndarray, shape (cells, cells)
        Residual maker of the weighted fit: the part of the noise of each cell (column) in each residual (row).
    free : numpy.ndarray of bool
        False for cells that the model always fits.
    excess, error, z : numpy.ndarray
        Rate minus the rate that the other cells predict, its standard error, and their ratio.
    phi : float
        Variance of a unit divided by that of one Bernoulli trial.
    """

    means: Floats
    rate: Floats
    sizes: Floats
    stays: Floats
    free: Flags
    excess: Floats
    error: Floats
    z: Floats
    phi: float

    @classmethod
    def fit_model(cls, units: Units, design: Floats) -> "_Fit | None":
        sizes, means = units.sizes.astype(np.float64), units.group_means(units.values)
        rate = _rates(means, sizes, design)
        variance = np.maximum(rate * (1 - rate), 1e-9)
        stays = _stays(variance, sizes, design)
        kept = np.diag(stays)
        free = kept > 0.02
        squares = np.bincount(units.groups, weights=np.square(units.values - means[units.groups]))
        freedom = float(sizes.sum() - len(sizes))
        phi = float((squares / variance).sum()) / freedom if freedom > 0 else 0.0
        if phi <= 1e-9:
            return None
        noise = np.sqrt(phi * (np.square(stays) @ (variance / sizes)))
        share = np.where(free, kept, 1.0)
        residual = np.where(free, means - rate, 0.0)
        z = residual / np.maximum(noise, 1e-12)
        return cls(
            means, rate, sizes, stays, free, residual / share, noise / share, np.where(free, z, 0.0), phi
        )

    def deals(self, units: Units, generator: np.random.Generator) -> Floats:
        """Return |z| of every cell after permutations of the standardised residuals (permutations, cells)."""
        variance = np.maximum(self.rate * (1 - self.rate), 1e-9)
        wider = np.sqrt(self.sizes / np.maximum(self.sizes - 1, 1) / variance)
        left = (units.values - self.means[units.groups]) * wider[units.groups]
        total = float(np.square(left).sum())
        starts = (np.cumsum(self.sizes) - self.sizes).astype(np.intp)
        noise = np.sqrt(np.square(self.stays) @ (variance / self.sizes))
        most = int(np.clip(_VALUES // len(left), 2 * _FIRST, _MOST))
        observed, parts, made = float(np.abs(self.z[self.free]).max()), [], 0
        for target in (_FIRST, most):
            while made < target:
                step = min(target - made, max(_CHUNK // len(left), 1))
                dealt = generator.permuted(np.broadcast_to(left, (step, len(left))), axis=1)
                means = np.add.reduceat(dealt, starts, axis=1) / self.sizes
                within = (total - np.square(means) @ self.sizes) / (len(left) - len(self.sizes))
                residual = (means * np.sqrt(variance)) @ self.stays.T
                z = np.abs(residual) / np.maximum(np.sqrt(np.maximum(within, 0.0))[:, None] * noise, 1e-12)
                parts.append(np.where(self.free, z, 0.0))
                made += step
            drawn = np.concatenate(parts)
            if np.count_nonzero(drawn.max(axis=1) >= observed - 1e-9) >= _ENOUGH:
                break
        return drawn

    def mirrors(self) -> Codes:
        """Return for each cell another cell whose residual is proportional to its own (cells,); -1 if there is none."""
        variance = np.maximum(self.rate * (1 - self.rate), 1e-9) / self.sizes
        shared = (self.stays * variance) @ self.stays.T
        scale = np.sqrt(np.maximum(np.diag(shared), 1e-300))
        same = np.abs(shared / scale[:, None] / scale[None, :]) > 1 - 1e-6
        same &= self.free[:, None] & self.free[None, :] & ~np.eye(len(scale), dtype=bool)
        return np.where(same.any(axis=1), same.argmax(axis=1), -1)

    def smallest(self, reach: float) -> Floats:
        """Return the true excess of each cell that is detected with 80% power if |z| must exceed `reach`."""
        expected = np.clip(self.means - self.excess, 1e-9, 1.0)  # without the cell's own effect on the fit
        found = _smallest(expected, self.sizes, self.stays, self.phi, reach)
        return np.where(self.free, found, np.nan)


def _stays(variance: Floats, sizes: Floats, design: Floats) -> Floats:
    root = np.sqrt(sizes * variance)[:, None] * design
    hat = root @ np.linalg.solve(root.T @ root + _RIDGE * np.eye(design.shape[1]), root.T)
    scale = np.sqrt(variance / sizes)
    return np.asarray(np.eye(len(variance)) - scale[:, None] * hat / scale[None, :])


def _smallest(rate: Floats, sizes: Floats, stays: Floats, phi: float, reach: float) -> Floats:
    low, high, kept = np.zeros(len(rate)), 1 - rate, np.diag(stays)
    others = np.square(stays) @ (rate * (1 - rate) / sizes) - np.square(kept) * rate * (1 - rate) / sizes

    def short(d: Floats) -> Floats:
        there, fitted = np.minimum(rate + d, 1.0), np.minimum(rate + (1 - kept) * d, 1.0)
        mine, believed = (np.square(kept) * r * (1 - r) / sizes for r in (there, fitted))
        needed = reach * np.sqrt(others + believed) + ndtri(POWER) * np.sqrt(others + mine)
        return np.asarray(kept * d - np.sqrt(phi) * needed)

    possible = short(high) > 0
    for _ in range(40):
        middle = (low + high) / 2
        enough = short(middle) > 0
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(possible, high, np.nan)


def planned_excess(
    sizes: Floats, rows: Codes, columns: Codes, *, rate: float, phi: float = 1.0, level: float = 0.05
) -> Floats:
    """Return the true excess of each cell that a planned audit detects with 80% power.

    Parameters
    ----------
    sizes : numpy.ndarray, shape (cells,)
        Number of sampling units (such as prompts) of each cell.
    rows, columns : numpy.ndarray of int, shape (cells,)
        Codes of the two groups of each cell.
    rate : float
        Rate that is assumed for all cells.
    phi : float
        Variance of a unit divided by that of one Bernoulli trial.
    level : float
        Significance level of the whole table.

    Returns
    -------
    numpy.ndarray, shape (cells,)
        Differences of rates; NaN if none is detectable.

    >>> planned_excess(np.full(9, 200.0), np.repeat([0, 1, 2], 3), np.tile([0, 1, 2], 3), rate=0.15).round(2)[0].item()
    0.15
    """
    assumed = np.full(len(sizes), rate)
    stays = _stays(assumed * (1 - assumed), sizes, _design(rows, columns))
    reach = float(-ndtri(level / (2 * len(sizes))))
    return np.where(np.diag(stays) > 0.02, _smallest(assumed, sizes, stays, phi, reach), np.nan)


def _rates(means: Floats, sizes: Floats, design: Floats) -> Floats:
    """Return rates fitted by iteratively reweighted least squares, with step halving."""
    total = (means * sizes).sum() + 0.5
    common = np.log(total / (sizes.sum() + 1.0 - total))
    weights = np.linalg.lstsq(design, np.full(len(means), common), rcond=None)[0]

    def objective(candidate: Floats) -> float:
        linear = design @ candidate
        fit = sizes * (means * linear - np.logaddexp(0, linear))
        return float(fit.sum() - _RIDGE / 2 * np.square(candidate).sum())

    reached = objective(weights)
    for _ in range(_STEPS):
        rate = expit(design @ weights)
        slope = design.T @ (sizes * (means - rate)) - _RIDGE * weights
        information = (design.T * (sizes * rate * (1 - rate))) @ design + _RIDGE * np.eye(design.shape[1])
        step = np.linalg.solve(information, slope)
        size = 1.0
        while size > 1e-4 and objective(weights + size * step) < reached:
            size /= 2
        weights = weights + size * step
        now = objective(weights)
        if now - reached < 1e-10 and np.abs(step).max() < 1e-6:
            break
        reached = max(now, reached)
    return np.asarray(expit(design @ weights))
