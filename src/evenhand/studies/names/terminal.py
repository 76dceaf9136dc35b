"""Print the study of names in a terminal."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from evenhand.reports import Printer
from evenhand.studies.names.conduct import NamesStudy
from evenhand.studies.names.page import all_tables, write_notes
from evenhand.studies.names.tables import MITIGATIONS_TITLE, TEXT_TITLE
from evenhand.studies.names.wording import sentences, study_opening

PRINTED = (MITIGATIONS_TITLE, TEXT_TITLE)
"""Tables that are printed. The others are too long, or too wide, for a terminal."""


ON_THE_PAGE = (
    "The page has the other tables of the paper (2 to 5 and 7 to 10), its Figures 1 and 2, and every change with its "
    "95% CI, q and minimum detectable effect (MDE)."
)


def render_names(study: NamesStudy, console: Console, paths: Mapping[str, Path] | None = None) -> None:
    """Print the results of each model, two tables, and notes.

    Parameters
    ----------
    paths
        Paths of written files, printed last.
    """
    out = Printer(console)
    out.line(f"Names study: {study.config.model}", "bold")
    out.line(study_opening(study))
    out.sentences([(f"{mark} ", sentence, "") for mark, sentence in sentences(study)])
    for table in all_tables(study):
        if table.title.startswith(PRINTED):
            out.gap()
            table.render(out)
    out.gap()
    out.line(ON_THE_PAGE)
    for note in write_notes(study):
        out.line(note, "dim")
    out.paths(paths)
