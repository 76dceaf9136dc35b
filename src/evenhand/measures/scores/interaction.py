"""Test whether the effect of one group column depends on another, for responses with several group columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from evenhand.measures.columns import check_kinds, finite, require_columns, require_texts, typed
from evenhand.measures.info import MeasureInfo
from evenhand.measures.scores.missing_cells import MissingCells
from evenhand.schema import Card, checked
from evenhand.stats import Codes, PairTable, holm, remove_other_effects

JOIN = " × "  # between the two columns in the name of a pair
MOST_COLUMNS = 6
REVERSES, ONLY_AMONG, LARGER_AMONG, DIFFERS = "reverses", "only among", "larger among", "differs"
ONE_CELL, SEVERAL_CELLS = "one combination", "no single combination"
_LEVEL = 0.05
_PAIRS = (
    typed(pl.String, "axis first second kind pattern of among obstacle highest_first highest_second")
    | typed(pl.Float64, "estimate low high p axis_p least_detectable minimum_detectable highest_p")
    | typed(pl.Int64, "n n_missing n_units n_pairs n_blind")
)
_CELLS = (
    typed(pl.String, "axis first_group second_group mirror_of")
    | typed(pl.Float64, "mean expected excess low high p")
    | typed(pl.Int64, "n n_units")
    | typed(pl.Boolean, "named")
)
_GAPS = typed(pl.String, "axis of low_group high_group inside level") | typed(
    pl.Float64, "low_mean high_mean gap gap_low gap_high"
)


@dataclass(frozen=True)
class Interactions:
    """Interactions of every two group columns, such as gender and age: the result of `interactions`.

    Rates are in percent, differences in points. ``pairs`` shows whether effects add up.

    Attributes
    ----------
    pairs : polars.DataFrame
        One row per pair of columns; axis is "first × second".
        - `estimate`: number that `kind` names, with 95% CI and p. `axis_p`: p adjusted by Holm for all pairs.
        - `kind`: "excess of a combination" (its mean minus the mean expected if effects add up), "difference of gaps"
          (the same if a column has two groups; 2 by 2: gap in the second level minus that in the first) or "root mean
          square departure".
        - `minimum_detectable`: departure of any one combination (2 by 2: difference of gaps) detected with 80% power.
          `least_detectable`: the smallest of any combination. `n_blind`: combinations too small for this power.
        - `pattern`: "reverses", "only among", "larger among", "differs", "one combination", "no single combination".
        - `highest_first`, `highest_second`: combination with the highest mean (2 by 2). `highest_p`: largest p of its
          differences from the others.
        - `of`: column whose gap is shown, within levels of the column `among`. `obstacle`: why there is no result.
    cells : polars.DataFrame
        One row per combination: mean, n (responses), n_units; `expected`: mean if effects add up; `excess` with CI, if
        `named`. `mirror_of`: combination whose opposite departure the data cannot distinguish.
    gaps : polars.DataFrame
        `gap`: high_group minus low_group of the column `of`, within each level of `among`. CIs hold simultaneously.
    """

    pairs: pl.DataFrame
    cells: pl.DataFrame
    gaps: pl.DataFrame


@checked
def interactions(
    frame: pl.DataFrame,
    columns: Mapping[str, str],
    *,
    value: str = "score",
    cluster: str,
    strata: Sequence[str] = (),
    is_rate: bool = False,
) -> Interactions:
    """Test the two-way interaction of each pair of group columns, such as gender and age.

    Use it to see whether the effect of one characteristic depends on another (docs/explanation/own_answers.md).

    Parameters
    ----------
    frame : polars.DataFrame
        One row per response and axis, with the columns axis, group and those named by the other arguments.
    columns : mapping of str to str
        For each axis, the column with the response's group on it. Only the first six axes are tested.
    value : str, default "score"
        Column with the outcome: 0 or 1 for rates, or a number; null is missing.
    cluster : str
        Column with the sampling unit (person, prompt, question), averaged within each combination.
    strata : sequence of str, default ()
        Columns whose effects are removed first, as are those of the other axes.
    is_rate : bool, default False
        Whether the outcome is a rate.

    Returns
    -------
    Interactions
        Tables of pairs, combinations and gaps. Effects add in points or in the unit of the number
        (`evenhand.stats.PairTable`). All pairs share a false-positive rate of 5% (Holm 1979), in addition to the 5% of
        the axes.

    Raises
    ------
    DataError
        A column is missing or has the wrong type.

    Examples
    --------
    >>> rows = [{"axis": "sex", "group": s, "sex": s, "age": a, "who": f"{s}{a}{i}", "score": float(i % 10 < n)}
    ...         for s, a, n in (("f", "old", 8), ("f", "new", 3), ("m", "old", 3), ("m", "new", 3)) for i in range(60)]
    >>> found = interactions(pl.DataFrame(rows), {"sex": "sex", "age": "age"}, cluster="who", is_rate=True)
    >>> found.pairs.select("axis", "pattern", pl.col("estimate").round(1)).rows()
    [('sex × age', 'only among', -50.0)]
    """
    require_columns(frame, ["group", value, cluster, *strata, *columns.values()], "interactions")
    require_texts(frame, ["axis"], "interactions", null=True)
    check_kinds(frame, [value], "interactions", numbers=True)
    frame, scale = frame.with_columns(finite(pl.col(value))), 100.0 if is_rate else 1.0
    axes = list(columns)[:MOST_COLUMNS]
    found = []
    for first, second in combinations(axes, 2):
        mine = frame.filter(axis=first) if (frame["axis"] == first).any() else frame.filter(axis=second)
        found.append(_Pair.of(mine, first, second, columns, value, cluster, strata, is_rate=is_rate))
    tests = [pair.table.test() if pair.table is not None else None for pair in found]
    p = np.array([np.nan if test is None or test.p is None else test.p for test in tests])
    adjusted = holm(p) if len(p) else p
    n_tested = int((~np.isnan(p)).sum())
    pairs: list[dict[str, Any]] = []
    cells: list[dict[str, Any]] = []
    gaps: list[dict[str, Any]] = []
    for pair, test, q in zip(found, tests, adjusted, strict=True):
        obstacle = pair.obstacle if test is None else test.obstacle
        row = {
            "axis": pair.name,
            "first": pair.first,
            "second": pair.second,
            "n_pairs": n_tested,
        } | pair.counts
        if pair.table is None or test is None or test.p is None:
            pairs.append(row | {"obstacle": obstacle})
            cells += pair.cell_rows(scale, [])
            continue
        sizes = scale * pair.table.detectable_departures(_LEVEL / n_tested)
        known = np.sort(sizes[np.isfinite(sizes)])
        row |= {"n_blind": int(np.isinf(sizes).sum())}
        if not len(known) and q > _LEVEL:
            obstacle = "The combinations have so few units that no difference between gaps could be detected."
            pairs.append(row | {"obstacle": obstacle})
            cells += pair.cell_rows(scale, [])
            continue
        smallest = (
            {"least_detectable": float(known[0]), "minimum_detectable": float(known[-1])}
            if len(known)
            else {}
        )
        facts, named, inside = pair.described(float(q), test.p_cells or 0.0, scale)
        if q <= _LEVEL and pair.missing is not None and (why := pair.missing.explanation()) is not None:
            facts, named = facts | {"obstacle": why, "pattern": None}, []
        pairs.append(row | facts | smallest | {"p": test.p, "axis_p": float(q)})
        cells += pair.cell_rows(scale, named)
        gaps += inside
    return Interactions(_table(pairs, _PAIRS), _table(cells, _CELLS), _table(gaps, _GAPS))


def _table(rows: list[dict[str, Any]], schema: Mapping[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=dict(schema))


@dataclass(frozen=True)
class _Pair:
    """One pair of columns: its table, the names of the groups, and the rows that are reported."""

    first: str
    second: str
    table: PairTable | None
    groups: tuple[list[str], list[str]]
    shown: pl.DataFrame
    counts: dict[str, int]
    obstacle: str | None = None
    missing: MissingCells | None = None

    @property
    def name(self) -> str:
        return f"{self.first}{JOIN}{self.second}"

    @classmethod
    def of(
        cls,
        frame: pl.DataFrame,
        first: str,
        second: str,
        columns: Mapping[str, str],
        value: str,
        cluster: str,
        strata: Sequence[str],
        *,
        is_rate: bool,
    ) -> "_Pair":
        ours = [columns[first], columns[second]]
        here = frame.filter(
            *(pl.col(column).is_not_null() & (pl.col(column).cast(pl.String) != "") for column in ours)
        )
        known = here.filter(pl.col(value).is_not_null())
        counts = {
            "n": known.height,
            "n_missing": here.height - known.height,
            "n_units": known[cluster].n_unique(),
        }
        codes, names = [], []
        for column in ours:
            text = known[column].cast(pl.String)
            levels = text.unique().sort()
            names.append(levels.to_list())
            codes.append(_codes(text))
        shown = (
            known.with_columns(first_code=pl.Series(codes[0]), second_code=pl.Series(codes[1]))
            .group_by("first_code", "second_code", cluster)
            .agg(unit_mean=pl.col(value).mean(), n=pl.len())
            .group_by("first_code", "second_code")
            .agg(pl.col("unit_mean").mean(), pl.col("n").sum(), n_units=pl.len())
            .sort("first_code", "second_code")
        )
        groups = (names[0], names[1])
        if not known.height or min(len(names[0]), len(names[1])) < 2:
            why = "One of the two columns has a single group here."
            return cls(first, second, None, groups, shown, counts, why)
        others = [
            _codes(known[columns[axis]].cast(pl.String)) for axis in columns if axis not in (first, second)
        ]
        others += [_codes(known[name].cast(pl.String)) for name in strata]
        values = remove_other_effects(known[value].to_numpy(), [*codes, *others], 0, 1)
        table = PairTable(values, codes[0], codes[1], _codes(known[cluster].cast(pl.String)), is_rate=is_rate)
        missing = None
        if table.obstacle() is None:
            missing = MissingCells.of(here, table, (ours[0], ours[1]), groups, value, cluster)
        return cls(first, second, table, groups, shown, counts, missing=missing)

    def cell_rows(
        self, scale: float, named: Sequence[tuple[tuple[int, int], dict[str, Any]]]
    ) -> list[dict[str, Any]]:
        """Return the rows of `Interactions.cells`; `named` has the combinations that stand out, with their numbers."""
        facts = dict(named)
        expected = self._expected(scale)
        rows = []
        for first, second, mean, n, n_units in self.shown.iter_rows():
            place = (int(first), int(second))
            rows.append(
                {
                    "axis": self.name,
                    "first_group": self.groups[0][first],
                    "second_group": self.groups[1][second],
                    "mean": scale * mean,
                    "expected": expected.get(place),
                    "n": n,
                    "n_units": n_units,
                    "named": place in facts,
                }
                | facts.get(place, {})
            )
        return rows

    def _expected(self, scale: float) -> dict[tuple[int, int], float]:
        if self.table is None or self.table.obstacle() is not None:
            return {}
        places = [(int(first), int(second)) for first, second in self.table.cells]
        values = zip(places, self.table.expected(), strict=True)
        return {place: float(scale * value) for place, value in values if not np.isnan(value)}

    def described(
        self, q: float, p_cells: float, scale: float
    ) -> tuple[dict[str, Any], list[tuple[tuple[int, int], dict[str, Any]]], list[dict[str, Any]]]:
        """Return the columns of the pair's row, the combinations that stand out, and the gaps within levels."""
        table = self.table
        assert table is not None
        largest = table.largest_departure()
        found = q <= _LEVEL
        two = [len(np.unique(table.cells[:, column])) == 2 for column in (0, 1)]
        column = 0 if two[0] else 1
        facts: dict[str, Any] = {
            "kind": "difference of gaps" if any(two) else "excess of a combination",
            "estimate": scale * largest.estimate,
            "low": scale * largest.low,
            "high": scale * largest.high,
        }
        gaps = self._gap_rows(column, scale) if any(two) else []
        if gaps:
            facts |= {"of": (self.first, self.second)[column], "among": (self.first, self.second)[1 - column]}
        if all(two):
            facts |= self._difference_of_gaps(gaps, largest.low, largest.high, scale)
            highest, p = table.highest_cell()
            first, second = (int(code) for code in table.cells[highest])
            facts |= {
                "highest_first": self.groups[0][first],
                "highest_second": self.groups[1][second],
                "highest_p": p,
            }
        if not found:
            return facts, [], gaps
        if p_cells > _LEVEL / 2 and not all(two):  # only the sum over all cells is significant
            estimate, low, high = (scale * size for size in table.spread())
            facts |= {"kind": "root mean square departure", "estimate": estimate, "low": low, "high": high}
        if gaps:
            return facts | {"pattern": _pattern(gaps)}, [], gaps
        named: list[tuple[tuple[int, int], dict[str, Any]]] = []
        for departure in table.named_cells():
            cells = [(int(table.cells[cell, 0]), int(table.cells[cell, 1])) for cell in departure.cells]
            numbers = {"excess": departure.estimate, "low": departure.low, "high": departure.high}
            mirror = f"{self.groups[0][cells[0][0]]}{JOIN}{self.groups[1][cells[0][1]]}"
            named.append(
                (cells[0], {key: scale * size for key, size in numbers.items()} | {"p": departure.p})
            )
            named += [(cell, {"mirror_of": mirror}) for cell in cells[1:]]
        return facts | {"pattern": ONE_CELL if named else SEVERAL_CELLS}, named, gaps

    def _gap_rows(self, column: int, scale: float) -> list[dict[str, Any]]:
        assert self.table is not None
        found = self.table.gaps(column)
        codes = np.unique(self.table.cells[:, column])
        shown = self.shown.select("first_code", "second_code", "unit_mean").iter_rows()
        means = {(int(first), int(second)): float(scale * mean) for first, second, mean in shown}
        rows = []
        for level, gap, low, high in zip(found.levels, found.estimate, found.low, found.high, strict=True):
            at = [(int(code), int(level)) if column == 0 else (int(level), int(code)) for code in codes[:2]]
            rows.append(
                {
                    "axis": self.name,
                    "of": (self.first, self.second)[column],
                    "low_group": self.groups[column][int(codes[0])],
                    "high_group": self.groups[column][int(codes[1])],
                    "inside": (self.first, self.second)[1 - column],
                    "level": self.groups[1 - column][int(level)],
                    "low_mean": means[at[0]],
                    "high_mean": means[at[1]],
                    "gap": scale * gap,
                    "gap_low": scale * low,
                    "gap_high": scale * high,
                }
            )
        return rows

    def _difference_of_gaps(
        self, gaps: Sequence[Mapping[str, Any]], low: float, high: float, scale: float
    ) -> dict[str, float]:
        """Return the gap in the second level minus that in the first, with the interval of the single departure."""
        estimate = float(gaps[1]["gap"] - gaps[0]["gap"])
        half = scale * (high - low) / 2
        return {"estimate": estimate, "low": estimate - half, "high": estimate + half}


def _pattern(gaps: Sequence[Mapping[str, Any]]) -> str:
    """Return the pattern of the gaps within levels, from their simultaneous intervals."""
    above = sum(row["gap_low"] > 0 for row in gaps)
    below = sum(row["gap_high"] < 0 for row in gaps)
    if above and below:
        return REVERSES
    if not above and not below:
        return DIFFERS
    return LARGER_AMONG if above + below == len(gaps) else ONLY_AMONG


def _codes(values: pl.Series) -> Codes:
    """Return integers from 0 in the order of the values; null counts as a separate value."""
    levels = values.unique().sort()
    places = pl.DataFrame({"value": levels}).with_row_index("code")
    joined = pl.DataFrame({"value": values}).join(
        places, on="value", how="left", nulls_equal=True, maintain_order="left"
    )
    codes: Codes = joined["code"].cast(pl.Int64).to_numpy()
    return codes


CARDS = (
    MeasureInfo.of(
        Card(
            name="interaction",
            summary="Whether the gap between groups of one column depends on the groups of another column.",
            construct="Whether people who belong to two groups at once are treated worse, or better, than both "
            "groups explain; for example only older women.",
            harm="A gap that exists only in one combination is diluted or hidden in the averages over columns.",
            groups="The combinations of groups of every two columns.",
            ideal="0: the effects of both columns add up, in points or in the unit of the number.",
            direction="The sign is that of the named combination; a root mean square departure has no sign.",
            null="0: the effects of both columns add up.",
            critique="On another scale (such as odds), an interaction may disappear, unless the gap changes its "
            "sign. Interactions of three columns are not tested.",
            citation="Crenshaw 1989, Demarginalizing the Intersection of Race and Sex",
            source="Simulated for this measure; F test of additivity with cluster scores; Holm 1979",
            details="With two groups in both columns, the value is the difference of the two gaps. In larger "
            "tables, it is the largest departure of a combination from the sum of both effects (CI adjusted for the "
            "number of combinations). If no single combination stands out, it is the root mean square departure. "
            "Effects of the other columns are removed first. All pairs of columns share a false-positive rate of 5%.",
        ),
        unit="percentage points, or the unit of the score",
        ideal=0.0,
    ),
)
