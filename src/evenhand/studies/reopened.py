"""A finished result in a folder, whichever verb made it: its numbers as plain data, and its page."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.schema import DataError, is_file, read_json

if TYPE_CHECKING:
    from evenhand.studies.audit import Run

NUMBERS = {
    "before_after.json": "before_after.html",
    "compare.json": "compare.html",
    "measurements.json": "report.html",
    "consistency.json": "consistency.html",
    "calibration.json": "calibration.html",
    "frequencies.json": "report.html",
    "report.json": "report.html",
}
"""Files of numbers in a folder, each with its page. A study comes before the runs that belong to it."""


@dataclass(frozen=True)
class Reopened:
    """A stored result that was opened again; what `open_result` returns.

    Attributes
    ----------
    folder : Path
        Folder of the result.
    numbers : str
        Name of the file with the numbers.
    content : mapping of str
        The numbers, as `to_dict()` returns them.
    run : Run or None
        The run, if the result is an audit.
    """

    folder: Path
    numbers: str
    content: Mapping[str, Any]
    run: "Run | None" = None

    def page(self) -> Path:
        """Return the page, rewritten for an audit, as stored for other results. Raises DataError without one."""
        if self.run is not None:
            return self.run.report()
        page = self.folder / NUMBERS[self.numbers]
        if not is_file(page):
            raise DataError(
                f"{self.folder} has no {page.name}.",
                "Run the command that created the study again with this folder: it writes the report.",
            )
        return page


def open_result(folder: Path | str) -> Reopened:
    """Open the finished result of any study from its folder, or a run from its URL.

    Use it if you do not know which study wrote the folder. For an audit, use `evenhand.open_run`.

    Parameters
    ----------
    folder : path or str
        Folder of the result, or the URL of a run in object storage.

    Returns
    -------
    Reopened
        The result.

    Raises
    ------
    DataError
        There is no finished result, or its numbers are damaged.
    """
    from evenhand.runs import RunDirectory
    from evenhand.runs.remote import is_store_address
    from evenhand.studies.audit import open_run

    if is_store_address(folder):
        run = open_run(folder)
        return Reopened(run.path, "measurements.json", run.to_dict(), run)
    folder = Path(folder)
    for name in NUMBERS:
        if is_file(folder / name):
            if name == "measurements.json" and RunDirectory.is_run(folder):
                run = open_run(folder)
                return Reopened(folder, name, run.to_dict(), run)
            content = read_json(folder / name, "Give the folder that an audit or a comparison wrote.")
            if not isinstance(content, dict):
                raise DataError(
                    f"{folder / name} does not contain results of evenhand.", "Restore it from a copy."
                )
            return Reopened(folder, name, content)
    if RunDirectory.is_run(folder) and is_file(
        folder / "findings.parquet"
    ):  # finished, and its page not written yet
        run = open_run(folder)
        return Reopened(folder, "measurements.json", run.to_dict(), run)
    raise DataError(
        f"No finished result in {folder}.",
        "Give the folder that `evenhand audit`, `measure`, `compare` or `before-after` printed.",
    )
