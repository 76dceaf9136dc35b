"""Print the agreement of classifiers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from evenhand.reports import Printer
from evenhand.studies.agreement.conduct import ClassifierPair
from evenhand.studies.agreement.page import group_table, pair_table

SHOWN = 15
"""Number of groups in the terminal; the files contain all."""


def render_agreement(
    run: Path,
    pairs: Sequence[ClassifierPair],
    notes: Sequence[str],
    console: Console,
    paths: Mapping[str, Path] | None = None,
) -> None:
    """Print for each pair of classifiers how much they agree, and about which groups they disagree most.

    Parameters
    ----------
    run : Path
        Folder of the run.
    notes : sequence of str
        Notes on pairs that could not be compared.
    paths : mapping, optional
        Files that are listed at the end.
    """
    out = Printer(console)
    out.line(f"Agreement of classifiers in {run}", "bold")
    for pair in pairs:
        out.gap()
        pair_table(pair).render(out)
        if (height := pair.result.groups.height) == 0:
            continue
        group_table(pair).render(out, SHOWN)
        if height > SHOWN:
            out.line(f"and {height - SHOWN:,} more groups; --output FILE.json writes all", "dim")
    for note in notes:
        out.line(f"Not compared: {note}", "dim")
    out.paths(paths)
