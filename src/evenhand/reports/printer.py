"""Printing to a console of any encoding: plain texts, tables without lines, never markup or control codes."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

ASCII = str.maketrans(
    {
        "·": "-",
        "▲": "!",
        "▼": "v",
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
        if not self.unicode:
            value = value.translate(ASCII)
        held = value.encode(self.encoding, "backslashreplace").decode(self.encoding)
        safe = (c if c.isprintable() or c == "\n" else "\ufffd" if self.unicode else "?" for c in held)
        return Text("".join(safe), style)

    def line(self, value: str, style: str = "") -> None:
        self.console.print(self.text(value, style))

    def path(self, name: str, path: str) -> None:
        self.console.print(self.text(f"{name}: {path}"), soft_wrap=True)  # whole, so that it can be copied

    def paths(self, paths: Mapping[str, object] | None) -> None:
        """Below an empty line what was written where; nothing where there is nothing."""
        if paths:
            self.gap()
            for name, path in paths.items():
                self.path(name, str(path))

    def gap(self) -> None:
        self.console.print()

    def table(self, *columns: tuple[str, str]) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
        for name, side in columns:
            table.add_column(self.text(name), justify="right" if side == "right" else "left", overflow="fold")
        return table

    def row(self, table: Table, *cells: str, style: str = "") -> None:
        table.add_row(*(self.text(cell, style) for cell in cells))

    def show(self, table: Table) -> None:
        self.console.print(table)

    def pairs(self, rows: Iterable[Sequence[str]], style: str = "dim") -> None:
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        cells = [[self.text(cell, style if i == 0 else "") for i, cell in enumerate(row)] for row in rows]
        for i in range(max(map(len, cells), default=0)):
            table.add_column(overflow="fold", no_wrap=i == 0)
        for row in cells:
            table.add_row(*row)
        self.console.print(table)
