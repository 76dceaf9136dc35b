"""A calibration in a terminal: one line for each measure, then what does not hold."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
from rich.console import Console

from evenhand.reports import Printer
from evenhand.studies.calibration.options import CalibrationOptions
from evenhand.studies.calibration.wording import between, conclusive, headline, percent

SHOWN = 12
"""Failing designs that a terminal shows; the page holds all."""


def render_calibration(
    tables: Mapping[str, pl.DataFrame],
    options: CalibrationOptions,
    without: Mapping[str, str],
    console: Console,
    paths: Mapping[str, Path] | None = None,
) -> None:
    """Print it. paths: files to point at in the end."""
    out = Printer(console)
    measures = tables["measures"]
    out.line(headline(tables, options.size), "bold")
    failing = conclusive(tables, options.size)
    named = set(failing["measure"])
    table = out.table(
        ("measure", "left"),
        ("holds in", "right"),
        ("false", "right"),
        ("worst", "right"),
        ("95 % intervals cover", "right"),
        ("finds its smallest effect", "right"),
    )
    for row in measures.to_dicts():
        fails = "✗ " if row["measure"] in named else ""
        out.row(
            table,
            f"{fails}{row['measure']}",
            f"{row['holding'] + row['cautious']} of {row['designs']}",
            percent(row["false"]),
            percent(row["worst_false"]),
            between(row["coverage_low"], row["coverage_high"]),
            between(row["power_low"], row["power_high"]),
        )
    out.show(table)
    if failing.height:
        out.gap()
        out.line("Does not hold", "bold")
        for row in failing.head(SHOWN).to_dicts():
            out.line(f"{row['measure']} in {row['design']}: {row['why']} ({row['n']} data sets)")
        if failing.height > SHOWN:
            out.line(f"and {failing.height - SHOWN} more on the page", "dim")
    for name, reason in without.items():
        out.line(f"Not simulated: {name}: {reason}", "dim")
    if options.size == "quick":
        out.line("Few data sets of few designs were drawn; --full draws all.", "dim")
    out.paths(paths)
