"""`StudyResult`, the base class of the results of all studies: folder, tables, page, numbers and printing."""

import html
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
from rich.console import Console

from evenhand.schema import write_json, write_text

FRAME_HEIGHT = 640
"""Pixels of a page inside a notebook."""


class StudyResult(ABC):
    """Base class of the results of all studies: they are read, shown and written in the same way.

    `tables` returns the tables, `report` writes the page, and `render` prints the result. In a notebook, the
    result shows its page. Derive from the class to add your own study.

    Examples
    --------
    >>> class Census(StudyResult):
    ...     PAGE, NUMBERS = "census.html", "census.json"
    ...     path = Path("census")
    ...     def tables(self): return {"people": pl.DataFrame({"age": [3, 4]})}
    ...     def to_dict(self): return {"people": [3, 4]}
    ...     def html(self): return "<p>3 & 4"
    ...     def print_to(self, console, paths=None): console.print("3 and 4")
    >>> import tempfile
    >>> {name: path.name for name, path in Census().write(tempfile.mkdtemp()).items()}
    {'report': 'census.html', 'numbers': 'census.json'}
    >>> "srcdoc='&lt;p&gt;3 &amp; 4'" in Census()._repr_html_()
    True
    >>> Census()
    Census('census')
    """

    PAGE: ClassVar[str]
    NUMBERS: ClassVar[str]
    """Name of the JSON file with the numbers that `write` makes. ``PAGE`` is the name of the HTML page."""

    @property
    @abstractmethod
    def path(self) -> Path:
        """Return the folder of the result, into which `report` writes."""

    @property
    def paths(self) -> dict[str, Path]:
        """Return the files that `report` writes, by kind."""
        return {"report": self.path / self.PAGE, "numbers": self.path / self.NUMBERS}

    @abstractmethod
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return every table of the result by name."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data, as in the JSON file."""

    @abstractmethod
    def html(self) -> str:
        """Return the page as one HTML document that needs no network; every text is escaped."""

    @abstractmethod
    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print the result to a console; see `render`."""

    def render(self, console: Console | None = None, paths: Mapping[str, Path] | None = None) -> None:
        """Print the result.

        Parameters
        ----------
        console : rich.console.Console, optional
            Where to print. Its width, colours and encoding are respected. Default: the terminal.
        paths : mapping of str to Path, optional
            Files to list at the end, by kind.
        """
        self.print_to(console or Console(), paths)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write page and numbers into a folder; return their paths by kind. Raises WriteError."""
        folder = Path(folder)
        return {
            "report": write_text(folder / self.PAGE, self.html()),
            "numbers": write_json(folder / self.NUMBERS, self.to_dict()),
        }

    def report(self, path: Path | str | None = None) -> Path:
        """Write page and numbers into the result's folder, and a copy of the page to `path` if given.

        Returns the path of the page (the copy's, if there is one). Raises WriteError.
        """
        page = self.write(self.path)["report"]
        return page if path is None else write_text(path, page.read_text(encoding="utf-8"))

    def scalars(self, *, groups: bool = False) -> dict[str, float]:
        """Return estimates with their CI bounds and q by name, for experiment trackers.

        These are the estimates of each axis and those across all responses. A name is made of benchmark, measure, axis
        and group, separated by "/"; parts that do not exist are left out. "/low", "/high" or "/q" follows for CI bounds
        and q. The estimate of a comparison is the change. Values that are not finite or not measured are absent.

        The result is empty without measurements or changes.

        Parameters
        ----------
        groups
            Include the estimates of single groups (thousands of values).
        """
        frames = self.tables()
        table = next((frames[name] for name in ("measurements", "changes") if name in frames), pl.DataFrame())
        return table_scalars(table, groups=groups)

    def log(self, callback: Callable[..., Any], step: int | None = None, *, groups: bool = False) -> None:
        """Pass the numbers to the logging function of an experiment tracker.

        Parameters
        ----------
        callback : callable
            Accepts a mapping of names to numbers, such as `wandb.log`, `trackio.log`, `mlflow.log_metrics` or `print`.
        step : int, optional
            Training step of the audited checkpoint. If given, the callback is called with ``step=step``.
        groups : bool
            As in `scalars`.

        >>> from evenhand import audit
        >>> run = audit("puppet/random", axes=["age"], limit=200, output="runs/logged")
        >>> seen = {}
        >>> run.log(seen.update)
        >>> "evenhand-likelihood/valence_spread/age" in seen
        True
        """
        told = {} if step is None else {"step": step}
        callback(self.scalars(groups=groups), **told)

    def picture(self, path: Path | str, *, benchmark: str | None = None) -> Path:
        """Write the forest plot as a picture of 1600 x 900 pixels, for slides, and return its path.

        `path` ends in .svg or .png (`pip install 'evenhand[pictures]'`). `benchmark` is the one to draw; default: the
        first with a finding. Raises a UsageError for results without such a plot, or a WriteError.
        """
        from evenhand.reports import write_picture
        from evenhand.studies.pictured import picture_of

        return write_picture(picture_of(self.to_dict(), benchmark), path)

    def model_card(self) -> str:
        """Return text for a model card on the Hugging Face hub: YAML front matter (`model-index`) and Markdown.

        Raises UsageError for results other than audits and measured files, which describe one model's responses.
        """
        from evenhand.studies.model_index import model_card

        return model_card(self.to_dict())

    def _repr_html_(self) -> str:
        """Return the page for a notebook, in a frame that isolates its style."""
        content = html.escape(self.html())
        return f"<iframe sandbox width='100%' height='{FRAME_HEIGHT}' srcdoc='{content}'></iframe>"


NAMED_BY = ("model", "benchmark", "outcome", "measure", "axis", "group", "stratum")
"""Columns that identify a number."""


def table_scalars(table: pl.DataFrame, *, groups: bool = False) -> dict[str, float]:
    """Return the numbers of a table of measurements or changes by name; see `StudyResult.scalars`.

    Parameters
    ----------
    table
        The columns of NAMED_BY that exist, `estimate`, `low`, `high`, `q`.
    groups
        Include rows of groups.

    Examples
    --------
    >>> table_scalars(pl.DataFrame({"measure": ["gap"], "axis": ["age"], "estimate": [0.25], "q": [None]}))
    {'gap/age': 0.25}
    """
    named = [name for name in NAMED_BY if name in table.columns]
    found: dict[str, float] = {}
    whole = table.filter(pl.col("group").is_null()) if "group" in named and not groups else table
    for row in whole.iter_rows(named=True):
        name = "/".join(str(row[part]) for part in named if row[part] is not None)
        for kind in ("estimate", "low", "high", "q"):
            number = row.get(kind)
            if isinstance(number, int | float) and isfinite(number):
                found[name if kind == "estimate" else f"{name}/{kind}"] = float(number)
    return found
