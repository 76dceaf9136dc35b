"""A comparison in a terminal: all models, then what changed, by axis and for which groups."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from evenhand.reports import Printer, wording
from evenhand.studies.compare.conduct import Comparison
from evenhand.studies.compare.figures import OutcomeSection, outcomes, table_of_models

STYLES = {wording.LOWER: "blue", wording.HIGHER: "bold magenta", wording.NOT_MEASURABLE: "dim"}
GROUPS_SHOWN = 10


def render_comparison(
    comparison: Comparison, console: Console, paths: Mapping[str, Path] | None = None
) -> None:
    """Print all models in one table a benchmark, then differences with their verdicts, then where files lie."""
    out = Printer(console)
    out.line(f"{comparison.names[0]} against {wording.listing(comparison.names[1:])}", "bold")
    for note in comparison.notes:
        out.line(f"Note: {note}", "dim")
    _models(comparison, out)
    _quality(comparison, out)
    for section in outcomes(comparison):
        out.gap()
        _changes(section, out)
    out.paths(paths)


def _models(comparison: Comparison, out: Printer) -> None:
    columns, rows = table_of_models(comparison)
    for place, (benchmark, outcome, unit) in enumerate(columns):
        out.gap()
        scored = any(cells[place].corrected or cells[place].published for _, cells in rows)
        suffix = (f", {unit}" if unit else "") + (
            " (BiasScore in % of groups; published: no verdict)" if scored else ""
        )
        out.line(f"{benchmark}: {outcome}{suffix}", "bold")
        scores = [("BiasScore", "right"), ("published", "right"), ("most harmed", "left")] if scored else []
        table = out.table(("model", "left"), ("rate", "right"), ("95 % interval", "left"), *scores)
        for model, cells in rows:
            cell = cells[place]
            if cell.rate:
                further = (cell.corrected, cell.published, cell.group) if scored else ()
                out.row(table, model, cell.rate, cell.interval, *further)
        out.show(table)


def _quality(comparison: Comparison, out: Printer) -> None:
    stated = [(model.name, (*model.quality, *model.cost)) for model in comparison.models]
    if not any(facts for _, facts in stated):
        return
    out.gap()
    out.line("Quality and cost", "bold")
    names = dict.fromkeys(name for _, facts in stated for name, _, _ in facts)
    table = out.table(("", "left"), *((model, "right") for model, _ in stated))
    for name in names:
        values = [
            {n: f"{value} {unit}".strip() for n, value, unit in facts}.get(name, "") for _, facts in stated
        ]
        out.row(table, name, *values)
    out.show(table)


def _changes(section: OutcomeSection, out: Printer) -> None:
    out.line(f"{section.benchmark}: {wording.label(section.outcome)}", "bold")
    for model, sentence, verdict in section.sentences:
        out.line(
            f"{wording.SYMBOLS.get(verdict, '')} {model}: {sentence}, {verdict}", STYLES.get(verdict, "")
        )
    if section.aside:
        return
    for model, forest in section.forests:
        if len(forest.rows) > 1:
            table = out.table(
                (model, "left"), ("before", "right"), ("after", "right"), ("diff.", "right"), ("95 % interval",
                "left"), ("q", "right"), ("verdict", "left"), ("n", "right"),
            )  # fmt: skip
            for row in forest.rows:
                verdict = f"{row.symbol} {row.verdict}"
                style = STYLES.get(row.verdict, "")
                out.row(
                    table,
                    row.label,
                    *row.cells,
                    row.estimate,
                    row.interval,
                    row.q,
                    verdict,
                    row.n,
                    style=style,
                )
            out.show(table)
    changed, tests = section.changed_of
    if tests:
        out.line(f"Groups that changed: {changed:,} of {tests:,} tests")
    if section.changed:
        table = out.table(
            ("group", "left"), ("model", "left"), ("before", "right"), ("after", "right"), ("diff.", "right"),
            ("q", "right"), ("verdict", "left"),
        )  # fmt: skip
        for change in section.changed[:GROUPS_SHOWN]:
            numbers = [
                wording.number(change[name], 1 if section.unit.name else 2)
                for name in ("before", "after", "estimate")
            ]
            verdict = f"{wording.SYMBOLS[change['verdict']]} {change['verdict']}"
            out.row(
                table,
                wording.label(change["group"]),
                change["model"],
                *numbers,
                wording.probability(change["q"]),
                verdict,
            )
        out.show(table)
        if changed > GROUPS_SHOWN:
            out.line(f"and {changed - GROUPS_SHOWN:,} more: -o FOLDER writes all", "dim")
