"""Print a comparison: all models, then what changed, by axis and for which groups."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
from rich.console import Console

from evenhand.reports import Printer, wording
from evenhand.studies.compare.conduct import Comparison
from evenhand.studies.compare.figures import OutcomeSection, outcomes, table_of_models, write_headlines
from evenhand.studies.compare.wording import SCORE, STANDING_NOW, TEXT

STYLES = {
    wording.BIASED: "bold magenta",
    wording.CHANGED: "bold magenta",
    wording.LOWER: "blue",
    wording.HIGHER: "bold magenta",
    wording.SMALLER: "blue",
    wording.LARGER: "bold magenta",
    wording.NOT_MEASURABLE: "dim",
}
GROUPS_SHOWN = 10
MOVED_SHOWN, LONGEST = 3, 90
"""Number of prompts whose responses are printed, and number of characters of each response."""


def render_comparison(
    comparison: Comparison, console: Console, paths: Mapping[str, Path] | None = None
) -> None:
    """Print one table of all models for each benchmark, differences with their verdicts, and the paths of files."""
    out = Printer(console)
    out.line(f"{comparison.names[0]} against {wording.listing(comparison.names[1:])}", "bold")
    for note in comparison.notes:
        out.line(f"Note: {note}", "dim")
    _headlines(comparison, out)
    _models(comparison, out)
    _quality(comparison, out)
    for section in outcomes(comparison):
        out.gap()
        _changes(section, out)
    out.paths(paths)


def _headlines(comparison: Comparison, out: Printer) -> None:
    """Print changes between groups, then changes of the level, then changes of the text."""
    table = write_headlines(comparison)
    for (model, benchmark), part in table.group_by(["model", "benchmark"], maintain_order=True):
        out.gap()
        out.line(f"{benchmark}: changes from {comparison.names[0]} to {model}", "bold")
        for row in part.filter(pl.col("about") != TEXT).to_dicts():
            mark = wording.SYMBOLS.get(row["verdict"], "")
            style = "" if row["about"] == STANDING_NOW else STYLES.get(row["verdict"], "")
            out.line(f"{mark} {row['sentence']}", style)
        told = part.filter(pl.col("about") == TEXT)["sentence"].to_list()
        if told:
            out.line(
                f"{wording.SYMBOLS[wording.CHANGED]} Text: {'; '.join(line.rstrip('.') for line in told)}."
            )


def _models(comparison: Comparison, out: Printer) -> None:
    columns, rows = table_of_models(comparison)
    for place, (benchmark, outcome, unit) in enumerate(columns):
        out.gap()
        scored = any(cells[place].corrected or cells[place].published for _, cells in rows)
        suffix = (f", {unit} of classified responses" if unit else "") + (
            " (BiasScore in % of groups, no verdict)" if scored else ""
        )
        out.line(f"{benchmark}: {outcome}{suffix}", "bold")
        scores = [("BiasScore", "right"), ("published", "right"), ("highest rate", "left")] if scored else []
        table = out.table(("model", "left"), ("rate", "right"), ("95% CI", "left"), *scores)
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
    has_quality = any(model.quality for model in comparison.models)
    out.line("Quality and cost" if has_quality else "Cost (quality was not measured)", "bold")
    names = dict.fromkeys(name for _, facts in stated for name, _, _ in facts)
    table = out.table(("", "left"), *((model, "right") for model, _ in stated))
    for name in names:
        values = [
            {n: f"{value} {unit}".strip() for n, value, unit in facts}.get(name, "") for _, facts in stated
        ]
        out.row(table, name, *values)
    out.show(table)


def _changes(section: OutcomeSection, out: Printer) -> None:
    # a classifier's score is the degree of harm (`evenhand.classifiers.Labels`)
    scale = " (a higher score is more harmful)" if section.outcome.endswith(SCORE) else ""
    out.line(f"{section.benchmark}: {wording.label(section.outcome)}{scale}", "bold")
    for model, sentence, verdict in section.sentences:
        out.line(
            f"{wording.SYMBOLS.get(verdict, '')} {model}, all groups: {sentence}, {verdict}",
            STYLES.get(verdict, ""),
        )
    for told in section.margins:
        out.line(told[:1].upper() + told[1:])
    if section.aside:
        return
    for model, forest in section.forests:
        if len(forest.rows) > 1:
            table = out.table(
                (model, "left"), ("before", "right"), ("after", "right"), ("diff.", "right"), ("95% CI",
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
    for course in section.course:
        out.line(
            f"{course.measure.capitalize()} by {course.by}{f', {course.unit}' if course.unit else ''}", "bold"
        )
        table = out.table(("axis", "left"), *((f"{name} ({at})", "right") for name, at in course.heads))
        for axis, cells in course.rows:
            marked = [f"{value} {wording.SYMBOLS.get(verdict, '')}".strip() for value, _, verdict in cells]
            out.row(table, axis, *marked)
        out.show(table)
    changed, tests = section.changed_of
    if tests:
        out.line(f"Groups that changed differently from the others of their axis: {changed:,} of {tests:,}")
    if section.changed or section.few:
        table = out.table(
            ("group", "left"), ("model", "left"), ("before", "right"), ("after", "right"), ("vs others", "right"),
            ("95% CI", "left"), ("q", "right"), ("result", "left"),
        )  # fmt: skip
        for change in section.few or section.changed[:GROUPS_SHOWN]:
            numbers = [
                wording.number(change[name], 1 if section.unit.name else 2)
                for name in ("before", "after", "estimate", "low", "high")
            ]
            numbers[3:] = [f"{numbers[3]} to {numbers[4]}"]
            verdict = f"{wording.SYMBOLS.get(change['moved'], '')} {change['moved']}"
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
            out.line(f"and {changed - GROUPS_SHOWN:,} more; -o FOLDER writes all", "dim")
    if section.moved:
        out.line(
            f"Largest changes ({len(section.moved)} in the page and in moved.parquet: -o FOLDER)", "bold"
        )
    for moved in section.moved[:MOVED_SHOWN]:
        unit = " nats" if moved["answer_before"] is None else section.unit.name
        went = f"{wording.number(moved['before'], 1)} → {wording.number(moved['after'], 1)}{unit}"
        out.line(f"{_short(moved['text'])} ({went})")
        if moved["answer_before"] is not None or moved["answer_after"] is not None:
            out.line(f"  before: {_short(moved['answer_before'])}")
            out.line(f"  after:  {_short(moved['answer_after'])}")


def _short(text: str | None) -> str:
    line = " ".join((text or "(nothing)").split()) or "(nothing)"
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
