"""Find the comparison that tables show for each group, so that difference, CI and q belong to the same comparison.

With three groups, p of a group that is not named is that of its least clear difference from a single other group (see
`evenhand.stats.find_common_level`). The difference from the mean of both does not fit this p.
"""

from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.reports import BenchmarkView, wording

BETWEEN = "between the others"
LEVEL = 0.05
EACH = "Difference, 95% CI and q compare each group with the other groups of its axis that do not stand out (others)."
PAIR = "Difference, 95% CI and q compare each group with the other one."
SAME = "Difference, 95% CI and q of a row are of the same comparison."
OF_THREE = (
    "If one of three groups differs from both others in the same direction, it is compared with their mean. If not, "
    "others names the one group from which it differs least clearly. A group between the others is not compared."
)


@dataclass(frozen=True)
class GroupColumns:
    """Names of the detail tables and of their columns that have comparisons of groups.

    Attributes
    ----------
    groups, axes, pairs
        Names of the tables of groups, of axes, and of pairs of groups.
    value, others
        Columns with the group's own value, and with the value that it is compared with.
    difference, low, high
        Columns with the difference and its CI.
    """

    groups: str
    axes: str
    pairs: str
    value: str
    others: str
    difference: str
    low: str
    high: str


RATES = GroupColumns(
    "groups", "axes", "group_pairs", "rate", "background", "difference", "difference_low", "difference_high"
)
SCORES = GroupColumns(
    "score_groups", "score_axes", "score_pairs", "mean", "others", "estimate", "low", "high"
)


def deciding_comparisons(
    groups: pl.DataFrame, benchmark: BenchmarkView, columns: GroupColumns, places: int
) -> list[dict[str, Any]]:
    """Return the rows of `groups`, each with the comparison to which its q belongs.

    Parameters
    ----------
    groups
        Detail table of groups.
    benchmark
        The benchmark with its other detail tables.
    columns
        Names of tables and columns.
    places
        Decimals of the values in the key `with`.

    Returns
    -------
    list of dict
        The rows with two additional keys. `than` is the single group with which a group is compared. It is None if the
        group is compared with all other groups that do not stand out, `BETWEEN` (without numbers) for a group between
        the other two, and "" (without numbers) if there is no table of pairs. `with` is the text of the value with
        which the group is compared.
    """
    axes = benchmark.detail(columns.axes)
    three = set()
    if axes is not None and {"n_groups", "n_reference"} <= set(axes.columns):
        three = set(axes.filter((pl.col("n_groups") == 3) & (pl.col("n_reference") == 3))["axis"].to_list())
    pairs = _pairs_by_group(benchmark.detail(columns.pairs))
    values = {(row["axis"], row["group"]): row[columns.value] for row in groups.iter_rows(named=True)}
    shown = []
    for row in groups.iter_rows(named=True):
        new: dict[str, Any] = {"than": None}
        if row["axis"] in three and row["named"] is None and wording.known(row[columns.difference]):
            new = _of_unnamed(pairs.get((row["axis"], row["group"]), []), row["axis"], values, columns)
        row |= new
        value, than = wording.number(row[columns.others], places), row["than"]
        row["with"] = BETWEEN if than == BETWEEN else f"{value} ({wording.label(than)})" if than else value
        shown.append(row)
    return shown


def _of_unnamed(
    pairs: list[dict[str, Any]], axis: str | None, values: dict[Any, float], columns: GroupColumns
) -> dict[str, Any]:
    """Return the columns of the deciding comparison, for an axis with three groups and a group that is not named.

    They replace those of the comparison with the mean of the other two groups.

    pairs: differences of this group from each of the others. values: value of each (axis, group).
    """
    nothing = dict.fromkeys((columns.others, columns.difference, columns.low, columns.high, "q"), None)
    if len(pairs) < 2:
        return {**nothing, "than": ""}
    if len({pair["estimate"] > 0 for pair in pairs}) == 2:
        return {**nothing, "than": BETWEEN}
    decisive = max(pairs, key=lambda pair: pair["p"])
    if decisive["p"] <= LEVEL:  # it differs from both, but q is too large for a name
        return {"than": None}
    return {
        "than": decisive["other"],
        columns.others: values.get((axis, decisive["other"])),
        columns.difference: decisive["estimate"],
        columns.low: decisive["low"],
        columns.high: decisive["high"],
    }


def describe_comparisons(rows: list[dict[str, Any]]) -> str:
    """Return sentences for a table of `deciding_comparisons` on what its difference, CI and q compare."""
    sizes: dict[Any, int] = {}
    for row in rows:
        sizes[row["axis"]] = sizes.get(row["axis"], 0) + 1
    usual = PAIR if set(sizes.values()) == {2} else EACH
    if all(row["than"] is None for row in rows):
        return usual
    return f"{SAME if set(sizes.values()) == {3} else usual} {OF_THREE}"


def _pairs_by_group(pairs: pl.DataFrame | None) -> dict[tuple[str | None, str], list[dict[str, Any]]]:
    """Return the tested differences of each (axis, group) from single other groups, with `other` as its name."""
    found: dict[tuple[str | None, str], list[dict[str, Any]]] = {}
    for row in [] if pairs is None else pairs.drop_nulls("p").iter_rows(named=True):
        turned = {
            "other": row["group"], "p": row["p"],
            "estimate": -row["estimate"], "low": -row["high"], "high": -row["low"],
        }  # fmt: skip
        found.setdefault((row["axis"], row["group"]), []).append(row)
        found.setdefault((row["axis"], row["other"]), []).append(turned)
    return found
