"""Print the results of a human evaluation in a terminal."""

import re
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from evenhand.annotation.analysis.conduct import Analysis
from evenhand.annotation.analysis.page import get_title
from evenhand.annotation.analysis.sections import MARKS
from evenhand.annotation.analysis.shown import amount, describe_changes, describe_rules
from evenhand.annotation.analysis.verdicts import headlines, promise, summary
from evenhand.annotation.analysis.wording import (
    format_name,
    get_rows,
    limits,
    options_to_report,
    percent,
    preference_rows,
    published_cell,
    published_rows,
    verdict_on_first,
)
from evenhand.reports import Printer, known, label, number, probability

NUMBERS = 56
"""Width of the numbers of a row in a terminal, with the gaps between them."""
SHOWN = 20
"""Maximum number of rows of a table in a terminal; the files contain all."""
STYLES = {"preferred": "bold", "differs": "bold", "not measurable": "dim"}


def render_terminal(analysis: Analysis, console: Console, paths: Mapping[str, Path] | None = None) -> None:
    """Print the verdicts, win rates, ratings and agreement.

    paths: files to list at the end.
    """
    out = Printer(console)
    out.line(f"Human evaluation: {get_title(analysis)}", "bold")
    out.line(summary(analysis))
    told = headlines(analysis)
    if told:
        out.gap()
        out.sentences((f"{MARKS[verdict]} ", text, STYLES.get(verdict, "")) for verdict, text in told[:SHOWN])
        if len(told) > SHOWN:
            out.line(f"and {len(told) - SHOWN:,} more comparisons on the page", "dim")
    _win_rates(analysis, out)
    _ratings(analysis, out)
    _agreement(analysis, out)
    out.gap()
    for line in (*analysis.notes, amount(analysis), describe_rules(analysis), *describe_changes(analysis)):
        out.line(line, "dim")
    if words := promise(analysis):
        out.line(words, "dim")
    out.paths(paths)


def _win_rates(analysis: Analysis, out: Printer) -> None:
    rows = preference_rows(analysis)
    published = {(row["question"], row["model"], row["against"]): row for row in published_rows(analysis)}
    if rows:
        out.gap()
        out.line(
            "Win rates: how often annotators preferred the first model to the second (50%: no preference)",
            "bold",
        )
    width = _names_width(out, 2, NUMBERS)
    for question in dict.fromkeys(row["question"] for row in rows):
        mine = [row for row in rows if row["question"] == question]
        out.line(label(question).capitalize())
        table = out.table(
            ("model", "left"),
            ("against", "left"),
            ("share", "right"),
            ("weighted", "right"),
            ("95% CI", "right"),
            ("q", "right"),
            ("publ.", "right"),
            ("n", "right"),
            ("", "left"),
        )
        for row in mine[:SHOWN]:
            out.row(
                table,
                broken(format_name(row["model"]), width),
                broken(format_name(row["against"]), width),
                percent(row["raw"]),
                percent(row["estimate"]),
                limits(row["low"], row["high"]),
                probability(row["q"]),
                published_cell(published.get((row["question"], row["model"], row["against"]))),
                f"{row['n']:,}",
                MARKS.get(verdict_on_first(row), ""),
            )
        out.show(table)
        if len(mine) > SHOWN:
            out.line(f"and {len(mine) - SHOWN:,} more rows on the page", "dim")
    if rows:
        out.line(
            "n: judgements. Weighted: many judgements of one annotator or item have less weight; CI and q refer to it. "
            "Publ.: percent without ties, with the stars of an exact test that treats judgements as independent.",
            "dim",
        )


def _ratings(analysis: Analysis, out: Printer) -> None:
    rows = [
        row
        for row in get_rows(analysis.tables.rates)
        if row["option"] in options_to_report(analysis, row["question"])
    ]
    if not rows:
        return
    out.gap()
    out.line("Ratings: how often annotators gave an answer, or their mean rating", "bold")
    width = _names_width(out, 2, NUMBERS)
    for place in dict.fromkeys((row["question"], row["by"], row["within"]) for row in rows):
        mine = [row for row in rows if (row["question"], row["by"], row["within"]) == place]
        out.line(label(place[0]).capitalize() + ("" if place[2] is None else f", {label(place[2])}"))
        table = out.table(
            (label(place[1]), "left"),
            ("answer", "left"),
            ("share", "right"),
            ("weighted", "right"),
            ("95% CI", "right"),
            ("n", "right"),
        )
        for row in mine[:SHOWN]:
            means = row["option"] is None
            between = f"{number(row['low'], 2)} to {number(row['high'], 2)}" if known(row["low"]) else ""
            out.row(
                table,
                broken(format_name(row["level"]), width),
                "mean" if means else broken(format_name(row["option"]), width),
                number(row["raw"], 2) if means else percent(row["raw"]),
                number(row["estimate"], 2) if means else percent(row["estimate"]),
                between if means else limits(row["low"], row["high"]),
                f"{row['n']:,}",
            )
        out.show(table)
        if len(mine) > SHOWN:
            out.line(f"and {len(mine) - SHOWN:,} more rows on the page", "dim")


def _names_width(out: Printer, names: int, numbers: int) -> int:
    """Return the maximum width of each of `names` names, given the width of the numbers in a row."""
    return max(10, (out.console.width - numbers) // names - 1)


def broken(name: str, width: int) -> str:
    """Break a name into lines of at most `width` characters, after a slash, hyphen, underscore or dot if possible.

    >>> broken("evenhand/conversing-planted", 14)
    'evenhand/\\nconversing-\\nplanted'
    >>> broken("short", 14)
    'short'
    """
    lines = [""]
    for part in re.split(r"(?<=[/_. -])(?=\w)", name):
        if lines[-1] and len(lines[-1] + part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.strip() for line in lines)


def _agreement(analysis: Analysis, out: Printer) -> None:
    rows = get_rows(analysis.tables.agreement)
    if not rows:
        return
    out.gap()
    out.line("Agreement between annotators (alpha: 0 by chance, 1 perfect)", "bold")
    table = out.table(
        ("question", "left"),
        ("alpha", "right"),
        ("95% CI", "right"),
        ("items", "right"),
        ("majority", "right"),
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
