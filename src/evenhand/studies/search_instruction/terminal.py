"""Print a search for an instruction in a terminal."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from evenhand.mitigations.revision import NONE, REFERENCE
from evenhand.reports import SYMBOLS, Printer, probability
from evenhand.studies.search_instruction.card import percent, points
from evenhand.studies.search_instruction.conduct import RevisionStudy
from evenhand.studies.search_instruction.wording import cautions, verdict_sentence


def render_revision(study: RevisionStudy, console: Console, paths: Mapping[str, Path] | None = None) -> None:
    """Print the chosen instruction, its effect, the other finalists, and the paths of the files."""
    out = Printer(console)
    out.line(f"{study.facts['model']} on {study.facts['benchmark']}", "bold")
    out.line(verdict_sentence(study))
    out.gap()
    table = out.table(("", "left"), ("instruction", "left"), ("negative", "right"), ("change", "right"),
                      ("95% CI (joint)", "right"), ("p", "right"))  # fmt: skip
    for row in study.finalists.iter_rows(named=True):
        symbol = SYMBOLS.get(row["verdict"] or "", "")
        name = row["instruction"] or REFERENCE
        out.row(
            table,
            symbol,
            f"{name}  (chosen)" if row["chosen"] else name,
            percent(row["rate"]),
            "" if row["instruction"] == NONE else points(row["change"]),
            ""
            if row["change_low"] is None
            else f"{points(row['change_low'])} to {points(row['change_high'])}",
            "" if row["p_adjusted"] is None else probability(row["p_adjusted"]),
            style="bold" if row["chosen"] else "",
        )
    out.show(table)
    for text in cautions(study):
        out.line(f"- {text}", "dim")
    out.paths(paths)
