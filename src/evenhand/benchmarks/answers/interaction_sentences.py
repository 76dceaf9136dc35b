"""Sentences about pairs of group columns: in which groups of one column the gap of the other is larger, or reverses."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from evenhand.benchmarks.analysis import Headlines, axis_rows, by_axis, figure, line_of, listing, name_of
from evenhand.benchmarks.contract import Headline
from evenhand.reports import number as rounded, smallest_effect

SHOWN = 4
"""Groups or combinations in a sentence; the others are in the detail tables."""
_HEADS = {
    "reverses": "the gap between {low} and {high} reverses with {inside}",
    "only among": "the gap between {low} and {high} depends on {inside}",
    "larger among": "the gap between {low} and {high} is not the same in each group of {inside}",
    "differs": "the gap between {low} and {high} depends on {inside}, but it is not clear in which group there is one",
}


def interaction_headlines(what: str, *, is_rate: bool) -> Headlines:
    """Return the function that writes one sentence for each pair of columns.

    what: what a negative answer, or the number, is called. is_rate: whether sizes are percentage points.
    """

    def written(findings: pl.DataFrame, details: Mapping[str, pl.DataFrame]) -> list[Headline]:
        pairs = by_axis(details.get("interactions"))
        if not pairs:
            return []
        rows = {name: details[name].rows(named=True) for name in ("interaction_cells", "interaction_gaps")}
        words = _Words(what, is_rate)
        lines = []
        for row in axis_rows(findings, "interaction"):
            facts = pairs[row["axis"]]
            cells, gaps = (
                [one for one in rows[name] if one["axis"] == row["axis"]]
                for name in ("interaction_cells", "interaction_gaps")
            )
            lines.append(line_of(row, partial(words.found, facts, cells, gaps), partial(words.missed, facts)))
        return lines

    return written


class _Words:
    """What a rate or a number is called, and how its sizes are written."""

    def __init__(self, what: str, is_rate: bool) -> None:
        self.is_rate = is_rate
        self.mean = f"the rate of {what} answers" if is_rate else f"the mean of {what}"

    def value(self, number: float) -> str:
        return f"{rounded(number, 0)}%" if self.is_rate else figure(number)

    def size(self, number: float, low: float, high: float) -> str:
        shown = [rounded(one, 0) if self.is_rate else figure(one) for one in (number, low, high)]
        unit = " points" if self.is_rate else ""
        return f"{shown[0]}{unit} (95% CI {shown[1]} to {shown[2]})"

    def found(
        self,
        facts: Mapping[str, Any],
        cells: Sequence[Mapping[str, Any]],
        gaps: Sequence[Mapping[str, Any]],
        row: Mapping[str, Any],
    ) -> str:
        parts = [self._gaps(facts, gaps, row)] if gaps else [self._cells(facts, cells, row)]
        if facts["highest_p"] is not None and facts["highest_p"] <= 0.05:
            # the combination that is treated worst comes first; how the gap depends on the other column explains it
            parts = [self._highest(facts, cells), *(f"{part[:1].upper()}{part[1:]}" for part in parts)]
        if facts["n_pairs"] > 1:
            parts.append(
                f"Adjusted for the other columns; {facts['n_pairs']} pairs of columns were tested (Holm)"
            )
        return ". ".join(parts)

    def _highest(self, facts: Mapping[str, Any], cells: Sequence[Mapping[str, Any]]) -> str:
        pair = facts["highest_first"], facts["highest_second"]
        means = (cell["mean"] for cell in cells if (cell["first_group"], cell["second_group"]) == pair)
        mean = next(means, None)
        size = "" if mean is None else f" ({self.value(mean)})"
        return f"{self.mean} is highest for {name_of(pair[0])} × {name_of(pair[1])}{size}"

    def _gaps(
        self, facts: Mapping[str, Any], gaps: Sequence[Mapping[str, Any]], row: Mapping[str, Any]
    ) -> str:
        first = gaps[0]
        names = {"low": name_of(first["low_group"]), "high": name_of(first["high_group"])}
        head = _HEADS[str(facts["pattern"])].format(inside=name_of(first["inside"]), **names)
        order = sorted(gaps, key=lambda gap: (gap["gap_low"] <= 0 <= gap["gap_high"], -abs(gap["gap"])))
        inside = "; ".join(self._gap(gap) for gap in order[:SHOWN])
        more = (
            f"; {len(gaps) - SHOWN} more groups are in the table interaction_gaps"
            if len(gaps) > SHOWN
            else ""
        )
        size = ""
        if len(gaps) == 2:
            numbers = sorted([row["low"], row["high"]], key=abs)
            size = f". Difference between the two gaps: {self.size(abs(row['estimate']), *map(abs, numbers))}"
        return f"{head}. {inside[:1].upper()}{inside[1:]}{more}{size}"

    def _gap(self, gap: Mapping[str, Any]) -> str:
        groups = [(gap["high_group"], gap["high_mean"]), (gap["low_group"], gap["low_mean"])]
        size, low, high = gap["gap"], gap["gap_low"], gap["gap_high"]
        level = f"for {name_of(gap['level'])}"
        if low <= 0 <= high:
            rates = " vs ".join(f"{name_of(group)} {self.value(mean)}" for group, mean in groups)
            return f"{level}, no difference was detected ({rates}, difference {self.size(size, low, high)})"
        if size < 0:
            groups, size, low, high = groups[::-1], -size, -high, -low
        (more, most), (less, least) = groups
        rates = f"{name_of(more)} ({self.value(most)}) than for {name_of(less)} ({self.value(least)})"
        return f"{level}, {self.mean} is higher for {rates}: difference {self.size(size, low, high)}"

    def _cells(
        self, facts: Mapping[str, Any], cells: Sequence[Mapping[str, Any]], row: Mapping[str, Any]
    ) -> str:
        named = [cell for cell in cells if cell["excess"] is not None]
        if not named:
            depends = (
                f"the differences between the groups of {name_of(facts['first'])} depend on "
                f"{name_of(facts['second'])}"
            )
            size = self.size(row["estimate"], row["low"], row["high"])
            return f"{depends} (root mean square departure {size}), but no single combination stands out"
        named.sort(key=lambda cell: -abs(cell["excess"]))
        count = "one combination differs" if len(named) == 1 else f"{len(named)} combinations differ"
        shown = "; ".join(self._cell(cell, cells) for cell in named[:SHOWN])
        more = f"; {len(named) - SHOWN} more are in the table interaction_cells" if len(named) > SHOWN else ""
        return f"{count} from what both columns explain. {shown}{more}"

    def _cell(self, cell: Mapping[str, Any], cells: Sequence[Mapping[str, Any]]) -> str:
        name = f"{cell['first_group']} × {cell['second_group']}"
        above = "more" if cell["excess"] > 0 else "less"
        low, high = sorted([cell["low"], cell["high"]], key=abs)
        size = self.size(abs(cell["excess"]), abs(low), abs(high))
        mirrors = [f"{c['first_group']} × {c['second_group']}" for c in cells if c["mirror_of"] == name]
        unclear = (
            f" (or the opposite for {listing(mirrors)}: these data cannot distinguish them)"
            if mirrors
            else ""
        )
        first, second = name_of(cell["first_group"]), name_of(cell["second_group"])
        return f"{first} × {second}: {self.value(cell['mean'])}, {size} {above} than both columns explain{unclear}"

    def missed(self, facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
        sizes = [facts["least_detectable"], facts["minimum_detectable"]]
        least, most = (smallest_effect(size) if self.is_rate else figure(size) for size in sizes)
        unit = " points" if self.is_rate else ""
        size = f"{most}{unit} or more"
        if sizes[1] > 1.25 * sizes[0]:
            size = f"{least} to {most}{unit} or more, depending on the size of the combination"
        blind = ""
        if facts["n_blind"]:
            which = "1 combination is" if facts["n_blind"] == 1 else f"{facts['n_blind']} combinations are"
            blind = f"; {which} too small for any departure to be detected"
        if facts["kind"] == "difference of gaps":
            what, where = "no difference between the gaps was detected", "a difference between the gaps of"
        else:
            what, where = "no combination was found to differ from what both columns explain", "an excess of"
        return f"{what}. This table had 80% power to detect {where} {size}{blind}"
