"""A before/after study in a terminal: verdicts, harm, cost."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from evenhand.reports import Printer, wording
from evenhand.studies.before_after import wording as words
from evenhand.studies.before_after.conduct import BeforeAfter
from evenhand.studies.before_after.tables import QUALITY_BENCHMARK
from evenhand.studies.compare import table_of_models

STYLES = {
    "changed": "bold magenta",
    "lower": "blue",
    "higher": "bold magenta",
    "bias smaller": "blue",
    "bias larger": "bold magenta",
    "biased": "bold magenta",
    "blank": "dim",
}


def render_before_after(
    study: BeforeAfter, console: Console, paths: Mapping[str, Path] | None = None
) -> None:
    """Print the change in each kind of harm, then rates, text, time and memory before and after.

    The width, colours and encoding of the console are respected. `paths` are files that are listed at the end.
    """
    out = Printer(console)
    out.line(f"{study.config.model}, before and after {wording.listing(study.config.mitigate)}", "bold")
    for note in (*study.failed, *study.notes):
        out.line(f"Note: {note}", "dim")
    for place, told in words.likelihood_lines(study.comparison):
        out.gap()
        out.line(place, "bold")
        for line, found in told:
            out.line(f"{wording.SYMBOLS[found]} {line}", STYLES.get(found, ""))
    if not study.verdicts:
        out.gap()
        for line in words.nothing_judged(study.comparison, study.quality):
            out.line(line)
    for verdict in study.verdicts:
        out.gap()
        kind, symbol = words.MARKS[verdict.kind]
        out.line(words.place(verdict), "bold")
        for line, found in words.between_groups(verdict, study.comparison):
            out.line(f"{wording.SYMBOLS[found]} {line}", STYLES.get(found, ""))
        out.line(f"{symbol} {words.headline(verdict, study.quality)}", STYLES.get(kind, "bold"))
        for line in words.lines(verdict, study.quality):
            out.line(line)
    _rates(study, out)
    _quality(study, out)
    out.paths(paths)


def _rates(study: BeforeAfter, out: Printer) -> None:
    columns, rows = table_of_models(study.comparison)
    for place, (benchmark, outcome, unit) in enumerate(columns):
        if benchmark == QUALITY_BENCHMARK:
            continue
        scored = any(cells[place].corrected or cells[place].published for _, cells in rows)
        scores = [("BiasScore", "right"), ("published", "right"), ("highest rate", "left")] if scored else []
        out.gap()
        out.line(f"{benchmark}: {outcome}{f', {unit} of classified responses' if unit else ''}", "bold")
        table = out.table(("", "left"), ("rate", "right"), ("95% CI", "left"), *scores)
        for side, cells in rows:
            cell = cells[place]
            further = (cell.corrected, cell.published, cell.group) if scored else ()
            out.row(table, side, cell.rate, cell.interval, *further)
        out.show(table)


def _quality(study: BeforeAfter, out: Printer) -> None:
    for name, rows in study.quality.group_by("benchmark", maintain_order=True):
        out.gap()
        out.line(words.of_what(str(name[0])), "bold")
        table = out.table(
            ("", "left"), ("before", "right"), ("after", "right"), ("change", "right"), ("95% CI", "left"),
            ("q", "right"), ("", "left"),
        )  # fmt: skip
        for row in rows.to_dicts():
            before, after = (words.quality_cell(row, side)[0] for side in ("before", "after"))
            q = wording.probability(row["q"]) if wording.known(row["p"]) else ""
            verdict = row["verdict"] if row["verdict"] in (wording.LOWER, wording.HIGHER) else ""
            cells = (
                before,
                after,
                *words.quality_change(row),
                q,
                f"{words.symbol(row['verdict'])} {verdict}".strip(),
            )
            out.row(table, _label_measure(row["measure"]), *cells, style=STYLES.get(verdict, ""))
        out.show(table)
    if study.cost.height:
        out.gap()
        out.line("Time and memory of the whole run", "bold")
        table = out.table(("", "left"), ("before", "right"), ("after", "right"))
        for row in study.cost.to_dicts():
            sides = [words.quality_cell(row, side) for side in ("before", "after")]
            shown = [f"{value} ({between})" if between else value for value, between in sides]
            out.row(table, _label_measure(row["measure"]), *shown)
        out.show(table)


def _label_measure(measure: str) -> str:
    name, unit = words.MEASURES[measure]
    return f"{name}, {unit}" if unit else name
