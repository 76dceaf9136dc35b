"""Print the relation of a run's outcomes with frequencies."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from evenhand.reports import Printer, listing, number, probability, signed
from evenhand.studies.frequencies.relation.joined import Joined
from evenhand.studies.frequencies.relation.wording import (
    SYMBOLS_HERE,
    answer,
    called,
    notes,
    told,
    whole_rows,
)


def render_relation(relation: Joined, console: Console, paths: Mapping[str, Path] | None = None) -> None:
    """Print a sentence and a row for each outcome, and cautions. `paths` are files that are listed at the end."""
    out = Printer(console)
    out.line(f"Frequencies in {listing(list(relation.corpora))}, and {relation.model}", "bold")
    out.line(answer(relation), "bold")
    out.sentences([(f"{symbol} ", sentence, "") for symbol, sentence in told(relation)])
    for one in relation.benchmarks:
        out.gap()
        out.line(f"{one.asked.name}: rank correlations of outcome and frequency", "bold")
        table = out.table(
            ("outcome", "left"),
            ("correlation", "right"),
            ("partial", "right"),
            ("95% CI", "left"),
            ("q", "right"),
            ("MDE", "right"),
            ("verdict", "left"),
        )
        for row in whole_rows(one):
            limits = "–" if row["low"] is None else f"{signed(row['low'], 2)} to {signed(row['high'], 2)}"
            out.row(
                table,
                called(one, row["outcome"]),
                signed(row["spearman"], 2),
                signed(row["estimate"], 2),
                limits,
                probability(row["q"]),
                number(row["minimum_detectable"], 2),
                f"{SYMBOLS_HERE[row['verdict']]} {row['verdict']}",
            )
        out.show(table)
    out.line(
        "Partial: correlation within axes, with the length of descriptors and other properties controlled for (see "
        "the notes). MDE: minimum detectable correlation at 80% power, for numbers without noise or ties.",
        "dim",
    )
    out.gap()
    for note in notes(relation):
        out.line(note, "dim")
    out.paths(paths)
