"""A page of plain tables, for results that need no drawings; a terminal prints the same tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from evenhand.reports import Printer, rendered


@dataclass(frozen=True)
class PlainTable:
    """A table of texts, for the terminal and for a page.

    Attributes
    ----------
    title : str
        Title; empty if the table belongs to the previous one.
    heads : tuple of (str, {"left", "right"})
        Name and alignment of each column.
    rows : sequence of sequence of str
        One cell per column in each row.
    lines : tuple of str, default ()
        Sentences below the title.
    """

    title: str
    heads: tuple[tuple[str, str], ...]
    rows: Sequence[Sequence[str]]
    lines: tuple[str, ...] = ()

    def render(self, out: Printer, most: int | None = None) -> None:
        """Print the table, or its first `most` rows; without rows only the title and the lines."""
        if self.title:
            out.line(self.title, "bold")
        for line in self.lines:
            out.line(line)
        if not self.rows and self.lines:
            return
        table = out.table(*self.heads)
        for row in self.rows[:most]:
            out.row(table, *row)
        out.show(table)


def plain_page(
    kind: str,
    title: str,
    tables: Sequence[PlainTable],
    *,
    lines: Sequence[str] = (),
    notes: Sequence[str] = (),
    figures: Sequence[tuple[str, Markup]] = (),
) -> str:
    """Return tables as one HTML document that needs no network; every text is escaped.

    Parameters
    ----------
    kind
        Type of the result, such as "audit", shown next to the name of the program.
    lines
        Sentences below the title.
    notes
        Cautions.
    figures
        Captions and drawings, between the notes and the tables.

    Examples
    --------
    >>> page = plain_page("census", "<b>", [PlainTable("", (("age", "right"),), [["3"]])])
    >>> "&lt;b&gt;" in page, "<b>" in page
    (True, False)
    """
    template = Path(__file__).with_name("plain_page.html.j2")
    return rendered(
        template, kind=kind, title=title, tables=tables, lines=lines, notes=notes, figures=figures
    )
