"""What people said, in a terminal."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from evenhand.annotation.analysis.conduct import Analysis
from evenhand.annotation.analysis.page import title_of
from evenhand.annotation.analysis.sections import MARKS
from evenhand.annotation.analysis.shown import amount, told_changes, told_rules
from evenhand.annotation.analysis.tables import WIN_RATE
from evenhand.annotation.analysis.wording import (
    headlines,
    limits,
    name_of,
    percent,
    promise,
    published_cell,
    published_rows,
    rows_of,
    summary,
    told_options,
)
from evenhand.reports import Printer, known, label, number, probability

SHOWN = 20
"""Rows of a table that a terminal shows; the files hold all."""
STYLES = {"preferred": "bold", "differs": "bold", "not measurable": "dim"}


def render_terminal(analysis: Analysis, console: Console, paths: Mapping[str, Path] | None = None) -> None:
    """Print the verdicts, win rates, ratings and agreement.

    paths: files to point at in the end.
    """
    out = Printer(console)
    out.line(f"People as judges: {title_of(analysis)}", "bold")
    out.line(summary(analysis))
    told = headlines(analysis)
    if told:
        out.gap()
        out.sentences((f"{MARKS[verdict]} ", text, STYLES.get(verdict, "")) for verdict, text in told[:SHOWN])
        if len(told) > SHOWN:
            out.line(f"and {len(told) - SHOWN:,} further comparisons in the page", "dim")
    _win_rates(analysis, out)
    _ratings(analysis, out)
    _agreement(analysis, out)
    out.gap()
    for line in (*analysis.notes, amount(analysis), told_rules(analysis), *told_changes(analysis)):
        out.line(line, "dim")
    if words := promise(analysis):
        out.line(words, "dim")
    out.paths(paths)


def _win_rates(analysis: Analysis, out: Printer) -> None:
    rows = rows_of(analysis.tables.win_rates, WIN_RATE)
    if not rows:
        return
    published = {(row["question"], row["model"], row["against"]): row for row in published_rows(analysis)}
    out.gap()
    out.line("Win rates (published: the exact test with stars, votes taken as independent)", "bold")
    table = out.table(
        ("question", "left"),
        ("votes for", "left"),
        ("against", "left"),
        ("share", "right"),
        ("95 %", "right"),
        ("q", "right"),
        ("publ.", "right"),
        ("votes", "right"),
    )
    for row in rows[:SHOWN]:
        out.row(
            table,
            label(row["question"]),
            name_of(row["model"]),
            name_of(row["against"]),
            percent(row["estimate"]),
            limits(row["low"], row["high"]),
            probability(row["q"]),
            published_cell(published.get((row["question"], row["model"], row["against"]))),
            f"{row['n']:,}",
        )
    out.show(table)


def _ratings(analysis: Analysis, out: Printer) -> None:
    rows = [
        row
        for row in rows_of(analysis.tables.rates)
        if row["by"] == "model" and row["option"] in told_options(analysis, row["question"])
    ]
    if not rows:
        return
    out.gap()
    out.line("Ratings", "bold")
    table = out.table(
        ("question", "left"),
        ("answer", "left"),
        ("model", "left"),
        ("rate", "right"),
        ("95 %", "right"),
        ("n", "right"),
    )
    for row in rows[:SHOWN]:
        means = row["option"] is None
        between = f"{number(row['low'], 2)} to {number(row['high'], 2)}" if known(row["low"]) else ""
        out.row(
            table,
            label(row["question"]),
            "mean" if means else name_of(row["option"]),
            name_of(row["level"]),
            number(row["estimate"], 2) if means else percent(row["estimate"]),
            between if means else limits(row["low"], row["high"]),
            f"{row['n']:,}",
        )
    out.show(table)
    if len(rows) > SHOWN:
        out.line(f"and {len(rows) - SHOWN:,} rows more in the page", "dim")


def _agreement(analysis: Analysis, out: Printer) -> None:
    rows = rows_of(analysis.tables.agreement)
    if not rows:
        return
    out.gap()
    out.line("Agreement", "bold")
    table = out.table(
        ("question", "left"), ("alpha", "right"), ("95 %", "right"), ("items", "right"), ("majority", "right")
    )
    for row in rows[:SHOWN]:
        out.row(
            table,
            label(row["question"]),
            number(row["alpha"], 2),
            f"{number(row['low'], 2)} to {number(row['high'], 2)}" if known(row["low"]) else "",
            f"{row['n_items']:,}",
            percent(row["majority_share"], 0),
        )
    out.show(table)
