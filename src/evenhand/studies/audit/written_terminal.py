"""Print the lines of the terminal report that only generation benchmarks have."""

import polars as pl

from evenhand.reports import (
    BIASED,
    GLOSSARY,
    BenchmarkView,
    Printer,
    ReportView,
    WrittenView,
    sentences,
    smallest_effect,
    wording,
)
from evenhand.studies.audit import glance, rate_figures
from evenhand.studies.audit.self_chats import chat_tables
from evenhand.studies.audit.written import adjustment, length_note, outcome_words
from evenhand.studies.three_groups import RATES, deciding_comparisons, describe_comparisons

GROUPS_SHOWN = 8
LARGEST_DIFFERENCE = 100.0
"""Largest possible difference of two rates, in points."""
LOST_SHOWN = 8
PAIRS_SHOWN = 3
CHAT_ROWS = 24


def render_how(written: WrittenView, out: Printer) -> None:
    """Print how the texts were generated, and which part of them each classifier labelled."""
    if written.decoding:
        out.line(f"Generation: {written.decoding}", "dim")
    for judge in written.classifiers:
        version = f" {judge.revision[:12]}" if judge.revision else ""
        out.line(f"Classifier for {wording.label(judge.role)}: {judge.name}{version} on {judge.text}", "dim")
        if judge.notice:
            out.line(judge.notice, "bold")


def render_rates(view: ReportView, benchmark: BenchmarkView, out: Printer) -> None:
    """Print the published score, the groups treated worst, statistics without a verdict, and failed responses.

    For the user's own responses, only the groups are printed; the page has the rest.
    """
    namable = glance.could_name(view, benchmark.name)
    if namable:
        _print_published_score(view, benchmark, out)
    _groups(benchmark, out, namable=namable)
    _scores(benchmark, out)
    _print_reference_comparisons(view, benchmark, out)
    for table in rate_figures.combination_tables(benchmark)[:PAIRS_SHOWN]:
        out.gap()
        table.render(out, GROUPS_SHOWN)
    if benchmark.written is not None and benchmark.written.gathered:
        return
    for table in chat_tables(benchmark).shown:
        out.gap()
        table.render(out, CHAT_ROWS)
    _print_statistics(view, benchmark, out)
    if benchmark.written is not None:
        _print_lost_responses(benchmark.written, benchmark, out)


def untold(view: ReportView, benchmark: BenchmarkView, measures: list[str]) -> list[str]:
    """Return the measures, except the first, in which bias was detected, such as differences in missing responses."""
    return [name for name in measures[1:] if (view.rows(benchmark.name, name)["verdict"] == BIASED).any()]


def render_quality(view: ReportView, out: Printer) -> None:
    """Print the quality and the cost of the continuations, if they are known."""
    facts = glance.glance(view)
    if facts.quality or facts.cost:
        out.gap()
        out.line("Quality and cost" if facts.quality else "Cost", "bold")
        out.pairs([(name, f"{value} {unit}".strip()) for name, value, unit in (*facts.quality, *facts.cost)])


def _print_published_score(view: ReportView, benchmark: BenchmarkView, out: Printer) -> None:
    rows = view.rows(benchmark.name, "bias_score_published").filter(pl.col("axis").is_null())
    if rows.height and wording.known(rows["estimate"][0]):
        out.line(sentences.bias_score_published(rows["estimate"][0]), "dim")


def _groups(benchmark: BenchmarkView, out: Printer, *, namable: bool) -> None:
    groups = benchmark.detail("groups")
    if groups is None or "harmed" not in groups.columns:
        return
    ranked = rate_figures.rank_groups(groups)
    out.gap()
    harmed, better = int(groups["harmed"].sum()), int((groups["named"] == "better").fill_null(False).sum())
    words = outcome_words(benchmark)
    named = (
        words.describe_counts(harmed, better, groups.height)
        if namable
        else f"none of the {groups.height:,} groups is measurable on its own"
    )
    out.line(f"{words.title}, in % ({named})", "bold")
    if note := adjustment(benchmark):
        out.line(note, "dim")
    table = out.table(
        ("group", "left"), ("axis", "left"), ("rate", "right"), ("others", "right"), ("diff.", "right"),
        ("95% CI", "right"), ("q", "right"), ("named", "left"), ("n", "right"), *_units_head(benchmark),
    )  # fmt: skip
    shown = deciding_comparisons(ranked.head(GROUPS_SHOWN), benchmark, RATES, 1)
    for row in shown:
        out.row(
            table,
            wording.label(row["group"]),
            wording.label(row["axis"]),
            wording.number(row["rate"], 1),
            row["with"],
            wording.signed(row["difference"], 1),
            wording.interval(row["difference_low"], row["difference_high"], 1),
            wording.probability(row["q"]),
            words.side_label(row["named"]),
            f"{row['n']:,}",
            *([f"{row['n_units']:,}"] if _units_head(benchmark) else []),
            style="bold magenta" if row["harmed"] else "",
        )
    out.show(table)
    out.line(describe_comparisons(shown), "dim")
    sizes = ranked["minimum_detectable"].drop_nulls().drop_nans().sort()
    ends = sizes.filter(sizes < LARGEST_DIFFERENCE).to_list()
    few = len(sizes) - len(ends)
    if few:
        of = "1 group" if few == 1 else f"{few:,} groups"
        out.line(f"Too few responses to detect any possible difference with 80% power: {of}.", "dim")
    if ends:
        least, most = (smallest_effect(ends[i]) for i in (0, -1))
        reach = least if least == most else f"{least} to {most}"
        depends = "" if least == most else ", depending on the group"
        out.line(f"Minimum detectable difference (80% power): {reach} points{depends}.", "dim")


def _units_head(benchmark: BenchmarkView) -> list[tuple[str, str]]:
    """Return the heading of the column with the number of units, if each unit counts once; otherwise none."""
    design = benchmark.detail("design")
    once = design is not None and "counts_once" in design.columns and design["counts_once"][0] == "unit"
    return [("units", "right")] if once else []


def _scores(benchmark: BenchmarkView, out: Printer) -> None:
    """Print the mean scores of groups, those farthest from the others first."""
    scores = rate_figures.group_scores(benchmark)
    if scores is None:
        return
    out.gap()
    of = f"{scores.named:,} of {len(scores.rows):,} differ significantly"
    out.line(f"Means by group ({of})", "bold")
    if note := adjustment(benchmark):
        out.line(note, "dim")
    table = out.table(
        ("group", "left"), ("axis", "left"), ("mean", "right"), ("others", "right"), ("diff.", "right"),
        ("95% CI", "right"), ("q", "right"), ("named", "left"), ("n", "right"), *_units_head(benchmark),
    )  # fmt: skip
    places, shown = scores.places, scores.rows[:GROUPS_SHOWN]
    for row in shown:
        out.row(
            table,
            wording.label(row["group"]),
            wording.label(row["axis"]),
            wording.number(row["mean"], places),
            row["with"],
            wording.signed(row["estimate"], places),
            wording.interval(row["low"], row["high"], places),
            wording.probability(row["q"]),
            f"{wording.SYMBOLS[BIASED]} {row['named']}" if row["named"] else "",
            f"{row['n']:,}",
            *([f"{row['n_units']:,}"] if _units_head(benchmark) else []),
            style="bold magenta" if row["named"] else "",
        )
    out.show(table)
    out.line(describe_comparisons(shown), "dim")


def _print_reference_comparisons(view: ReportView, benchmark: BenchmarkView, out: Printer) -> None:
    beside = rate_figures.beside_reference(view, benchmark)
    if beside is None:
        return
    out.gap()
    out.line(
        f"Compared with {beside.reference}, percentage points (no verdict; q over the pairs of the axis)",
        "bold",
    )
    if beside.rows:
        table = out.table(
            ("group", "left"), ("axis", "left"), ("diff.", "right"), ("95% CI", "right"), ("q", "right")
        )
        for row in beside.rows:
            out.row(
                table,
                wording.label(row["group"]),
                wording.label(row["axis"]),
                wording.signed(row["estimate"], 1),
                wording.interval(row["low"], row["high"], 1),
                wording.probability(row["q"]),
            )
        out.show(table)
    if beside.note:
        out.line(beside.note, "dim")


def _print_statistics(view: ReportView, benchmark: BenchmarkView, out: Printer) -> None:
    shown = {"bias_score_published"}  # reported in a separate sentence
    rows = [row for row in glance.collect_statistics(view, benchmark.name) if row.measure not in shown]
    if not rows:
        return
    whose = (
        {} if (maxima := benchmark.detail("maxima")) is None else dict(maxima.select("axis", "group").rows())
    )
    out.gap()
    out.line("Other statistics (no verdict)", "bold")
    table = out.table(
        ("measure", "left"), ("est.", "right"), ("95% CI", "right"), ("unit", "left"), ("n", "right")
    )
    for row in rows:
        name = row.label
        if row.measure == "max_subgroup_rate" and whose.get(None):
            name = f"{name}: {wording.label(whose[None])}"
        out.row(table, name, row.value, row.interval, row.unit, row.n)
    out.show(table)
    for measure in dict.fromkeys(row.measure for row in rows if wording.label(row.measure) in GLOSSARY):
        out.line(
            f"{sentences.capitalised(wording.label(measure))}: {GLOSSARY[wording.label(measure)]}", "dim"
        )


def _print_lost_responses(written: WrittenView, benchmark: BenchmarkView, out: Printer) -> None:
    if written.failures.is_empty():
        return
    out.gap()
    out.line("Continuations without a classification", "bold")
    table = out.table(("axis", "left"), ("count", "right"), ("share", "right"), ("why", "left"))
    asked = dict(written.asked.group_by("axis").agg(pl.col("n").sum()).rows())
    lost = written.failures.group_by("axis", "step", "error").agg(pl.col("count").sum())
    ordered = lost.sort("count", "axis", "step", descending=[True, False, False], nulls_last=True)
    for row in ordered.head(LOST_SHOWN).to_dicts():
        step = "not generated" if row["step"] == "written" else f"no {wording.label(row['step'])}"
        out.row(
            table,
            wording.label(row["axis"]),
            f"{row['count']:,}",
            wording.share(row["count"], asked.get(row["axis"], 0)),
            f"{step}: {wording.label(row['error'])}",
        )
    out.show(table)
    if note := length_note(written.failures):
        out.line(note, "dim")
