"""Print to a console of any encoding: texts, and tables without rules. Markup and control codes are never printed."""

from collections.abc import Iterable, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from evenhand.reports.wording import without_commands

ASCII = str.maketrans(
    {
        "·": "-",
        "▲": "!",
        "↑": "^",
        "↓": "v",
        "↗": "/",
        "↘": "\\",
        "⊕": "(+)",
        "⊖": "(-)",
        "◆": "*",
        "◇": "<>",
        "→": "->",
        "○": "o",
        "–": "-",
        "—": "-",
        "−": "-",
        "×": "x",
        "…": "...",
        "’": "'",
        "“": '"',
        "”": '"',
        "≤": "<=",
    }
)


LONGEST_WORD = 24
"""Maximum length of a word that a column keeps on one line; longer ones, such as file names, are broken."""


class Printer:
    """Prints texts without markup or control codes, in characters that the console can encode.

    Use it for everything that comes from users or models, because such texts may contain control codes.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.encoding = (console.encoding or "ascii").lower()
        self.unicode = self.encoding.startswith("utf")

    def text(self, value: str, style: str = "") -> Text:
        """Return a text for this console: control codes and characters that it cannot encode are replaced.

        The console may be the log of a CI job, so text that would be a workflow command is broken up.
        """
        value = without_commands(value)
        if not self.unicode:
            value = value.translate(ASCII)
        encodable = value.encode(self.encoding, "backslashreplace").decode(self.encoding)
        safe = (c if c.isprintable() or c == "\n" else "\ufffd" if self.unicode else "?" for c in encodable)
        return Text("".join(safe), style)

    def line(self, value: str, style: str = "") -> None:
        """Print a line, wrapped to the console's width."""
        self.console.print(self.text(value, style))

    def sentences(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Print sentences, each after a symbol and wrapped with an indent. rows: (symbol, sentence, style)."""
        table = Table(box=None, show_header=False, pad_edge=False, padding=0)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for mark, sentence, style in rows:
            table.add_row(self.text(mark, style), self.text(sentence, style))
        self.console.print(table)

    def path(self, name: str, path: str) -> None:
        """Print a path unwrapped, so that it can be copied."""
        self.console.print(self.text(f"{name}: {path}"), soft_wrap=True)

    def paths(self, paths: Mapping[str, object] | None) -> None:
        """Print the paths of written files below an empty line; print nothing without any."""
        if paths:
            self.gap()
            for name, path in paths.items():
                self.path(name, str(path))

    def gap(self) -> None:
        """Print an empty line."""
        self.console.print()

    def table(self, *columns: tuple[str, str]) -> Table:
        """Return an empty table with the given columns: (head, "left" or "right")."""
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
        for name, side in columns:
            table.add_column(self.text(name), justify="right" if side == "right" else "left", overflow="fold")
        return table

    def row(self, table: Table, *cells: str, style: str = "") -> None:
        """Add a row of texts to a table."""
        table.add_row(*(self.text(cell, style) for cell in cells))

    def show(self, table: Table) -> None:
        """Print a table. If it is too wide, it is divided into bands of columns, which all begin with
        the first column.
        """
        for band in _bands(table, self.console.width):
            self.console.print(band)

    def pairs(self, rows: Iterable[Sequence[str]], style: str = "dim") -> None:
        """Print names (in `style`, never wrapped) and their values, one per row."""
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        cells = [[self.text(cell, style if i == 0 else "") for i, cell in enumerate(row)] for row in rows]
        for i in range(max(map(len, cells), default=0)):
            table.add_column(overflow="fold", no_wrap=i == 0)
        for row in cells:
            table.add_row(*row)
        self.console.print(table)


def _bands(table: Table, width: int) -> list[Table]:
    """Divide the columns of a table into several tables that fit the width, so that no word or number is broken."""
    needs = [_need(column) for column in table.columns]
    bands: list[list[int]] = [[]]
    for i, need in enumerate(needs):
        taken = sum(needs[j] + 1 for j in bands[-1])
        if len(bands[-1]) > 1 and taken + need > width:
            bands.append([0])
        bands[-1].append(i)
    return [_select_columns(table, band, needs, width) for band in bands]


def _need(column: Column) -> int:
    """Return the minimum width of a column. Numbers are never broken, and texts only between words."""
    cells = [str(cell) for cell in column.cells]
    texts = cells if column.justify == "right" else [word for cell in cells for word in cell.split()]
    words = [*texts, *str(column.header).split()]
    return min(LONGEST_WORD, max(map(cell_len, words), default=0))


def _select_columns(table: Table, columns: Sequence[int], needs: Sequence[int], width: int) -> Table:
    """Return some columns of a table, as wide as their texts if possible, and otherwise at least as
    wide as required.
    """
    wants = {
        i: max(needs[i], *map(_longest, [table.columns[i].header, *table.columns[i].cells])) for i in columns
    }
    room = width - (len(columns) - 1) * table.padding[1]
    spare, widths = room - sum(needs[i] for i in columns), {i: needs[i] for i in columns}
    # narrow columns get their width first
    for place, i in enumerate(sorted(columns, key=lambda i: wants[i] - needs[i])):
        more = max(0, min(wants[i] - needs[i], spare // (len(columns) - place)))
        widths[i], spare = widths[i] + more, spare - more
    cut = Table(box=None, pad_edge=False, padding=table.padding, header_style="dim")
    for i in columns:
        column = table.columns[i]
        # a single column that is wider than the console gets all of it
        width_of = widths[i] if spare >= 0 else None
        cut.add_column(column.header, justify=column.justify, overflow="fold", width=width_of)
    cells = [list(table.columns[i].cells) for i in columns]
    for place, row in enumerate(table.rows):
        cut.add_row(*(column[place] for column in cells), style=row.style)
    return cut


def _longest(text: object) -> int:
    return max(map(cell_len, str(text).splitlines()), default=0)
