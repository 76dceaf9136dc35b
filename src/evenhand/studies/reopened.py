"""Open the finished result of any study from its folder: its numbers as plain data, and its page."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evenhand.reports import BIASED, NOT_DETECTED, NOT_MEASURABLE
from evenhand.schema import DataError, is_file, read_json
from evenhand.study import problems

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


class StoredPart(BaseModel):
    """Base of the parts of a file of numbers that pictures and model cards read; other fields are allowed."""

    model_config = ConfigDict(strict=True)


class StoredEstimate(StoredPart):
    """An estimate with its interval."""

    benchmark: str
    measure: str
    axis: str | None
    group: str | None
    stratum: str | None = None
    estimate: float | None
    low: float | None
    high: float | None
    null: float | None = None
    verdict: str | None = None
    direction: str | None = None
    unit: str | None = None


class StoredMeasurement(StoredEstimate):
    """A measurement."""

    stratum: str | None
    unit: str | None
    null: float | None
    effect_unit: str | None
    minimum_detectable: float | None


class StoredFinding(StoredEstimate):
    """A measurement with its verdict."""

    verdict: str
    stratum: str | None


class StoredChange(StoredEstimate):
    """A change between two models. The name of the second model is missing in a before-after study."""

    model: str | None = None
    verdict: str | None


class StoredSentence(StoredPart):
    """A sentence about a verdict."""

    benchmark: str
    axis: str | None
    verdict: str
    sentence: str


class StoredHeadline(StoredSentence):
    """The sentence about the verdict on one axis."""

    verdict: Literal[BIASED, NOT_DETECTED, NOT_MEASURABLE]  # type: ignore[valid-type]  # constants of the package


class StoredBenchmark(StoredPart):
    """A benchmark with its card."""

    name: str
    n_prompts: int
    n_errors: int
    card: dict[str, str] | None = None


class StoredCommand(StoredPart):
    """The arguments of the command that wrote the file."""

    arguments_given: dict[str, Any] | None = None
    arguments_resolved: dict[str, Any] | None = None


class StoredMeasurements(StoredPart):
    """The content of measurements.json."""

    title: str
    measurements: list[StoredMeasurement]
    findings: list[StoredFinding]
    headlines: list[StoredHeadline]
    benchmarks: list[StoredBenchmark]
    model: dict[str, Any] | None = None
    manifest: StoredCommand | None = None


class StoredChanges(StoredPart):
    """The content of compare.json or before_after.json."""

    names: list[str] | None = Field(default=None, min_length=2)
    model: str | None = None
    changes: list[StoredChange]
    headlines: list[StoredSentence] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check_models(self) -> Self:
        if self.names is not None and any(change.model is None for change in self.changes):
            raise ValueError("a row of changes does not name its model")
        return self


CONTENTS: dict[str, type[StoredPart]] = {
    "before_after.json": StoredChanges,
    "compare.json": StoredChanges,
    "measurements.json": StoredMeasurements,
}
"""Types of the files from which pictures or model cards can be made, by name of the file."""


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
            return Reopened(folder, name, _read_numbers(folder / name))
    # the run is finished, but its page does not exist yet
    if RunDirectory.is_run(folder) and is_file(folder / "findings.parquet"):
        run = open_run(folder)
        return Reopened(folder, "measurements.json", run.to_dict(), run)
    raise DataError(
        f"No finished result in {folder}.",
        "Give the folder that `evenhand audit`, `measure`, `compare` or `before-after` printed.",
    )


def _read_numbers(file: Path) -> dict[str, Any]:
    """Return the content of a file of numbers. Raises DataError, which names the first field with a wrong value."""
    content = read_json(file, "Give the folder that an audit or a comparison wrote.")
    mend = "It was changed by hand or by another program. Restore it from a copy, or run the command again."
    if not isinstance(content, dict):
        raise DataError(f"{file} does not contain results of evenhand.", mend)
    if kind := CONTENTS.get(file.name):
        try:
            kind.model_validate(content)
        except ValidationError as error:
            raise DataError(
                f"{file} does not contain valid results: {problems(error, most=1)}.", mend
            ) from error
    return content
