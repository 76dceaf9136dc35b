"""Render report.html: the whole audit on one page that needs no network, verdict first."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.reports import (
    BenchmarkView,
    Forest,
    HeatMap,
    ReportView,
    alike_groups,
    figures,
    heat_map,
    rendered,
    sentences,
    verdict_summary,
    wording,
)
from evenhand.schema import Card
from evenhand.studies.audit import rate_figures
from evenhand.studies.audit.axis_chart import AxisPanel, axis_chart
from evenhand.studies.audit.glance import (
    calibrations,
    collect_statistics,
    could_name,
    describe_pooled_score,
    describe_uncalibrated,
    glance,
    name_simulations,
    numbers_not_given,
    pairs_behind,
    reliability,
)
from evenhand.studies.audit.written import FAILING, WrittenSection, written_section
from evenhand.studies.provenance import citations, describe_run

PAIRS_SHOWN = 10
GROUPS_SHOWN = 10
NAMED_SHOWN = 5
_BELOW = pl.col("shift") < 0


@dataclass(frozen=True)
class MeasureSection:
    name: str
    label: str
    card: Card | None
    forest: Forest
    judged: bool
    told: str = ""
    """Value across all axes, or range over the axes, of a measure without a verdict."""


@dataclass(frozen=True)
class AxisSection:
    """The details of one axis."""

    label: str
    verdict: verdict_summary.AxisVerdict | None
    likely: tuple[Forest, Forest] | None
    valence: tuple[Forest, Forest] | None
    opinions: list[str]
    beside: list[dict[str, Any]]
    heat: HeatMap | None
    pairs: list[dict[str, Any]]
    descriptors: list[dict[str, Any]]


@dataclass(frozen=True)
class BenchmarkSection:
    view: BenchmarkView
    anchor: str
    summary: verdict_summary.VerdictSummary
    chart: tuple[AxisPanel, ...]
    headlines: list[tuple[str, str, bool]]
    """Verdict, sentence, and whether it is the first sentence on its axis that detected a bias."""
    promise: str
    repeated: str
    reliability: str
    calibrations: list[tuple[str, str]]
    measures: list[MeasureSection]
    matrix: list[tuple[str, list[tuple[str, str, str]]]]
    not_in_matrix: str
    """Text that lists the measures of the benchmark that are not in the matrix."""
    scorings: Forest | None
    distributions: Forest | None
    axes: list[AxisSection]
    singled_out: list[tuple[str, str, int, list[dict[str, Any]]]]
    error_kinds: list[str]
    errors: list[tuple[str, list[int], int]]
    unmeasured: list[dict[str, Any]]
    unmeasured_groups: int
    written: WrittenSection | None
    namable: bool
    not_given: list[str]
    """Sentences on the pairs behind published scores of axes, and on why some axes have no score."""

    @property
    def order(self) -> int:
        """Return the place among the verdicts: benchmarks with a detected bias first, those without a verdict last."""
        found = bool(self.summary.biased) or any(
            pair.verdict == wording.BIASED for pair in self.summary.pairs
        )
        return 0 if found else 1 if self.summary.not_detected else 2


def render_html(view: ReportView) -> str:
    """Return the report as one HTML document with styles and drawings inside; every text is escaped.

    Its content security policy forbids all requests, and all scripts except its own, which only unfolds sections before
    printing.

    >>> import polars as pl
    >>> from evenhand.schema import FINDINGS, MEASUREMENTS
    >>> empty = pl.DataFrame(schema=MEASUREMENTS), pl.DataFrame(schema=FINDINGS)
    >>> "&lt;b&gt;" in render_html(ReportView("<b>", {}, {}, *empty, ()))
    True
    """
    sections = [_benchmark(view, benchmark, i) for i, benchmark in enumerate(view.benchmarks)]
    cited = [*((benchmark.name, benchmark.card) for benchmark in view.benchmarks), *_measure_cards(view)]
    return rendered(
        Path(__file__).with_name("report.html.j2"),
        view=view,
        sections=sections,
        gathered=has_own_responses(view),
        glance=glance(view),
        pooled=describe_pooled_score(view),
        longer_than_allowed=wording.longer_than_allowed(view.model),
        settings_not_used=wording.settings_not_used(view.model),
        expected_false=verdict_summary.expected_false(view),
        uncalibrated=describe_uncalibrated(view),
        alike=alike_groups(view),
        quotes=any(_quotes(section) for section in sections),
        cards=_measure_cards(view),
        citations=citations((name, card.citation, card.licence) for name, card in cited),
        facts=_facts(view),
        provenance=describe_run(view),
    )


def _benchmark(view: ReportView, benchmark: BenchmarkView, number: int) -> BenchmarkSection:
    name = benchmark.name
    judged = view.judged(name)
    measures = []
    beside: dict[str, str] = {}
    for found in collect_statistics(view, name):
        earlier = f"{beside[found.measure]}; " if found.tested and found.measure in beside else ""
        beside[found.measure] = earlier + found.told
    for measure in view.measures(name):
        forest = figures.measure_forest(view, benchmark, measure)
        if forest is not None:
            card = view.measure_cards.get(measure)
            is_judged, told = measure in judged, beside.get(measure, "")
            measures.append(MeasureSection(measure, wording.label(measure), card, forest, is_judged, told))
    summary = verdict_summary.summarise(view, name)
    lines = verdict_summary.headlines(view, name)
    verdicts = {v.axis: v for v in (*summary.biased, *summary.not_detected, *summary.not_measurable)}
    kinds, errors = _errors(benchmark)
    written = written_section(view, benchmark)
    drawn = (
        set()
        if written is None
        else {"negative_rate", *FAILING, *(figure.name for figure in written.figures)}
    )
    elsewhere = [measure for measure in view.measures(name) if measure not in drawn]
    blank = view.findings.filter(
        (pl.col("benchmark") == name) & (pl.col("verdict") == wording.NOT_MEASURABLE)
    )
    return BenchmarkSection(
        view=benchmark,
        anchor=f"b{number}",
        summary=summary,
        chart=axis_chart(view, benchmark, summary),
        headlines=[
            (*line, first) for line, first in zip(lines, verdict_summary.first_of_axes(lines), strict=True)
        ],
        promise=sentences.error_control(
            benchmark.n_axes, view.alpha, name_simulations(benchmark), len(summary.pairs)
        ),
        repeated=name_simulations(benchmark),
        reliability=reliability(view, name),
        calibrations=calibrations(view, name),
        measures=measures,
        matrix=_matrix([m for m in measures if m.judged]),
        not_in_matrix=wording.listing(
            [wording.label(measure) for measure in view.measures(name) if measure not in judged]
        ),
        scorings=figures.scoring_forest(view, benchmark),
        distributions=figures.distributions(benchmark),
        axes=[_axis(benchmark, axis, verdicts.get(axis), view.alpha) for axis in _axes(benchmark)],
        singled_out=[
            s
            for m in elsewhere
            if not (m == "group_difference" and rate_figures.has_threshold(benchmark))  # no worse side
            and (s := _singled_out(view, name, m)) is not None
        ],
        error_kinds=kinds,
        errors=errors,
        unmeasured=blank.filter(pl.col("group").is_null()).to_dicts(),
        unmeasured_groups=blank.drop_nulls("group").select("axis", "group").n_unique(),
        written=written,
        namable=could_name(view, name),
        not_given=[*pairs_behind(view, name), *numbers_not_given(view, name)],
    )


def _quotes(section: BenchmarkSection) -> bool:
    """Return True if the page quotes words or sentences of a benchmark or a model."""
    examples = section.view.examples
    shown = examples is not None and examples.height > 0
    return bool(shown or section.axes or (section.written is not None and section.written.examples))


MARGIN = re.compile(r", over ([0-9.e-]+) counts$")
"""End of a unit that states the smallest relevant effect."""


def _singled_out(
    view: ReportView, benchmark: str, measure: str
) -> tuple[str, str, int, list[dict[str, Any]]] | None:
    """Return (measure, unit, number of biased groups, rows farthest from the null); None if no group is biased."""
    biased = view.rows(benchmark, measure, groups=True).filter(pl.col("verdict") == wording.BIASED)
    if biased.is_empty():
        return None
    distance = (pl.col("estimate") - pl.col("null").fill_null(0.0)).abs()
    farthest = biased.sort(distance, "group", descending=[True, False], nulls_last=True).head(GROUPS_SHOWN)
    unit, rows = biased["unit"][0] or "", farthest.to_dicts()
    if (margin := MARGIN.search(unit)) is not None:
        # the tested value is the end of the margin, but without bias the value is 0
        rows = [row | {"null": 0.0} for row in rows]
        unit = f"{unit[: margin.start()]}; only values shown to be more than {margin[1]} from the null count"
    return wording.label(measure), unit, biased.height, rows


def _matrix(measures: list[MeasureSection]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Return (axis, [(CSS class, symbol, verdict) of each measure]) rows; empty with fewer than two measures."""
    if len(measures) < 2:
        return []
    axes = dict.fromkeys(row.label for m in measures for row in m.forest.rows)
    cells = [{row.label: (row.kind, row.symbol, row.verdict) for row in m.forest.rows} for m in measures]
    return [(axis, [column.get(axis, ("", "", "")) for column in cells]) for axis in axes]


def _axes(benchmark: BenchmarkView) -> list[str]:
    frames = (benchmark.detail(name) for name in ("descriptors", "valence", "descriptor_templates", "pairs"))
    return list(
        dict.fromkeys(a for f in frames if f is not None for a in f["axis"].to_list() if a is not None)
    )


def _axis(
    benchmark: BenchmarkView, axis: str, verdict: verdict_summary.AxisVerdict | None, alpha: float
) -> AxisSection:
    descriptors = benchmark.detail("descriptors", axis)
    valence = benchmark.detail("valence", axis)
    compared = benchmark.detail("valence_pairs", axis)
    pairs = benchmark.detail("pairs", axis)
    if pairs is not None:
        pairs = pairs.sort(pl.col("log_ratio").abs(), descending=True, nulls_last=True).head(PAIRS_SHOWN)
    return AxisSection(
        label=wording.label(axis),
        verdict=verdict,
        likely=None if descriptors is None else figures.extremes(descriptors, "log_ratio", alpha),
        valence=None if valence is None else figures.extremes(valence, "shift", alpha),
        opinions=[] if valence is None else _opinions(valence, benchmark.detail("valence_axes", axis), alpha),
        beside=[] if compared is None else compared.sort("p_adjusted", "p", nulls_last=True).to_dicts(),
        heat=heat_map(benchmark, axis),
        pairs=[] if pairs is None else pairs.to_dicts(),
        descriptors=[] if descriptors is None else descriptors.sort("descriptor").to_dicts(),
    )


def _opinions(valence: pl.DataFrame, axes: pl.DataFrame | None, alpha: float) -> list[str]:
    """Return sentences on the details of valence: the tested sentences, how much of the axis was tested, caveats."""
    lines = []
    if "here_named" in valence.columns:
        named = valence.filter(pl.col("here_named")).sort("shift")
        colder, warmer = (named.filter(side)["descriptor"].to_list() for side in (_BELOW, ~_BELOW))
        found = [
            f"{side}: {_shorten_list(who)}"
            for side, who in (("more hostile", colder), ("more kind", warmer[::-1]))
            if who
        ]
        lines.append(
            "In the tested sentences alone (this does not generalise to others): "
            + ("; ".join(found) if found else "no descriptor differs")
            + "."
        )
    for row in [] if axes is None else axes.to_dicts():
        drawn, defined, low = (row.get(name) for name in ("n_drawn", "n_defined", "differ_low"))
        if drawn is not None and defined is not None and low is not None:
            differ = valence.filter(pl.col("q") <= alpha).height
            high = row["differ_high"]
            estimated = f"{low}" if low == high else f"{low} to {high}"
            line = f"{differ} of the {drawn} tested descriptors differ from the others, after correction for all axes. "
            line += f"Of all {defined} descriptors of the axis, an estimated {estimated} differ (95% CI for this axis "
            line += "alone). The upper bound includes tested descriptors for which a difference could not be ruled out."
            if row.get("chance_drawn") is not None and defined > drawn:
                line += (
                    f" If only one descriptor is affected, a sample of {drawn} includes it with probability "
                )
                line += f"{row['chance_drawn']:.0%}."
            lines.append(line)
        if row.get("note"):
            lines.append(row["note"])
    return lines


def _shorten_list(names: list[str]) -> str:
    rest = len(names) - NAMED_SHOWN
    return ", ".join(names[:NAMED_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _errors(benchmark: BenchmarkView) -> tuple[list[str], list[tuple[str, list[int], int]]]:
    frame = benchmark.errors
    if frame is None or frame.is_empty():
        return [], []
    frame = frame.filter(pl.col("error").is_not_null() & (pl.col("count") > 0))
    kinds = sorted(frame["error"].unique().to_list())
    counts: dict[str | None, dict[str, int]] = {}
    for axis, error, count in frame.select("axis", "error", "count").rows():
        counts.setdefault(axis, {})[error] = count
    lines = [
        (wording.label(a), [row.get(k, 0) for k in kinds], sum(row.values())) for a, row in counts.items()
    ]
    return [wording.label(k) for k in kinds], sorted(lines, key=lambda line: -line[2])


def _measure_cards(view: ReportView) -> list[tuple[str, Card]]:
    used = dict.fromkeys(m for b in view.benchmarks for m in view.measures(b.name))
    return [(wording.label(name), view.measure_cards[name]) for name in used if name in view.measure_cards]


def has_own_responses(view: ReportView) -> bool:
    """Return True if the report is about responses that the user provided, not about a model."""
    parts = [b.written is not None and b.written.gathered for b in view.benchmarks]
    return bool(parts) and all(parts)


def _facts(view: ReportView) -> list[tuple[str, str]]:
    """Return the facts (name, value) that are shown below the title."""
    total = sum(b.n_prompts if b.written is None else b.written.n_prompts for b in view.benchmarks)
    what = "responses" if has_own_responses(view) else "prompts"
    facts = [("benchmarks", ", ".join(b.name for b in view.benchmarks)), (what, f"{total:,}")]
    stated = {**dict(view.manifest.get("model") or {}), **view.model}
    named = [(key, stated.get(key)) for key in ("architecture", "parameters", "dtype", "device")]
    facts += [(k, f"{v:,}" if isinstance(v, int) else str(v)) for k, v in named if v is not None]
    if created := view.manifest.get("created"):
        facts.append(("run", str(created).replace("T", " ")[:16]))
    return [(key, value) for key, value in facts if value]
