"""Print a calibration: one line per measure with its worst design, then the designs that fail."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
from rich.console import Console

from evenhand.reports import Printer
from evenhand.studies.calibration.options import CalibrationOptions
from evenhand.studies.calibration.wording import between, conclusive, headline, percent

SHOWN = 12
"""Largest number of failing designs that the terminal lists; the page lists all."""


def render_calibration(
    tables: Mapping[str, pl.DataFrame],
    options: CalibrationOptions,
    without: Mapping[str, str],
    console: Console,
    paths: Mapping[str, Path] | None = None,
) -> None:
    """Print the calibration; `paths` are files that are listed at the end."""
    out = Printer(console)
    out.line(headline(tables, options.size), "bold")
    failing = conclusive(tables, options.size)
    named = set(failing["measure"])
    table = out.table(
        ("measure", "left"),
        ("worst design", "left"),
        ("false positives there", "right"),
        ("all designs", "right"),
        ("holds in", "right"),
        ("undecided", "right"),
        ("coverage", "right"),
        ("power at MDE", "right"),
    )
    for row in tables["measures"].to_dicts():
        out.row(
            table,
            f"{'✗ ' if row['measure'] in named else ''}{row['measure']}",
            row["worst_design"] or "–",
            f"{percent(row['worst_false'])} of {row['worst_n'] or 0:,}",
            percent(row["false"]),
            f"{row['holding']} of {row['designs']}",
            f"{row['undecided']}",
            between(row["coverage_low"], row["coverage_high"]),
            between(row["power_low"], row["power_high"]),
        )
    out.show(table)
    if failing.height:
        out.gap()
        out.line("Fails", "bold")
        for row in failing.head(SHOWN).to_dicts():
            out.line(f"{row['measure']} in {row['design']}: {row['why']} ({row['n']} data sets)")
        if failing.height > SHOWN:
            out.line(f"The page lists {failing.height - SHOWN} more.", "dim")
    for name, reason in without.items():
        out.line(f"Not simulated: {name}: {reason}", "dim")
    if options.size == "quick":
        out.line("The quick check draws few data sets of few designs. --full draws all of them.", "dim")
    out.paths(paths)
