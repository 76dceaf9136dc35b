"""The verdict on each axis of a benchmark, with its sentences, which are the same in the terminal and on the page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.reports import sentences
from evenhand.reports.view import ReportView
from evenhand.reports.wording import BIASED, NOT_DETECTED, NOT_MEASURABLE, label, plain_effect

INTERACTION = "interaction"
"""The measure whose rows are about two axes at once."""
WITHOUT_SIDE = (
    "classifier_bias",
    "classifier_bias_masked",
    "token_bins",
    "intersectional_token_bins",
    "occupation_lean",
)
"""Measures of conversations that begin with a name. They show that genders differ, not that one is treated worse."""


@dataclass(frozen=True)
class AxisVerdict:
    """The verdict on one axis, from its most informative measure."""

    axis: str | None
    verdict: str
    measures: tuple[str, ...]
    minimum_detectable: float | None
    note: str


@dataclass(frozen=True)
class VerdictSummary:
    """A benchmark's verdict on every tested axis, which is the first thing that a reader sees."""

    benchmark: str
    biased: tuple[AxisVerdict, ...]
    not_detected: tuple[AxisVerdict, ...]
    not_measurable: tuple[AxisVerdict, ...]
    together: str | None = None
    """The verdict on the mean of all axes, if single axes also have verdicts; otherwise None."""
    pairs: tuple[AxisVerdict, ...] = ()
    """The verdicts on pairs of axes: whether the gap on one axis depends on the other."""
    without_side: str = ""
    """Sentence stating that no group is known to be treated worse; "" unless all findings have no worse side."""

    @property
    def sentence(self) -> str:
        """Return the verdict as text: on how many axes bias was detected, and which gaps depend on another axis."""
        found = [label(pair.axis) for pair in self.pairs if pair.verdict == BIASED]
        if not found:
            return sentences.joined(self._axes_alone(), self.without_side)
        if self.biased or self.together == BIASED:
            return sentences.joined(self._axes_alone(), sentences.axes_depend(found))
        return sentences.axes_depend(found, len(self.not_detected) + len(self.not_measurable))

    def _axes_alone(self) -> str:
        blank = self.not_measurable
        total = len(self.biased) + len(self.not_detected) + len(blank)
        if not total:
            return sentences.DESCRIPTIVE
        if self.biased:
            return sentences.axes_biased(len(self.biased), total)
        if self.together == BIASED:
            return sentences.axes_combined(total)
        if len(self.not_detected) == total:
            return sentences.axes_clear(total)
        if self.not_detected:
            reasons = {one.note for one in blank}
            reason = reasons.pop() if len(reasons) == 1 else ""
            return sentences.axes_partly_measurable(
                len(self.not_detected), [one.axis for one in blank], reason
            )
        return sentences.axes_not_measurable(total)

    @property
    def measured(self) -> bool:
        """Return whether any axis has a verdict other than "not measurable", so that an error rate can be stated."""
        return bool(
            self.biased
            or any(pair.verdict == BIASED for pair in self.pairs)
            or self.not_detected
            or self.together in (BIASED, NOT_DETECTED)
        )


def summarise(view: ReportView, benchmark: str) -> VerdictSummary:
    """Return one verdict for each axis of a benchmark that has a headline.

    An axis is biased if any of its headlines is; otherwise it has the verdict of its first headline. Axes are in the
    order in which they were measured. The verdict across all axes counts as an axis only if there is no other. Runs of
    earlier versions have no headlines; for them, the verdicts of measures are used, in stored order.

    view: the report. benchmark: name of the benchmark.
    """
    told = view.headlines.filter(pl.col("benchmark") == benchmark)
    judged = {measure: view.rows(benchmark, measure).to_dicts() for measure in view.judged(benchmark)}
    rows = told.to_dicts() or [
        row for found in judged.values() for row in found if row["verdict"] is not None
    ]
    order: dict[str | None, list[dict[str, Any]]] = {}
    for row in rows:
        order.setdefault(row["axis"], []).append(row)
    whole = order.pop(None, []) if len(order) > 1 else []
    folded: dict[str, list[AxisVerdict]] = {BIASED: [], NOT_DETECTED: [], NOT_MEASURABLE: []}
    pairs: list[AxisVerdict] = []
    for axis, mine in order.items():
        verdict = _join_verdicts(mine)
        deciding = [row for row in mine if row["verdict"] == verdict]
        measure = deciding[0]["measure"]
        numbers = next((row for row in judged.get(measure, []) if row["axis"] == axis), {})
        smallest = numbers.get("minimum_detectable")
        (pairs if measure == INTERACTION else folded[verdict]).append(
            AxisVerdict(
                axis=axis,
                verdict=verdict,
                measures=tuple(str(row["measure"]) for row in deciding),
                minimum_detectable=smallest if isinstance(smallest, float) else None,
                note=plain_effect(str(numbers.get("note") or "")),
            )
        )
    biased, clear, blank = (tuple(found) for found in folded.values())
    together = _join_verdicts(whole) if whole else None
    return VerdictSummary(
        benchmark, biased, clear, blank, together, tuple(pairs), _without_side(biased, judged)
    )


def _without_side(biased: Sequence[AxisVerdict], judged: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return a sentence stating that no group is known to be treated worse; "" if one is, or if no bias was found."""
    measures = {measure for axis in biased for measure in axis.measures}
    if not measures or not measures <= set(WITHOUT_SIDE):
        return ""
    tested = any(row["verdict"] == NOT_DETECTED for row in judged.get("disparity", ()))
    return sentences.no_group_worse(tested=tested)


def _join_verdicts(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the verdict of an axis from its headlines, of which the first has the most informative measure."""
    verdicts = [str(row["verdict"]) for row in rows]
    return BIASED if BIASED in verdicts else verdicts[0]


def headlines(view: ReportView, benchmark: str) -> list[tuple[str, str]]:
    """Return (verdict, sentence) for each axis of a benchmark, biased ones first, then not detected or measurable.

    view: the report; in a run of an earlier version without sentences, the notes of its verdicts are used. Axes that
    are not measurable for the same reason share a line.
    """
    told = view.headlines.filter(pl.col("benchmark") == benchmark)
    rows = told.select("verdict", "measure", "axis", "sentence").rows()
    # measures that show who is treated worse come first
    mine = _shared(sorted(rows, key=lambda row: row[1] in WITHOUT_SIDE))
    if not mine:
        folded = summarise(view, benchmark)
        axes = (*folded.biased, *folded.not_detected, *folded.not_measurable)
        mine = [(v.verdict, f"{sentences.heading(v.axis)}: {v.note}") for v in axes]
    order = (BIASED, NOT_DETECTED, NOT_MEASURABLE)
    return sorted(mine, key=lambda line: order.index(line[0]))


def first_of_axes(lines: Sequence[tuple[str, str]]) -> list[bool]:
    """Return, for each line, whether it is the first on its axis in which bias was detected. Pages emphasise these.

    lines: (verdict, sentence), as `headlines` returns them.

    >>> first_of_axes([(BIASED, "Age — biased. A."), (BIASED, "Age (similar templates) — biased. B.")])
    [True, False]
    """
    named: set[str] = set()
    firsts = []
    for verdict, sentence in lines:
        axis = sentences.split_verdict(sentence)[0].partition(" (")[0]
        firsts.append(verdict == BIASED and axis not in named)
        named |= {axis} if verdict == BIASED else set()
    return firsts


def _shared(lines: Iterable[tuple[str, str, str | None, str]]) -> list[tuple[str, str]]:
    """Convert (verdict, measure, axis, sentence) to (verdict, sentence). Axes with the same reason share a sentence.

    >>> _shared([(NOT_MEASURABLE, "m", axis, sentences.not_measurable([axis], "Too few.")) for axis in ("age", "race")])
    [('not measurable', 'Age, race — not measurable: too few.')]
    """
    parts: dict[tuple[str, str, str, int], list[tuple[str | None, str]]] = {}
    for place, (verdict, measure, axis, sentence) in enumerate(lines):
        head, reason = sentences.split_verdict(sentence)
        whole = verdict != NOT_MEASURABLE or axis is None or not reason or head != sentences.heading(axis)
        key = (verdict, "", sentence, place) if whole else (verdict, measure, reason, -1)
        parts.setdefault(key, []).append((axis, sentence))
    shared = []
    for (verdict, _, text, place), axes in parts.items():
        if place >= 0 or len(axes) == 1:
            shared.append((verdict, axes[0][1]))
        else:
            shared.append((verdict, sentences.not_measurable([axis for axis, _ in axes], text)))
    return shared


def expected_false(view: ReportView) -> str:
    """Return a sentence on how many axes may be called biased by chance; "" with fewer than two tested measures.

    view: the report. A measure counts once for each benchmark.
    """
    measures = sum(len(view.judged(benchmark.name)) for benchmark in view.benchmarks)
    return sentences.expected_false(measures, view.alpha)
