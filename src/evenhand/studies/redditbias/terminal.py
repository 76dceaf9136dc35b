"""Print the study of RedditBias in a terminal."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from evenhand.reports import Printer
from evenhand.studies.redditbias.conduct import RedditBiasStudy
from evenhand.studies.redditbias.page import summary_tables, write_notes
from evenhand.studies.redditbias.wording import sentences


def render_redditbias(
    study: RedditBiasStudy, console: Console, paths: Mapping[str, Path] | None = None
) -> None:
    """Print the results of each model, the tables of the paper, and cautions.

    Parameters
    ----------
    paths
        Files that are listed at the end.
    """
    out = Printer(console)
    out.line(f"RedditBias: {study.config.model}", "bold")
    out.sentences([(f"{mark} ", sentence, "") for mark, sentence in sentences(study)])
    for table in summary_tables(study):
        out.gap()
        table.render(out)
    out.gap()
    for note in write_notes(study):
        out.line(note, "dim")
    out.paths(paths)
