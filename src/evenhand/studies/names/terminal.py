"""The study of names in a terminal."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from evenhand.reports import Printer
from evenhand.studies.names.conduct import NamesStudy
from evenhand.studies.names.page import all_tables, notes_of
from evenhand.studies.names.tables import EVERY_CHANGE, GROUPS_TITLE, PHRASES_TITLE, WORDS_TITLE
from evenhand.studies.names.wording import sentences

ON_THE_PAGE = (WORDS_TITLE, PHRASES_TITLE, GROUPS_TITLE, EVERY_CHANGE)
"""Tables that are too wide, or too long, for a terminal."""


def render_names(study: NamesStudy, console: Console, paths: Mapping[str, Path] | None = None) -> None:
    """Print the results of each row, the tables of the paper, and cautions.

    Parameters
    ----------
    paths
        Files to point at in the end.
    """
    out = Printer(console)
    out.line(f"Names: {study.config.model}", "bold")
    out.sentences([(f"{mark} ", sentence, "") for mark, sentence in sentences(study)])
    for table in all_tables(study):
        if not table.title.startswith(ON_THE_PAGE):
            out.gap()
            table.render(out)
    out.gap()
    out.line("Words, phrases, groups by gender and race, figures and every change: on the page.")
    for note in notes_of(study):
        out.line(note, "dim")
    out.paths(paths)
