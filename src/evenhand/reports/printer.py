"""Printing to a console of any encoding: plain texts, tables without lines, never markup or control codes."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

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
        "−": "-",
        "×": "x",
        "…": "...",
        "’": "'",
        "“": '"',
        "”": '"',
        "≤": "<=",
    }
)


class Printer:
    """Prints texts, never markup or control codes, in characters that the console's stream can hold."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.encoding = (console.encoding or "ascii").lower()
        self.unicode = self.encoding.startswith("utf")

    def text(self, value: str, style: str = "") -> Text:
        """A text as this console can hold it: control codes and what its encoding lacks are replaced."""
        if not self.unicode:
            value = value.translate(ASCII)
        encodable = value.encode(self.encoding, "backslashreplace").decode(self.encoding)
        safe = (c if c.isprintable() or c == "\n" else "\ufffd" if self.unicode else "?" for c in encodable)
        return Text("".join(safe), style)

    def line(self, value: str, style: str = "") -> None:
        """Print a line, wrapped where the console ends."""
        self.console.print(self.text(value, style))

    def sentences(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Print sentences behind marks, wrapped beside them: (mark, sentence, style)."""
        table = Table(box=None, show_header=False, pad_edge=False, padding=0)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for mark, sentence, style in rows:
            table.add_row(self.text(mark, style), self.text(sentence, style))
        self.console.print(table)

    def path(self, name: str, path: str) -> None:
        """Print where something lies, whole, so that it can be copied."""
        self.console.print(self.text(f"{name}: {path}"), soft_wrap=True)

    def paths(self, paths: Mapping[str, object] | None) -> None:
        """Below an empty line what was written where; nothing where there is nothing."""
        if paths:
            self.gap()
            for name, path in paths.items():
                self.path(name, str(path))

    def gap(self) -> None:
        """Print an empty line."""
        self.console.print()

    def table(self, *columns: tuple[str, str]) -> Table:
        """An empty table; columns: (head, "left" or "right")."""
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
        for name, side in columns:
            table.add_column(self.text(name), justify="right" if side == "right" else "left", overflow="fold")
        return table

    def row(self, table: Table, *cells: str, style: str = "") -> None:
        """Add a row of texts to a table."""
        table.add_row(*(self.text(cell, style) for cell in cells))

    def show(self, table: Table) -> None:
        """Print a table."""
        self.console.print(table)

    def pairs(self, rows: Iterable[Sequence[str]], style: str = "dim") -> None:
        """Print names (in `style`, never wrapped) with what belongs to them beside, one a row."""
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        cells = [[self.text(cell, style if i == 0 else "") for i, cell in enumerate(row)] for row in rows]
        for i in range(max(map(len, cells), default=0)):
            table.add_column(overflow="fold", no_wrap=i == 0)
        for row in cells:
            table.add_row(*row)
        self.console.print(table)
