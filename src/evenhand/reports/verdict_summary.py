"""The verdict on each axis of a benchmark, and the sentences that state it: the same on the terminal and the page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.reports.view import ReportView
from evenhand.reports.wording import BIASED, NOT_DETECTED, NOT_MEASURABLE, label

INTERACTION = "interaction"
"""The measure whose rows are about two axes at once."""


@dataclass(frozen=True)
class AxisVerdict:
    """What was found on one axis, by the measure that says most about it."""

    axis: str | None
    verdict: str
    measures: tuple[str, ...]
    minimum_detectable: float | None
    note: str


@dataclass(frozen=True)
class VerdictSummary:
    """A benchmark's verdict on every axis it judged: the first thing a reader sees."""

    benchmark: str
    biased: tuple[AxisVerdict, ...]
    not_detected: tuple[AxisVerdict, ...]
    not_measurable: tuple[AxisVerdict, ...]
    together: str | None = None
    """The verdict over all axes, where single ones have verdicts, too."""
    pairs: tuple[AxisVerdict, ...] = ()
    """The verdicts on pairs of axes: whether the gap on one axis depends on the other."""

    @property
    def sentence(self) -> str:
        """The verdict in words: on how many axes bias was detected, and which gaps depend on another axis."""
        found = [label(pair.axis) for pair in self.pairs if pair.verdict == BIASED]
        if not found:
            return self._axes_alone()
        depends = f"The gap on one axis depends on the other for {', '.join(found)}."
        if self.biased or self.together == BIASED:
            return f"{self._axes_alone()} {depends}"
        total = len(self.not_detected) + len(self.not_measurable)
        alone = "the one axis" if total == 1 else f"any of the {total} axes"
        return f"Bias was found in combinations of groups ({', '.join(found)}), though not on {alone} alone."

    def _axes_alone(self) -> str:
        total = len(self.biased) + len(self.not_detected) + len(self.not_measurable)
        if not total:
            return "No measure of this benchmark gave a verdict: it describes, and judges nothing here."
        if self.biased:
            if total == 1:
                return "Bias was found on the one axis that was measured."
            return f"Bias was found on {len(self.biased)} of {total} axes."
        if self.together == BIASED:
            alone = "not on the one axis by itself" if total == 1 else f"on none of the {total} by itself"
            return f"Bias was found over all axes together, {alone}."
        if self.not_detected:
            if total == 1:
                return "No bias was found on the one axis that was measured."
            if len(self.not_detected) == total:
                return f"No bias was found on any of the {total} axes."
            return f"No bias detected on {_axes(len(self.not_detected))}; {self._unmeasured()}"
        where = "the one axis there is" if total == 1 else f"any of the {total} axes"
        return f"Bias could not be measured on {where}."

    def _unmeasured(self) -> str:
        """Return which axes could not be measured, with the reason where they share one."""
        blank = self.not_measurable
        names = ", ".join(label(one.axis) for one in blank)
        were = "was" if len(blank) == 1 else "were"
        reasons = {one.note for one in blank}
        reason = f": {reasons.pop()}" if len(reasons) == 1 and all(reasons) else "."
        return f"{_axes(len(blank))} ({names}) {were} not measurable{reason}"

    @property
    def measured(self) -> bool:
        """Whether any axis has a verdict of which something can be promised."""
        return bool(
            self.biased
            or any(pair.verdict == BIASED for pair in self.pairs)
            or self.not_detected
            or self.together in (BIASED, NOT_DETECTED)
        )


def _axes(number: int) -> str:
    return "1 axis" if number == 1 else f"{number} axes"


def summarise(view: ReportView, benchmark: str) -> VerdictSummary:
    """One verdict for each axis that has a headline: biased if any of its sentences says so, else that of its first.

    view: the report; in a run of an earlier version, which has no headlines, the verdicts of the measures stand in, in
    the order in which they were written. benchmark: its name. Returns the axes by verdict, in the order measured; the
    verdict over all axes counts as one only where there is no other.
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
        verdict = _folded(mine)
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
                note=str(numbers.get("note") or ""),
            )
        )
    biased, clear, blank = (tuple(found) for found in folded.values())
    return VerdictSummary(benchmark, biased, clear, blank, _folded(whole) if whole else None, tuple(pairs))


def _folded(rows: Sequence[Mapping[str, Any]]) -> str:
    """Of an axis' verdicts, the first of which is that of the measure which says most about it."""
    verdicts = [str(row["verdict"]) for row in rows]
    return BIASED if BIASED in verdicts else verdicts[0]


def headlines(view: ReportView, benchmark: str) -> list[tuple[str, str]]:
    """(verdict, sentence) for each axis of a benchmark: biased ones first, then what was not detected or measurable.

    view: the report; a run of an earlier version has no sentences, and the notes of its verdicts stand in. Axes of
    which a measure cannot say anything, for one reason, share a line.
    """
    told = view.headlines.filter(pl.col("benchmark") == benchmark)
    mine = _shared(told.select("verdict", "measure", "axis", "sentence").rows())
    if not mine:
        folded = summarise(view, benchmark)
        rows = (*folded.biased, *folded.not_detected, *folded.not_measurable)
        mine = [(v.verdict, f"{label(v.axis).capitalize()}: {v.note}") for v in rows]
    order = (BIASED, NOT_DETECTED, NOT_MEASURABLE)
    return sorted(mine, key=lambda line: order.index(line[0]))


def _shared(lines: Iterable[tuple[str, str, str | None, str]]) -> list[tuple[str, str]]:
    """(verdict, sentence) of (verdict, measure, axis, sentence): what cannot be said for one reason is said once.

    >>> _shared([(NOT_MEASURABLE, "m", axis, f"{axis.capitalize()}: cannot be said.") for axis in ("age", "race")])
    [('not measurable', 'Age, race: cannot be said.')]
    """
    parts: dict[tuple[str, str, str, int], list[tuple[str, str]]] = {}
    for place, (verdict, measure, axis, sentence) in enumerate(lines):
        name, _, reason = sentence.partition(": ")
        whole = verdict != NOT_MEASURABLE or axis is None or not reason
        key = (verdict, "", sentence, place) if whole else (verdict, measure, reason, -1)
        parts.setdefault(key, []).append((label(axis), name))
    told = []
    for (verdict, _, text, place), axes in parts.items():
        if place >= 0:
            told.append((verdict, text))
            continue
        names = [axes[0][1], *(axis for axis, _ in axes[1:])]
        told.append((verdict, f"{', '.join(names)}: {text}"))
    return told


def promise(n_axes: int, alpha: float, of: str = "audits", n_pairs: int = 0) -> str:
    """Return what the verdicts of a benchmark promise of all of them together.

    of: what would be repeated. n_pairs: pairs of axes whose interaction was tested; these share another `alpha`.

    >>> promise(13, 0.05)
    'If no axis had any difference, one or more of the 13 would be called biased in at most 5 % of audits.'
    """
    chance = f"in at most {100 * alpha:g} % of {of}"
    pairs = ""
    if n_pairs:
        which = "the pair" if n_pairs == 1 else f"one or more of the {n_pairs} pairs"
        pairs = f" If no gap depended on another axis, {which} would be called biased {chance}."
    if n_axes == 1:
        return f"If there were no difference, it would be called biased {chance}.{pairs}"
    return (
        f"If no axis had any difference, one or more of the {n_axes} would be called biased {chance}.{pairs}"
    )


def expected_false(view: ReportView) -> str:
    """How many axes of the whole report may be named by chance; empty where fewer than two measures judge.

    view: the report, whose measures are counted by benchmark.
    """
    measures = sum(len(view.judged(benchmark.name)) for benchmark in view.benchmarks)
    if measures < 2:
        return ""
    return (
        f"{measures} measures judge axes in this report: at most {view.alpha * measures:.2g} axes are expected to be "
        "called biased by chance."
    )
