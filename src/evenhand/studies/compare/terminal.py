"""A comparison in a terminal: all models, then what changed, by axis and for which groups."""

from rich.console import Console

from evenhand.reports import Printer, wording
from evenhand.studies.compare.figures import OutcomeSection, outcomes, table_of_models
from evenhand.studies.compare.result import ComparisonReport

STYLES = {wording.LOWER: "blue", wording.HIGHER: "bold magenta", wording.NOT_MEASURABLE: "dim"}
GROUPS_SHOWN = 10


def render_comparison(report: ComparisonReport, console: Console) -> None:
    """Print all models in one table a benchmark, then differences with their verdicts.

    report: as `evenhand.studies.compare.result.compare` gives it. console: its width, colours and encoding are
    respected.
    """
    out = Printer(console)
    out.line(f"{report.names[0]} against {wording.listing(report.names[1:])}", "bold")
    for note in report.comparison.notes:
        out.line(f"Note: {note}", "dim")
    _models(report, out)
    _quality(report, out)
    for section in outcomes(report):
        out.gap()
        _changes(report, section, out)


def _models(report: ComparisonReport, out: Printer) -> None:
    columns, rows = table_of_models(report)
    for place, (benchmark, outcome, unit) in enumerate(columns):
        out.gap()
        scored = any(cells[place].corrected or cells[place].published for _, cells in rows)
        told = (f", {unit}" if unit else "") + (
            " (BiasScore in % of groups; published: no verdict)" if scored else ""
        )
        out.line(f"{benchmark}: {outcome}{told}", "bold")
        scores = [("BiasScore", "right"), ("published", "right"), ("most harmed", "left")] if scored else []
        table = out.table(("model", "left"), ("rate", "right"), ("95 % interval", "left"), *scores)
        for model, cells in rows:
            cell = cells[place]
            if cell.rate:
                further = (cell.corrected, cell.published, cell.group) if scored else ()
                out.row(table, model, cell.rate, cell.interval, *further)
        out.show(table)


def _quality(report: ComparisonReport, out: Printer) -> None:
    told = [(model.name, (*model.quality, *model.cost)) for model in report.models]
    if not any(facts for _, facts in told):
        return
    out.gap()
    out.line("Quality and cost", "bold")
    names = dict.fromkeys(name for _, facts in told for name, _, _ in facts)
    table = out.table(("", "left"), *((model, "right") for model, _ in told))
    for name in names:
        values = [
            {n: f"{value} {unit}".strip() for n, value, unit in facts}.get(name, "") for _, facts in told
        ]
        out.row(table, name, *values)
    out.show(table)


def _changes(report: ComparisonReport, section: OutcomeSection, out: Printer) -> None:
    out.line(f"{section.benchmark}: {wording.label(section.outcome)}", "bold")
    for model, told, verdict in section.sentences:
        out.line(f"{wording.SYMBOLS.get(verdict, '')} {model}: {told}, {verdict}", STYLES.get(verdict, ""))
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
