"""Test the interaction of two group columns: does the effect of one column depend on the other, and in which cells?

`perf/interactions.py` simulates size, power and coverage (docs/evidence/own_answers.md). No resampling is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.special import fdtrc, ndtr, stdtr, stdtrit

from evenhand.stats.arrays import Codes, Flags, Floats
from evenhand.stats.interactions.results import CellDeparture, Gaps, PairTest
from evenhand.stats.interactions.variances import (
    MODEL_DF,
    find_noncentrality,
    make_residual_maker,
    moderate_variance,
)

LEAST_UNITS_IN_CELL = 2
"""Cells with fewer units are shown but not tested."""
LEAST_CROSSED_UNITS = 8
"""Smallest number of units in several cells for which the size of the test was simulated."""
POWER = 0.8
_POOLED_DF = 4.0  # weight (degrees of freedom) of the pooled variance in that of a cell
_PRIOR_UNITS = 3.0  # weight, in units, of a dispersion of 1 in the pooled dispersion
_LEAST_FREEDOM = 0.02  # a cell whose residual keeps less of its own deviation cannot depart from the model


@dataclass(frozen=True)
class _Fit:
    """Additive fit: residual maker (cells, cells), cells that can depart, and variance of one unit in each cell.

    ``variance`` uses the fitted rates, ``cell_variance`` the observed ones.
    """

    residual_maker: Floats
    free: Flags
    variance: Floats
    cell_variance: Floats


class PairTable:
    """A table of the means of two group columns, with a test of their interaction.

    Use it to see whether a gap between groups (such as gender) depends on another column (such as religion). Call
    `obstacle` and `test` first, then `named_cells` or `gaps` for details. A cell is a combination of two groups.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
        Outcomes, one per response: 0 or 1 (possibly adjusted by `remove_other_effects`), or numbers.
    first, second : numpy.ndarray of int, shape (n,)
        Group of each response in the two columns, as codes.
    unit : numpy.ndarray of int, shape (n,)
        Code of the independent unit that was sampled, such as a person, prompt or question. Responses of a unit in the
        same cell are averaged first.
    is_rate : bool
        Whether the outcomes are 0 or 1, so that their variance follows from the rate.

    Attributes
    ----------
    cells : numpy.ndarray of int, shape (c, 2)
        Codes (first, second) of the cells with at least two units. Other cells are left out of the table.
    means, n_units : numpy.ndarray, shape (c,)
        Mean of each cell over its units, in the unit of `values`, and number of units in each cell.
    n_sampled, nested : int, bool
        Number of different units in all cells together, and whether each of them is in one cell only.

    Notes
    -----
    Without an interaction, the mean of a cell is a constant plus an effect of each column. The scale is that of
    `values` (differences of rates, not odds). A departure is the mean of a cell minus the mean that the other cells
    predict under this additive model. Standard errors account for units in several cells. Rates have the quasi-binomial
    variance (McCullagh & Nelder 1989, section 4.5). Variances are moderated towards their pool (Smyth 2004). Degrees of
    freedom have Greenhouse and Geisser's correction (1959).
    """

    def __init__(self, values: Floats, first: Codes, second: Codes, unit: Codes, *, is_rate: bool) -> None:
        cells, place = np.unique(np.column_stack([first, second]), axis=0, return_inverse=True)
        entries, inverse, count = np.unique(
            np.unique(unit, return_inverse=True)[1] * len(cells) + place.ravel(),
            return_inverse=True,
            return_counts=True,
        )
        unit_means = np.bincount(inverse, values) / count
        member, cell = np.divmod(entries, max(len(cells), 1))
        large = np.bincount(cell, minlength=len(cells)) >= LEAST_UNITS_IN_CELL
        kept = large[cell]
        cell, unit_means = (np.cumsum(large) - 1)[cell[kept]], unit_means[kept]
        member = np.unique(member[kept], return_inverse=True)[1]
        self.is_rate = is_rate
        self.cells = cells[large]
        self.n_units = np.bincount(cell, minlength=len(self.cells)).astype(float)
        self.means = np.bincount(cell, unit_means, len(self.cells)) / self.n_units
        self.n_sampled = int(member.max(initial=-1)) + 1
        self.nested = self.n_sampled == len(cell)
        self._most_responses = int(count[kept].max(initial=1))
        scores = unit_means - self.means[cell]
        self._squares = np.bincount(cell, scores**2, len(self.cells))
        shape = (self.n_sampled, len(self.cells))
        scale = np.sqrt(self.n_units / np.maximum(self.n_units - 1, 1)) / self.n_units
        products = csr_array((scores, (member, cell)), shape=shape)
        self._covariance: Floats = (products.T @ products).toarray() * np.outer(scale, scale)
        members = csr_array((np.ones(len(cell)), (member, cell)), shape=shape)
        self._shared_units: Floats = (members.T @ members).toarray()
        codes = [np.unique(self.cells[:, column], return_inverse=True)[1] for column in (0, 1)]
        dummies = [np.eye(int(code.max(initial=-1)) + 1)[code] for code in codes]
        self._design = np.concatenate([dummies[0], dummies[1][:, 1:]], axis=1)
        self._rank = int(np.linalg.matrix_rank(self._design)) if len(self.cells) else 0

    @cached_property
    def _fit(self) -> _Fit:
        return self._additive_fit(())

    def _spare_df(self) -> float:
        return float(self.n_units.sum() - len(self.n_units))

    def _additive_fit(self, own: Sequence[int]) -> _Fit:
        """Return the additive fit; each cell in `own` has its own parameter."""
        units, squares = self.n_units, self._squares
        design = np.column_stack([self._design, np.eye(len(units))[:, list(own)]])
        residual_maker = make_residual_maker(design, units)
        free: Flags = np.diag(residual_maker) > _LEAST_FREEDOM
        spare = self._spare_df()
        if not self.is_rate:
            pooled = squares.sum() / max(spare, 1)
            variance = (squares + _POOLED_DF * pooled) / (units - 1 + _POOLED_DF)
            return _Fit(residual_maker, free, variance, variance)
        least = 0.5 / (units + 1)
        fitted = np.clip(self.means - residual_maker @ self.means, least, 1 - least)
        smoothed = np.clip((self.means * units + 0.5) / (units + 1), least, 1 - least)
        dispersion = np.ones(len(units))
        if self._most_responses > 1 and spare > 0:
            bernoulli, floor = fitted * (1 - fitted), 1 / self._most_responses
            pooled = np.clip(squares.sum() / ((units - 1) * bernoulli).sum(), floor, 1)
            pooled = (spare * pooled + _PRIOR_UNITS) / (spare + _PRIOR_UNITS)
            cellwise = np.clip(squares / np.maximum(units - 1, 1) / bernoulli, floor, 1)
            dispersion = ((units - 1) * cellwise + _POOLED_DF * pooled) / (units - 1 + _POOLED_DF)
        variance = dispersion * fitted * (1 - fitted)
        return _Fit(residual_maker, free, variance, dispersion * smoothed * (1 - smoothed))

    def contrasts(
        self, weights: Floats, fit: _Fit | None = None, *, refuted: bool = False
    ) -> tuple[Floats, Floats, Floats]:
        """Return estimates, standard errors and degrees of freedom of contrasts of the cell means, each (m,).

        `weights` (m, c) has one contrast per row. `fit` is the fit that gives the variances (default: the additive
        model). With `refuted`, the additive model was rejected, so each cell's own rate gives its variance.
        """
        fit = fit or self._fit
        variance = fit.cell_variance if refuted else fit.variance
        units = self.n_units
        own = np.einsum("lc,cd,ld->l", weights, self._covariance, weights)
        model = weights**2 @ (variance / units)
        if self.nested:
            parts = weights**2 * variance / units
            own_df = parts.sum(axis=1) ** 2 / np.maximum(
                (parts**2 / np.maximum(units - 1, 1)).sum(axis=1), 1e-30
            )
            most_df = self._spare_df()
        else:
            parts = weights**2 * variance / units**2  # (m, c): variance from each unit of a cell
            harmonic = len(units) / (1 / units).sum()
            squared = np.einsum("lc,cd,ld->l", parts, self._shared_units, parts)
            own_df = (parts @ units) ** 2 / np.maximum(squared, 1e-30)
            own_df = own_df * (harmonic - 1) / harmonic
            # an effect of a unit that is the same in all of its cells cancels in an interaction
            residuals = fit.residual_maker[fit.free]
            cancelled = np.einsum("lc,cd,ld->l", residuals, self._covariance, residuals).sum()
            scale = cancelled / max(float((residuals**2 @ (variance / units)).sum()), 1e-30)
            model = model * np.clip(scale, 0.05, 20)
            most_df = self.n_sampled - 1
        rates = self.means if refuted else self.means - fit.residual_maker @ self.means
        events = self._count_events(rates, weights != 0) if self.is_rate else None
        squared_error = moderate_variance(own, own_df, model, events)
        return weights @ self.means, np.sqrt(squared_error), np.minimum(own_df + MODEL_DF, max(most_df, 1))

    def _count_events(self, rates: Floats, is_part: Flags) -> Floats:
        """Return the smallest expected number of events, or of non-events, of the cells that are part of a contrast."""
        events = self.n_units * np.clip(np.minimum(rates, 1 - rates), 0, 0.5)
        fewest: Floats = np.where(is_part, events, np.inf).min(axis=-1)
        return fewest

    def _departures(self, fit: _Fit) -> tuple[Floats, Floats, Floats, Floats, int]:
        """Return the departures of free cells: estimate, error, df, p (m,), and the number of distinct contrasts."""
        weights = fit.residual_maker[fit.free] / np.diag(fit.residual_maker)[fit.free, None]
        estimate, error, df = self.contrasts(weights, fit)
        ratio = np.abs(estimate / np.maximum(error, 1e-12))
        different = self._different_contrasts(fit)
        return estimate, error, df, 2 * stdtr(df, -ratio), different

    def _different_contrasts(self, fit: _Fit) -> int:
        """Return the number of distinct departures: mirror cells of a column with two groups share one."""
        rows = fit.residual_maker[fit.free]
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        same = np.abs(rows @ rows.T) > 1 - 1e-9
        return int((np.argmax(same, axis=1) == np.arange(len(rows))).sum())

    def obstacle(self) -> str | None:
        """Return the reason why the interaction cannot be tested, in a sentence, or None."""
        if not len(self.cells) or not self._fit.free.any():
            return "Too few combinations of the groups have two or more units to compare."
        if self._spare_df() <= 0:
            return "Each combination has only one unit. At least two are needed."
        if not self.nested and self.n_sampled < LEAST_CROSSED_UNITS:
            return (
                f"Units occur in several combinations, and there are only {self.n_sampled} of them. At least "
                f"{LEAST_CROSSED_UNITS} are needed."
            )
        if not self._squares.max() > 0 and not (self.is_rate and np.ptp(self.means) > 0):
            return "Nothing varies within the combinations, so the variance is unknown."
        return None

    def test(self) -> PairTest:
        """Test the hypothesis that the effects of both columns add up; p is two-sided.

        The test has two parts: the largest departure of a single cell (Bonferroni over distinct contrasts), and the
        sum over all cells (an F test). p is twice the smaller p of the two. If all cells share one contrast, p is that
        of the first part. With an obstacle, p is None.
        """
        obstacle = self.obstacle()
        if obstacle is not None:
            return PairTest(None, obstacle=obstacle)
        *_, p, different = self._departures(self._fit)
        cells = min(1.0, float(p.min()) * different)
        if different == 1:
            return PairTest(cells, cells)
        whole = self._overall()[0]
        return PairTest(min(1.0, 2 * min(cells, whole)), cells, whole)

    def _overall(self) -> tuple[float, float, float, float, float]:
        """Return p of the sum over cells, F, both degrees of freedom, and the mean square for which F is 1."""
        if self.nested:
            weights = self.n_units / self._fit.variance
            residuals = make_residual_maker(self._design, weights) @ self.means
            df = float(len(weights) - self._rank)
            ratio = float((residuals**2 * weights).sum() / df)
            spare = max(self._spare_df(), 1.0)
            return float(fdtrc(df, spare, ratio)), ratio, df, spare, df / float(weights.sum())
        maker = self._fit.residual_maker
        form = maker.T @ (self.n_units[:, None] * maker)
        product = form @ self._covariance
        trace = float(np.trace(product))
        if trace <= 0:
            return 1.0, 0.0, 1.0, 1.0, 0.0
        df = trace**2 / max(float(np.trace(product @ product)), 1e-300)
        spare = max(df * (self.n_sampled - 1), 1.0)
        ratio = float(self.means @ form @ self.means) / trace
        mean_square = trace / float(self.n_units.sum())
        return float(fdtrc(df, spare, ratio)), ratio, df, spare, mean_square

    def spread(self, alpha: float = 0.05) -> tuple[float, float, float]:
        """Return the root mean square departure from additivity over the cells, and its interval.

        These are (estimate, low, high) in the unit of `values`. The interval has the level 1 - alpha. Cells are
        weighted by their number of units (nested units: by their precision). The interval inverts the noncentral F
        distribution of the sum over cells (Steiger 2004, Beyond the F test).
        """
        _, ratio, df, spare, unit = self._overall()
        sizes = [find_noncentrality(ratio, df, spare, share) for share in (0.5, 1 - alpha / 2, alpha / 2)]
        estimate, low, high = (float(np.sqrt(size / df * unit)) for size in sizes)
        return estimate, low, high

    def largest_departure(self, alpha: float = 0.05) -> CellDeparture:
        """Return the departure with the smallest p; p and the 1 - alpha interval allow for all contrasts."""
        return self._largest(self._fit, alpha)

    def _largest(self, fit: _Fit, alpha: float) -> CellDeparture:
        estimate, error, df, p, different = self._departures(fit)
        place = int(np.argmax(np.abs(estimate) / np.maximum(error, 1e-12)))
        where = np.flatnonzero(fit.free)
        rows = fit.residual_maker / np.maximum(
            np.linalg.norm(fit.residual_maker, axis=1, keepdims=True), 1e-12
        )
        mirrored = [int(cell) for cell in where if abs(rows[cell] @ rows[where[place]]) > 1 - 1e-6]
        chosen = int(where[place])
        reach = float(-stdtrit(df[place], alpha / (2 * different)) * error[place])
        centre = float(estimate[place])
        cells = (chosen, *(cell for cell in mirrored if cell != chosen))
        return CellDeparture(
            cells, centre, centre - reach, centre + reach, min(1.0, float(p[place]) * different)
        )

    def named_cells(self, alpha: float = 0.05) -> list[CellDeparture]:
        """Return the cells that depart from additivity at level alpha, found one after the other.

        Each cell gets its own parameter in the model before the next is searched. Cells that mirror each other form a
        single departure, because the data cannot distinguish them.
        """
        own: list[int] = []
        named: list[CellDeparture] = []
        while True:
            fit = self._additive_fit(own)
            if not fit.free.any():
                return named
            found = self._largest(fit, alpha)
            if found.p > alpha:
                return named
            named.append(found)
            own.append(found.cells[0])

    def gaps(self, column: int, alpha: float = 0.05) -> Gaps:
        """Return the second group minus the first of a two-group column, within each level of the other column.

        `column` is 0 or 1; the group with the smaller code is the first. The intervals cover simultaneously
        (Bonferroni) at 1 - alpha. Levels in which one of the two groups has fewer than two units are left out.
        """
        groups = np.unique(self.cells[:, column])
        levels, rows = [], []
        # sparse cells are left out of the table, so fewer than two groups of the column may remain
        for level in np.unique(self.cells[:, 1 - column]) if len(groups) > 1 else ():
            inside = self.cells[:, 1 - column] == level
            at = [np.flatnonzero(inside & (self.cells[:, column] == group)) for group in groups[:2]]
            if all(len(place) for place in at):
                row = np.zeros(len(self.cells))
                row[at[1]], row[at[0]] = 1, -1
                levels.append(level)
                rows.append(row)
        if not rows:
            return Gaps(np.zeros(0, dtype=np.int64), *(np.zeros(0) for _ in range(3)))
        estimate, error, df = self.contrasts(np.array(rows), refuted=True)
        reach = -stdtrit(df, alpha / (2 * len(rows))) * error
        return Gaps(np.array(levels), estimate, estimate - reach, estimate + reach)

    def residuals_of(self, values: Floats) -> Floats:
        """Return the residuals of the additive fit to a value per cell, `values` (c, ...), in the same shape."""
        return np.asarray(self._fit.residual_maker @ values)

    def highest_cell(self) -> tuple[int, float]:
        """Return the row in `cells` of the highest mean, and the largest two-sided p of its differences from others."""
        highest = int(np.argmax(self.means))
        rows = np.eye(len(self.means))[highest] - np.eye(len(self.means))
        others = np.delete(rows, highest, axis=0)
        estimate, error, df = self.contrasts(others, refuted=True)
        p = 2 * stdtr(df, -(np.abs(estimate) / np.maximum(error, 1e-12)))
        return highest, float(p.max(initial=0.0))

    def expected(self) -> Floats:
        """Return the mean that the other cells predict for each cell (c,); NaN if the model cannot predict it."""
        maker, free = self._fit.residual_maker, self._fit.free
        departure = maker @ self.means / np.where(free, np.diag(maker), 1.0)
        return np.where(free, self.means - departure, np.nan)

    def detectable_departures(self, alpha: float = 0.05) -> Floats:
        """Return the minimum detectable departure (80% power at level alpha) of each cell (c,).

        The unit is that of `values`. In a 2 by 2 table it is the difference between the two gaps. It is infinite if no
        departure up to a rate of 0 or 1 has that power, and NaN for cells that the model always fits. For rates, the
        variance is that of the departing rate. Method: normal approximation of the noncentral t (Johnson & Welch 1940).
        """
        fit = self._fit
        _, error, df, _, different = self._departures(fit)
        tests = different if different == 1 else 2 * different
        critical = -stdtrit(df, alpha / (2 * tests))
        sizes = np.full(len(self.cells), np.nan)
        for row, cell in enumerate(np.flatnonzero(fit.free)):
            if self.is_rate:
                departure, standard_error, deviation = self._departing_rate(int(cell), error[row], df[row])
            else:
                departure = error[row] * np.linspace(0, 20, 2001)[1:]
                standard_error = deviation = np.full(len(departure), error[row])
            limit = critical[row] * standard_error / deviation
            reach = departure / deviation - limit * (1 - 1 / (4 * df[row]))
            power = ndtr(reach / np.sqrt(1 + limit**2 / (2 * df[row])))
            enough = np.flatnonzero(power >= POWER)
            sizes[cell] = departure[enough[0]] if len(enough) else np.inf
        return sizes

    def _departing_rate(self, cell: int, error: float, df: float) -> tuple[Floats, Floats, Floats]:
        """Return departures of one cell's rate, the standard errors that the test would estimate, and the true ones."""
        fit, units = self._fit, self.n_units
        least = 0.5 / (units + 1)
        fitted = np.clip(self.means - fit.residual_maker @ self.means, least, 1 - least)
        sign = 1.0 if fitted[cell] <= 0.5 else -1.0
        departure = np.linspace(0, max(fitted[cell], 1 - fitted[cell]), 201)[1:]
        means = fitted + sign * departure[:, None] * (np.arange(len(units)) == cell)
        refitted = np.clip(means - means @ fit.residual_maker.T, least, 1 - least)
        weights = (fit.residual_maker[cell] / fit.residual_maker[cell, cell]) ** 2 / units
        dispersion = fit.variance / (fitted * (1 - fitted))
        now = weights @ fit.variance
        truth = (np.clip(means * (1 - means), 0, 0.25) * dispersion) @ weights / now
        model = (refitted * (1 - refitted) * dispersion) @ weights / now
        own_df = max(df - MODEL_DF, 1.0)
        events = self._count_events(refitted, weights != 0)
        standard_error = error * np.sqrt(moderate_variance(truth, own_df, model, events))
        return departure, standard_error, error * np.sqrt(np.maximum(truth, 1e-12))

    def minimum_detectable(self, alpha: float = 0.05) -> float:
        """Return the departure that is detected with 80% power at level alpha, whichever cell has it.

        It is the largest over the cells that can have such a departure, in the unit of `values`; infinite without one.
        """
        sizes = self.detectable_departures(alpha)
        sizes = sizes[np.isfinite(sizes)]
        return float(sizes.max()) if len(sizes) else float("inf")
