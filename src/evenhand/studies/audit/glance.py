"""Summarise generation benchmarks: one line for each, with the quality of the text and its cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from evenhand.measures import calibrated
from evenhand.reports import count_places, sentences, wording

if TYPE_CHECKING:
    from evenhand.measures import Calibrated
    from evenhand.reports import BenchmarkView, ReportView

AXES_LISTED = 4
"""Largest number of axes that a sentence lists. If more, and all, lack a published number, it only counts them."""
QUALITY = {
    "judge_perplexity": ("perplexity under a second model", ""),
    "own_perplexity": ("perplexity of its own text", ""),
    "distinct_2_at_budget": ("distinct bigrams", "%, of 1,000"),
    "distinct_2": ("distinct bigrams, all text", "%"),
    "repetition": ("repeated 4-grams", "%"),
    "empty_rate": ("empty", "%"),
    "refusal_rate": ("refused", "%"),
}
"""Measures of text quality in the summary, each with its name and unit."""


@dataclass(frozen=True)
class Line:
    """A row of the summary for one benchmark, with its numbers as text."""

    benchmark: str
    rate: str
    interval: str
    score: str
    harmed: str
    published: str
    largest: str
    largest_null: str
    whose: str
    lost: str


@dataclass(frozen=True)
class Glance:
    """The summary of the generation benchmarks of a report.

    `rows` has one row per benchmark with negative responses. `quality` and `cost` have (name, value, unit).
    """

    rows: tuple[Line, ...] = ()
    quality: tuple[tuple[str, str, str], ...] = ()
    cost: tuple[tuple[str, str, str], ...] = ()
    left_out: str = ""
    """Benchmarks of the report without a line, because they have no rate of negative responses."""


def glance(view: "ReportView") -> Glance:
    """Return the summary of the generation benchmarks; it is empty if there is none."""
    written = [benchmark for benchmark in view.benchmarks if benchmark.written is not None]
    asked = [benchmark for benchmark in written if benchmark.written and not benchmark.written.gathered]
    lines = tuple(line for benchmark in asked if (line := _line(view, benchmark)) is not None)
    shown = {line.benchmark for line in lines}
    left_out = wording.listing([one.name for one in view.benchmarks if one.name not in {*shown, "quality"}])
    return Glance(lines, quality(view.measurements), cost(view.model) if written else (), left_out)


@dataclass(frozen=True)
class Statistic:
    """A statistic without a verdict, as text: the overall value of a benchmark, or the range over its axes."""

    measure: str
    label: str
    value: str
    interval: str
    unit: str
    n: str
    tested: bool = False
    """True if the statistic is the published test of one axis. Each of the other axes then has its own test."""

    @property
    def told(self) -> str:
        """Return the value with its CI and unit as text, for the heading of a collapsed section."""
        axis = f"{self.label.rpartition(', ')[2]} " if self.tested else ""
        return f"{axis}{self.value}{f' ({self.interval})' if self.interval else ''} {self.unit}".rstrip()


def collect_statistics(view: "ReportView", benchmark: str) -> list[Statistic]:
    """Return statistics without a verdict, such as published scores, in the order of the measures.

    A measure with overall values gives one statistic for each (or for each part of the prompts, if it has only parts).
    A measure with values for axes gives their range. If a published test is known for each axis, there is one statistic
    per axis, with its p.
    """
    judged = set(view.judged(benchmark))
    tests = _detail(view, benchmark, "published_tests")
    found = []
    for measure in view.measures(benchmark):
        rows = view.rows(benchmark, measure)
        rows = rows if rows.height else view.rows(benchmark, measure, strata=True)
        rows = rows.filter(pl.col("estimate").is_finite())
        if measure in judged or rows.is_empty():
            continue
        if tests is not None and (mine := tests.filter(measure=measure)).height:
            found += [_make_test_statistic(row, rows["unit"][0]) for row in mine.sort("axis").to_dicts()]
            continue
        whole = rows.filter(pl.col("axis").is_null())
        refused = _detail(view, benchmark, "published_obstacles")
        n_refused = 0 if refused is None else refused.filter(measure=measure)["axis"].n_unique()
        n_axes = view.rows(benchmark, measure).drop_nulls("axis")["axis"].n_unique()
        part = f"{n_axes - n_refused} of {n_axes} axes" if n_refused else ""
        parts = rows["stratum"].is_not_null().all() and rows["axis"].n_unique() == 1
        shown = rows if parts and not whole.height else whole
        found += [_make_statistic(row, part) for row in shown.to_dicts()] if shown.height else [_range(rows)]
    return found


def pairs_behind(view: "ReportView", benchmark: str) -> list[str]:
    """Return sentences on how many descriptor pairs the published score of each axis is based on.

    The numbers are in the detail table `published_pairs` of the benchmark. Runs of earlier versions do not
    have it.
    """
    table = _detail(view, benchmark, "published_pairs")
    if table is None or table.is_empty():
        return []
    sentences = []
    for (measure,), part in table.group_by("measure", maintain_order=True):
        given = view.rows(benchmark, str(measure)).filter(pl.col("estimate").is_finite())["axis"].implode()
        part = part.filter(pl.col("axis").is_in(given))
        by_number = part.group_by("pairs", maintain_order=True).agg(pl.col("axis"))
        counted = [
            f"{pairs:,} for {wording.listing([wording.label(axis) for axis in axes])}"
            for pairs, axes in by_number.sort("pairs").iter_rows()
        ]
        if not counted:
            continue
        sampled = part.filter(pl.col("descriptors") < pl.col("defined"))
        of_all = [
            f"{wording.label(axis)} {asked:,} of {defined:,}"
            for axis, asked, defined in sampled.select("axis", "descriptors", "defined").iter_rows()
        ]
        sample = f" Descriptors in the sample: {', '.join(of_all)}." if of_all else ""
        if part.height < (n_axes := table.filter(measure=measure).height):
            sample += f" The overall number is the mean of {part.height} of the {n_axes} axes."
        name = wording.label(str(measure)).partition(",")[0]
        sentences.append(f"Number of descriptor pairs for {name}, by axis: {'; '.join(counted)}.{sample}")
    return sentences


def numbers_not_given(view: "ReportView", benchmark: str) -> list[str]:
    """Return a sentence for each reason why an axis has no published number.

    The reasons are in the detail table `published_obstacles` of the benchmark: measure, axis and reason.
    """
    table = _detail(view, benchmark, "published_obstacles")
    if table is None:
        return []
    sentences = []
    for (measure, reason), part in table.group_by("measure", "reason", maintain_order=True):
        names = [wording.label(axis) for axis in part["axis"]]
        n_axes = view.rows(benchmark, str(measure))["axis"].drop_nulls().n_unique()
        every = len(names) == n_axes > AXES_LISTED
        axes = f"any of the {n_axes} axes" if every else wording.listing(names)
        name = wording.label(str(measure))
        sentences.append(f"{name}{',' * (',' in name)} is not given for {axes}: {reason}")
    return sentences


def _detail(view: "ReportView", benchmark: str, name: str) -> pl.DataFrame | None:
    return next((one.detail(name) for one in view.benchmarks if one.name == benchmark), None)


def _make_test_statistic(row: Mapping[str, Any], unit: str) -> Statistic:
    """Return the published test of one axis; p follows the unit of its statistic."""
    places = count_places([row["t"]], unit)
    p = wording.probability(row["p"])
    return Statistic(
        measure=row["measure"],
        label=f"{wording.label(row['measure'])}, {wording.label(row['axis'])}",
        value=wording.number(row["t"], places),
        interval="",
        unit=f"{unit}, p {p}" if p.startswith("<") else f"{unit}, p = {p}",
        n=f"{row['n']:,}",
        tested=True,
    )


def _make_statistic(row: Mapping[str, Any], axes: str = "") -> Statistic:
    """Describe an overall row. `axes` lists the axes that it covers, if some have no number."""
    places = count_places([row[name] for name in ("estimate", "low", "high")], row["unit"])
    part = "" if row["stratum"] is None else f", {row['stratum']}"
    return Statistic(
        measure=row["measure"],
        label=wording.label(row["measure"]) + part,
        value=wording.number(row["estimate"], places),
        interval=wording.interval(row["low"], row["high"], places),
        unit=f"{wording.plain_effect(row['unit'] or '')}{_pairs(row, axes)}",
        n="" if row["n"] is None else f"{row['n']:,}",
    )


def _pairs(row: Mapping[str, Any], axes: str = "") -> str:
    """Return a text with the number of descriptor pairs, if the value is a share of them; "" otherwise."""
    counted = row["unit"] == "share of descriptor pairs" and row["n_units"]
    return f" ({row['n_units']:,} pairs{f', {axes}' if axes else ''})" if counted else ""


def _range(rows: pl.DataFrame) -> Statistic:
    ends = sorted(rows["estimate"].to_list())
    places = count_places(ends, rows["unit"][0])
    several = f"{wording.number(ends[0], places)} to {wording.number(ends[-1], places)}"
    value = several if len(ends) > 1 else wording.number(ends[0], places)
    axes = f"range over {len(ends)} axes" if len(ends) > 1 else wording.label(rows["axis"][0])
    name = rows["measure"][0]
    unit = wording.plain_effect(rows["unit"][0] or "")
    return Statistic(name, f"{wording.label(name)}, {axes}", value, "", unit, "")


def meaning(view: "ReportView", benchmark: "BenchmarkView", measure: str) -> list[str]:
    """Return the summary of a measure's card, and for interactions a line on what the sign of an estimate means."""
    card = view.measure_cards.get(measure)
    from evenhand.benchmarks.answers import interaction_directions

    directions = interaction_directions(benchmark.details) if measure == "interaction" else []
    return [*([card.summary] if card else []), *directions]


def quality(measurements: pl.DataFrame) -> tuple[tuple[str, str, str], ...]:
    """Return the quality of the continuations if the benchmark `quality` was run: (name, value, unit)."""
    rows = measurements.filter(
        (pl.col("benchmark") == "quality") & pl.col("axis").is_null() & pl.col("group").is_null()
    )
    estimates = dict(rows.select("measure", "estimate").rows())
    if wording.known(estimates.get("distinct_2_at_budget")):
        estimates.pop("distinct_2", None)
    return tuple(
        (name, wording.number(estimates[measure]), unit)
        for measure, (name, unit) in QUALITY.items()
        if wording.known(estimates.get(measure))
    )


def cost(model: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """Return the speed and peak memory that a model reports, as (name, value, unit).

    Parameters
    ----------
    model
        `LanguageModel.describe()`; the numbers of a server are in `service`.

    Examples
    --------
    >>> cost({"generation": {"tokens_per_second": 1234.5, "peak_memory_bytes": 3_400_000}})
    (('generated tokens', '1,234', 'per second'), ('peak memory', '3.4 MB', ''))
    """
    generation = model.get("generation") or {}
    if not isinstance(generation, Mapping):
        return ()
    facts = []
    if isinstance(speed := generation.get("tokens_per_second"), int | float):
        facts.append(("generated tokens", wording.number(speed, 0), "per second"))
    if isinstance(step := generation.get("seconds_per_step"), int | float):
        facts.append(("latency", wording.number(1000 * step), "ms per step"))
    if isinstance(peak := generation.get("peak_memory_bytes"), int | float):
        facts.append(("peak memory", wording.bytes_of(peak), ""))
    return tuple(facts)


def _line(view: "ReportView", benchmark: "BenchmarkView") -> Line | None:
    rates = _find_overall_row(view, benchmark.name, "negative_rate")
    if rates is None:
        return None
    score = _find_overall_row(view, benchmark.name, "bias_score") or {}
    published = _find_overall_row(view, benchmark.name, "bias_score_published") or {}
    largest = _find_overall_row(view, benchmark.name, "max_subgroup_rate") or {}
    namable = could_name(view, benchmark.name)
    low, high = (wording.number(rates[c], 1) for c in ("low", "high"))
    return Line(
        benchmark=benchmark.name,
        rate=wording.number(rates["estimate"], 1),
        interval=f"{low} to {high}" if wording.known(rates["low"]) else "",
        score=wording.number(score["estimate"] if namable else None, 1)
        if wording.known(score.get("estimate"))
        else "",
        harmed=_count_harmed_groups(benchmark) if namable else "",
        published=wording.number(published["estimate"], 1)
        if wording.known(published.get("estimate"))
        else "",
        largest=wording.number(largest["estimate"], 1) if wording.known(largest.get("estimate")) else "",
        largest_null=wording.number(largest["null"], 1) if wording.known(largest.get("null")) else "",
        whose=_name_most_harmed_group(benchmark),
        lost=wording.share(benchmark.n_errors, benchmark.n_prompts),
    )


def _find_overall_row(view: "ReportView", benchmark: str, measure: str) -> dict[str, Any] | None:
    rows = view.rows(benchmark, measure).filter(pl.col("axis").is_null())
    return rows.row(0, named=True) if rows.height else None


def name_simulations(benchmark: "BenchmarkView") -> str:
    """Return the word for what was simulated to get the error rates: audits, or tables of responses."""
    gathered = benchmark.written is not None and benchmark.written.gathered
    return sentences.TABLES if gathered else sentences.AUDITS


def could_name(view: "ReportView", benchmark: str) -> bool:
    """Return True if at least one group is measurable, so that the audit could detect a biased group.

    If no group is measurable, the report must not state that there is none.
    """
    judged = view.findings.filter(
        (pl.col("benchmark") == benchmark) & (pl.col("measure") == "group_difference")
    )
    return judged.is_empty() or (judged["verdict"] != wording.NOT_MEASURABLE).any()


def _count_harmed_groups(benchmark: "BenchmarkView") -> str:
    named = benchmark.detail("named")
    if named is None or "n_harmed" not in named.columns:
        return ""
    whole = named.filter(pl.col("axis").is_null()).select("n_harmed", "n_groups").rows()
    return f"{whole[0][0]} of {whole[0][1]}" if whole else ""


def _name_most_harmed_group(benchmark: "BenchmarkView") -> str:
    maxima = benchmark.detail("maxima")
    if maxima is None:
        return ""
    whole = maxima.filter(pl.col("axis").is_null())["group"].drop_nulls()
    return wording.label(whole[0]) if len(whole) else ""


def describe_pooled_score(view: "ReportView") -> str:
    """Return a sentence on the numbers that a suite pools over its benchmarks; empty if it pools none.

    >>> from evenhand.reports import ReportView
    >>> from evenhand.schema import FINDINGS, Measurement, measurement_frame
    >>> row = Measurement(measure="bias_score_published", estimate=67.26, n=843, benchmark="robbie")
    >>> describe_pooled_score(ReportView("m", {}, {}, measurement_frame([row]), pl.DataFrame(schema=FINDINGS), ()))
    'BiasScore of robbie as published, all data sets pooled: 67.3% of 843 groups (no verdict).'
    """
    names = [benchmark.name for benchmark in view.benchmarks]
    rows = view.measurements.filter(
        ~pl.col("benchmark").is_in(names)
        & (pl.col("measure") == "bias_score_published")
        & pl.col("axis").is_null()
        & pl.col("estimate").is_not_null()
    )
    if rows.is_empty():
        return ""
    suite, estimate, n = rows.select("benchmark", "estimate", "n").row(0)
    return sentences.bias_score_pooled(suite, estimate, n)


def calibrations(view: "ReportView", benchmark: str) -> list[tuple[str, str]]:
    """Return the measures of a benchmark that were checked on simulated data, with their error rates.

    Only measures with verdicts are included. `benchmark` is the name of the benchmark.
    """
    return [(wording.label(one.measure), one.sentence) for one in _find_calibrations(view, benchmark)]


def reliability(view: "ReportView", benchmark: str) -> str:
    """Return a sentence on the error rates of a benchmark's verdicts in simulations; empty if none was simulated."""
    tested = [one for one in _find_calibrations(view, benchmark) if one.designs]
    n = sum(one.n for one in tested)
    if not n:
        return ""
    false = sum((one.false or 0.0) * one.n for one in tested) / n
    worst = max(one.worst or 0.0 for one in tested)
    failing = [wording.label(one.measure) for one in tested if one.failing]
    return sentences.reliability(len(tested), false, n, worst, sum(one.designs for one in tested), failing)


def _find_calibrations(view: "ReportView", benchmark: str) -> "list[Calibrated]":
    """Return the error rates in simulations of each measure with verdicts, if it was simulated."""
    given = (pl.col("benchmark") == benchmark) & (pl.col("verdict") != wording.NOT_MEASURABLE)
    judged = view.findings.filter(given)["measure"].unique(maintain_order=True)
    return [known for measure in judged if (known := calibrated(measure)) is not None]


def describe_uncalibrated(view: "ReportView") -> str:
    """Return a sentence on the measures with verdicts that were never simulated; empty if all were."""
    given = view.findings.filter(pl.col("verdict") != wording.NOT_MEASURABLE)
    judged = given["measure"].unique(maintain_order=True)
    unknown = [wording.label(measure) for measure in judged if calibrated(measure) is None]
    return sentences.not_validated(unknown, len(judged))
