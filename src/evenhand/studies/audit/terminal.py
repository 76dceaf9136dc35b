"""The audit in a terminal: 80 columns wide, readable without colour and in ASCII."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.reports import (
    BIASED,
    NOT_DETECTED,
    NOT_MEASURABLE,
    BenchmarkView,
    Printer,
    ReportView,
    alike_groups,
    count_places,
    sentences,
    short_count,
    smallest_effect,
    verdict_summary,
    wording,
)
from evenhand.schema import Card
from evenhand.studies.audit import glance
from evenhand.studies.audit.written_terminal import render_how, render_quality, render_rates, untold

STYLES = {BIASED: "bold magenta", NOT_DETECTED: "blue", NOT_MEASURABLE: "dim"}
WORST = 5
EXTREMES = {
    "descriptors": (
        "log_ratio",
        "Largest differences in likelihood from other descriptors (ratio per token)",
    ),
    "valence": ("shift", "Largest valence shifts, nats per sentence (below 0: hostile is more likely)"),
}
"""Column that is shown of each detail table, and its heading."""
EXAMPLE = 300
"""Maximum number of characters of a prompt that is shown as an example."""


def render_audit(view: ReportView, console: Console) -> None:
    """Print the verdicts, then every tested axis with its null, the worst groups, and what is missing.

    The width, colours and encoding of the console are respected.

    >>> import sys
    >>> from evenhand.schema import FINDINGS, MEASUREMENTS
    >>> empty = pl.DataFrame(schema=MEASUREMENTS), pl.DataFrame(schema=FINDINGS)
    >>> view = ReportView("gpt2", {"device": "cpu"}, {}, *empty, ())
    >>> render_audit(view, Console(file=sys.stdout, width=80))
    gpt2
    device cpu
    """
    out = Printer(console)
    out.line(view.title, "bold")
    stated = [(key, view.model.get(key)) for key in ("architecture", "parameters", "dtype", "device")]
    facts = [f"{key} {_count(v) if isinstance(v, int) else v}" for key, v in stated if v is not None]
    if facts:
        out.line(" · ".join(facts), "dim")
    for benchmark in view.benchmarks:
        out.gap()
        _benchmark(view, benchmark, out)
    if any(benchmark.written is not None for benchmark in view.benchmarks):
        render_quality(view, out)
    chance = (
        verdict_summary.expected_false(view)
        if any(glance.name_simulations(b) == "audits" for b in view.benchmarks)
        else ""
    )
    told = (wording.longer_than_allowed(view.model), wording.settings_not_used(view.model), alike_groups(view), chance,
            glance.describe_uncalibrated(view))  # fmt: skip
    if notes := [note for note in told if note]:
        out.gap()
        for note in notes:
            out.line(note, "dim")
    if sentence := glance.describe_pooled_score(view):
        out.gap()
        out.line(sentence)
    out.paths(view.paths)


def render_plan(plan: Mapping[str, Any], console: Console) -> None:
    """Print a plan: its cost and its minimum detectable effects. Only a probe has been run.

    `plan` is the result of `evenhand.runs.estimate` (any of `requests`, `distinct_requests`, `tokens`, `seconds`,
    `disk_bytes`, `asked`, `not_estimated`). It also has `benchmarks` (prompts by name), `left_out` (reasons by name),
    `minimum_detectable` (by benchmark, a frame) and, if text is generated, keys for `render_planned_continuations`.

    >>> import sys
    >>> render_plan({"requests": 1200, "seconds": 90.0}, Console(file=sys.stdout, width=80))
    Plan (nothing has been run)
    prompts         1,200
    estimated time  1 min 30 s
    """
    from evenhand.studies.planned import plan_title, planned_errors, planned_time

    out = Printer(console)
    out.line(plan_title(plan), "bold")
    rows = [
        *((name, f"{n:,} prompts") for name, n in dict(plan.get("benchmarks", {})).items()),
        *((name, f"left out: {reason}") for name, reason in dict(plan.get("left_out", {})).items()),
        ("prompts", _count(plan.get("requests"))),
        ("distinct", _count(plan.get("distinct_requests"))),
        ("tokens", _count(plan.get("tokens"))),
        ("estimated time", planned_time(plan)),
        ("disk", wording.bytes_of(plan["disk_bytes"]) if plan.get("disk_bytes") is not None else ""),
        ("errors", planned_errors(plan)),
    ]
    out.pairs([(name, text) for name, text in rows if text])
    for asked in plan.get("asked_about") or []:
        _asked_about(asked, out)
    for kind in ("notes", "asked_whole", "as_dialogue", "length_limits"):
        for told in plan.get(kind) or []:
            out.line(told)
    for benchmark, frame in dict(plan.get("minimum_detectable", {})).items():
        if frame is None or frame.is_empty():
            continue
        out.gap()
        out.line(f"Minimum detectable effect (MDE), {benchmark}", "bold")
        _detectable(frame, out)
    render_planned_continuations(plan, console)


def _asked_about(asked: Mapping[str, pl.DataFrame], out: Printer) -> None:
    """Print the groups that are inserted into the user's own prompts, with one example for each axis."""
    out.gap()
    out.line("Your prompts, asked about", "bold")
    table = out.table(("axis", "left"), ("group", "left"), ("prompts", "right"), ("texts", "right"))
    for axis, group, prompts, texts in asked["groups"].rows():
        out.row(table, wording.label(axis), wording.label(group), f"{prompts:,}", f"{texts:,}")
    out.show(table)
    for (axis,), part in asked["examples"].group_by("axis", maintain_order=True):
        out.gap()
        out.line(f"For example, {wording.label(str(axis))}", "bold")
        out.pairs(
            [(wording.label(group), wording.printable(text, EXAMPLE)) for _, group, text in part.rows()]
        )
    out.gap()


def _detectable(frame: pl.DataFrame, out: Printer) -> None:
    """Print the minimum detectable effects of a benchmark, one table per unit. Groups without one are listed last."""
    units = pl.col("unit").fill_null("") if "unit" in frame.columns else pl.lit("").alias("unit")
    unplanned, assumed = [], False
    for (unit,), part in frame.with_columns(units).group_by("unit", maintain_order=True):
        if not part["minimum_detectable"].is_not_null().any():
            unplanned.append(str(unit))
            continue
        nats = str(unit).startswith("nats")
        assumed = assumed or nats or "assumed" in str(unit)
        if unit:
            out.line(str(unit))
        heads: list[tuple[str, Any]] = [("axis", "left"), ("n", "right"), ("effect", "right")]
        table = out.table(*heads, *([("times as likely", "right")] if nats else []))
        for row in part.to_dicts():
            effect = row["minimum_detectable"]
            cells = [wording.label(row["axis"]), _count(row["n"]), wording.number(effect)]
            out.row(table, *cells, *([wording.times(effect).removeprefix("×")] if nats else []))
        out.show(table)
    for unit in unplanned:
        out.line(f"Too few prompts to detect any effect ({unit or 'on any axis'}). Increase --limit.", "dim")
    if assumed:
        out.line(
            "The plan assumes typical rates and variances. If those of the model are smaller, the audit detects "
            "smaller effects. The report gives the MDE of the actual data.",
            "dim",
        )


def render_planned_continuations(plan: Mapping[str, Any], console: Console) -> None:
    """Print how many texts would be generated, and by which classifiers they would be labelled; nothing if none.

    `plan` is a result of `evenhand.studies.audit.conduct.preview`. It has `continuations` by benchmark (`prompts`,
    `samples`, `continuations`, `decoding`, `why`) and `judges` (`benchmark`, `role`, `classifier`, `texts`).

    >>> import sys
    >>> one = {"prompts": 60, "samples": 4, "continuations": 240, "decoding": "greedy", "why": "as asked"}
    >>> judge = {"benchmark": "regard", "role": "regard", "classifier": "vader", "texts": 240}
    >>> plan = {"continuations": {"regard": one}, "judges": [judge]}
    >>> render_planned_continuations(plan, Console(file=sys.stdout, width=100))
    <BLANKLINE>
    Continuations
    regard  60 prompts × 4 samples = 240
            greedy (as asked)
    <BLANKLINE>
    Classified (identical texts once)
    benchmark role   classifier   texts
    regard    regard vader      ≤   240
    """
    written: Mapping[str, Mapping[str, Any]] = plan.get("continuations") or {}
    if not written:
        return
    out = Printer(console)
    out.gap()
    out.line("Continuations", "bold")
    lines = []
    for name, facts in written.items():
        factor = f"prompts × {facts['samples']:,} samples"
        if facts.get("replies"):
            factor = f"conversations × {facts['replies']:,} replies"
        product = f"{facts['prompts']:,} {factor} = {facts['continuations']:,}"
        lines += [(name, product), ("", f"{facts['decoding']} ({facts['why']})")]
    out.pairs(lines)
    judges = plan.get("judges") or []
    for reason in plan.get("not_judged") or []:
        out.line(f"Not classified: {reason}")
    if not judges:
        return
    out.gap()
    out.line("Classified (identical texts once)", "bold")
    table = out.table(
        ("benchmark", "left"), ("role", "left"), ("classifier", "left"), ("", "right"), ("texts", "right")
    )
    for judge in judges:
        out.row(table, judge["benchmark"], judge["role"], judge["classifier"], "≤", f"{judge['texts']:,}")
    out.show(table)


def render_card(card: Card, console: Console) -> None:
    """Print a card: its name, its summary, and every field that is not empty.

    >>> import sys
    >>> render_card(Card("mine", "One line.", ideal="0"), Console(file=sys.stdout, width=80))
    mine
    One line.
    <BLANKLINE>
    ideal  0
    """
    out = Printer(console)
    out.line(card.name, "bold")
    out.line(card.summary)
    rows = [(name, text) for name, text in card.to_dict().items() if text and name not in ("name", "summary")]
    if rows:
        out.gap()
        out.pairs(rows)


def render_list(rows: Iterable[Sequence[str]], console: Console) -> None:
    """Print rows of texts in columns, the first one bold; the last one wraps within its column.

    >>> import sys
    >>> render_list([("stereoset", "Does it prefer stereotypes?")], Console(file=sys.stdout, width=80))
    stereoset  Does it prefer stereotypes?
    """
    Printer(console).pairs(rows, style="bold")


def _benchmark(view: ReportView, benchmark: BenchmarkView, out: Printer) -> None:
    errors = ""
    if benchmark.n_errors:
        rate = wording.share(benchmark.n_errors, benchmark.n_prompts)
        errors = f", {benchmark.n_errors:,} without a result ({rate})"
    written = benchmark.written
    asked = f"{benchmark.n_prompts:,} prompts" if written is None else written.told(benchmark.n_prompts)
    out.line(f"{benchmark.name}: {asked}{errors}", "bold")
    gathered = written is not None and written.gathered
    if written is not None:
        render_how(written, out)
    summary = verdict_summary.summarise(view, benchmark.name)
    if written is None or view.judged(benchmark.name):
        out.line(summary.sentence, STYLES[BIASED] if summary.biased else "")
    if view.judged(benchmark.name):
        lines = verdict_summary.headlines(view, benchmark.name)
        out.sentences(
            (f"{wording.SYMBOLS[verdict]} ", sentence, STYLES[verdict] if is_first else "")
            for (verdict, sentence), is_first in zip(lines, verdict_summary.first_of_axes(lines), strict=True)
        )
        if summary.measured:
            audits, pairs = glance.name_simulations(benchmark), len(summary.pairs)
            out.line(sentences.error_control(benchmark.n_axes, view.alpha, audits, pairs), "dim")
        if not gathered and (reliability := glance.reliability(view, benchmark.name)):
            out.line(reliability, "dim")
    first = [] if written is not None else view.measures(benchmark.name)[:1]
    shown = view.judged(benchmark.name) or first
    for measure in untold(view, benchmark, shown) if gathered else shown:
        _measure(view.rows(benchmark.name, measure), measure, out, glance.meaning(view, benchmark, measure))
    for detail, (column, heading) in EXTREMES.items():
        frame = benchmark.detail(detail)
        if frame is not None:
            _worst(frame, column, heading, view.alpha, out)
    if written is not None:
        render_rates(view, benchmark, out)
        return
    _print_statistics(view, benchmark, out)
    if benchmark.errors is not None and benchmark.errors["count"].sum():
        _missing(benchmark.errors, out)


def _measure(rows: pl.DataFrame, measure: str, out: Printer, lines: Sequence[str]) -> None:
    if rows.is_empty():
        return
    unit = rows["unit"][0]
    nulls = rows["null"].drop_nulls().unique().to_list()
    smallest = rows["minimum_detectable"].is_finite().any()
    records = sorted(rows.to_dicts(), key=lambda row: row["axis"] is None)
    places = count_places([row[c] for row in records for c in ("estimate", "low", "high")], unit)
    out.gap()
    unbiased = f"; unbiased: {wording.number(nulls[0], places) if nulls[0] else 0}" if len(nulls) == 1 else ""
    head = f"{wording.label(measure)}{f', {wording.plain_effect(unit)}' if unit else ''}"
    out.line(f"{head} (low, high: 95% CI{unbiased})", "bold")
    for line in lines:
        out.line(line, "dim")
    table = out.table(
        ("axis", "left"), ("est.", "right"), ("low", "right"), ("high", "right"),
        *([("null", "right")] if len(nulls) > 1 else []), ("q", "right"), ("verdict", "left"),
        *([("MDE", "right")] if smallest else []), ("n", "right"), ("miss.", "right"),
    )  # fmt: skip
    for row in records:
        verdict = row["verdict"] or ""
        out.row(
            table,
            wording.label(row["axis"]),
            wording.number(row["estimate"], places),
            wording.number(row["low"], places),
            wording.number(row["high"], places),
            *([wording.number(row["null"], places)] if len(nulls) > 1 else []),
            wording.probability(row["q"]),
            f"{wording.SYMBOLS.get(verdict, '')} {verdict}".strip(),
            *([_finds(row["minimum_detectable"])] if smallest else []),
            short_count(row["n"]),
            _rate(row["n_missing"], row["n"]),
            style=STYLES.get(verdict, "") if verdict != NOT_DETECTED else "",
        )
    out.show(table)
    if smallest:
        effect = next((row["effect_unit"] for row in records if row["effect_unit"]), "")
        effect = f", in {wording.plain_effect(effect)}" if effect else ""
        out.line(f"MDE: minimum detectable effect at 80% power{effect}.", "dim")
    reasons = [row["note"] for row in records if row["verdict"] == NOT_MEASURABLE and row["note"]]
    if reasons and len(set(reasons)) == 1:
        out.line(f"Not measurable: {reasons[0]}", "dim")


def _finds(smallest: float | None) -> str:
    return smallest_effect(smallest) if smallest is not None and wording.known(smallest) else ""


def _print_statistics(view: ReportView, benchmark: BenchmarkView, out: Printer) -> None:
    """Print statistics without a verdict, among them the published ones."""
    rows, reasons = glance.collect_statistics(view, benchmark.name), glance.pairs_behind(view, benchmark.name)
    reasons += glance.numbers_not_given(view, benchmark.name)
    if rows or reasons:
        out.gap()
        out.line("Other statistics (no verdict)", "bold")
        table = out.table(("measure", "left"), ("est.", "right"), ("95% CI", "right"), ("unit", "left"))
        for row in rows:
            out.row(table, row.label, row.value, row.interval, row.unit)
        out.show(table)
        for reason in reasons:
            out.line(reason, "dim")


def _worst(frame: pl.DataFrame, column: str, heading: str, alpha: float, out: Printer) -> None:
    certain = frame.filter(pl.col(column).is_finite() & (pl.col("q") <= alpha))
    worst = certain.sort(pl.col(column).abs(), descending=True).head(WORST)
    if worst.is_empty():
        return
    out.gap()
    out.line(heading, "bold")
    table = out.table(
        ("axis", "left"), ("descriptor", "left"), ("effect", "right"), ("95% CI", "right"), ("q", "right")
    )
    for row in worst.to_dicts():
        places = wording.decimals([row[name] for name in (column, "low", "high")])
        effect, low, high = (wording.number(row[name], places) for name in (column, "low", "high"))
        if column == "log_ratio":
            effect, low, high = wording.less_or_more_likely(row[column], row["low"], row["high"])
        interval = f"{low} to {high}" if wording.known(row["low"]) else ""
        out.row(
            table,
            wording.label(row["axis"]),
            wording.printable(row["descriptor"], wording.LONGEST_NAME),
            effect,
            interval,
            wording.probability(row["q"]),
        )
    out.show(table)
    if column == "log_ratio":
        out.line(f"{wording.NO_VERDICT_OF_LIKELIHOODS}.", "dim")


def _missing(errors: pl.DataFrame, out: Printer) -> None:
    out.gap()
    out.line("Prompts without a result", "bold")
    table = out.table(("axis", "left"), ("count", "right"), ("why", "left"))
    for row in errors.filter(pl.col("count") > 0).sort("count", descending=True).head(2 * WORST).to_dicts():
        out.row(table, wording.label(row["axis"]), f"{row['count']:,}", wording.label(row["error"]))
    out.show(table)


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _rate(missing: int | None, present: int | None) -> str:
    if not missing:
        return "0"
    rate = 100 * missing / (missing + (present or 0))
    return "<1%" if rate < 1 else f"{rate:.0f}%"
