"""Public function for calibrations: `calibrate` runs one, and `CalibrationStudy` is the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.runs import Progress, default_path, resumable
from evenhand.schema import VERSION, UsageError, as_json, checked_kinds, is_file, read_json, write_json
from evenhand.studies.calibration.conduct import SimulatedResults, conduct
from evenhand.studies.calibration.options import CalibrationOptions, Size
from evenhand.studies.calibration.page import calibration_page
from evenhand.studies.calibration.record import code_hash
from evenhand.studies.calibration.summary import tables
from evenhand.studies.calibration.terminal import render_calibration
from evenhand.studies.result import StudyResult
from evenhand.study import validate_options

FORMAT = 2
"""Since version 2, the file states "holds", "undecided" and "fails", and the worst design of each measure."""


@dataclass(frozen=True, repr=False)
class CalibrationStudy(StudyResult):
    """How reliable measures are on simulated data; the result of `calibrate`.

    Read `measures` first: one row per measure, with its false-positive rate, coverage and power. A design is
    one kind of simulated data, for example eight groups with a certain number of prompts.

    Attributes
    ----------
    folder : Path
        Folder of the study.
    options : CalibrationOptions
        Options of the study.
    drawn : Drawn
        Results of the single data sets.
    measures, designs : polars.DataFrame
        Summaries, with one row per measure and with one row per measure and design.
    """

    PAGE, NUMBERS = "calibration.html", "calibration.json"

    folder: Path
    options: CalibrationOptions
    drawn: SimulatedResults

    @property
    def path(self) -> Path:
        """Return the folder of the study."""
        return self.folder

    @cached_property
    def _tables(self) -> dict[str, pl.DataFrame]:
        return tables(self.drawn)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return all tables by name: `measures`, `designs`, `power`, `doses`, `moves` and `halves`.

        `power` and `doses` have one row per simulated effect, `moves` has checks of invariance, and `halves`
        the agreement between two halves of the prompts. The columns are defined in
        `evenhand.studies.calibration.summary`.
        """
        return dict(self._tables)

    @property
    def _missing_measures(self) -> dict[str, str]:
        """Return the measures without results, with the reasons."""
        return self.drawn.without | {name: f"it failed: {error}" for name, error in self.drawn.failed.items()}

    @property
    def measures(self) -> pl.DataFrame:
        """Return one row per measure, with its worst design and ranges across all designs.

        All rates are proportions: ``worst_false`` is the false-positive rate in the worst design,
        ``coverage_low`` and ``power_low`` are the smallest coverage and power in any design. ``holding``,
        ``undecided`` and ``failing`` count designs.
        """
        return self._tables["measures"]

    @property
    def designs(self) -> pl.DataFrame:
        """Return one row per measure and design, with false-positive rate, coverage, power and ``verdict``.

        A measure holds in a design if the 95% CIs show a false-positive rate of at most 8% and a coverage of at
        least 92%. It fails if they show a false-positive rate above 6%, a coverage below 93%, or a power below
        70% at the minimum detectable effect that it states. Otherwise it is undecided. ``why`` gives the reason.
        """
        return self._tables["designs"]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data, as in the JSON file."""
        content: dict[str, Any] = as_json(
            {
                "format": FORMAT,
                "evenhand": VERSION,
                "code": code_hash(),
                "options": self.options.deciding(),
                **{name: table.to_dicts() for name, table in self._tables.items()},
                "without": self.drawn.without,
                "failed": self.drawn.failed,
            }
        )
        return content

    def summary(self) -> dict[str, Any]:
        """Return the tables with rounded numbers, as `evenhand.measures.calibrated` and the documentation show them."""
        content = self.to_dict()
        return {
            **{name: content[name] for name in ("format", "evenhand", "code", "options")},
            **{
                name: round_numbers(content[name])
                for name in ("measures", "designs", "doses", "moves", "halves")
            },
        }

    def write_summary(self, path: Path | str) -> Path:
        """Write the summary as JSON and return its path.

        If the study covers only some measures, only their rows of an existing summary are replaced. The summary
        must have the same size, seed and replications; `renewed` records the code version of the new rows.

        Raises
        ------
        WriteError
            The file cannot be written.
        UsageError
            The file is not a summary, or is one of a study with other settings.
        """
        content = self.summary()
        if self.options.measures and is_file(path):
            content = _renew_summary(read_json(Path(path), "Write to another file."), content, str(path))
        return write_json(path, content)

    def html(self) -> str:
        """Return a page with the results of every measure and design."""
        return calibration_page(self._tables, self.options, self._missing_measures)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print one line per measure, and the designs in which a measure fails."""
        render_calibration(self._tables, self.options, self._missing_measures, console, paths)


def _renew_summary(stored: dict[str, Any], content: dict[str, Any], path: str) -> dict[str, Any]:
    """Return a stored summary with the rows of newly simulated measures; only these if all measures were simulated."""
    alike = ("size", "seed", "replications")
    new = {row["measure"] for row in content["measures"]}
    try:
        if {row["measure"] for row in stored["measures"]} <= new:
            return content
        same = all(stored["options"].get(name) == content["options"].get(name) for name in alike)
        if not same or stored["format"] != content["format"]:
            raise UsageError(
                f"{path} is the summary of a study with another size, seed or number of replications.",
                "Write to another file, or simulate with the settings of that study.",
            )
        tables = {
            name: [row for row in stored[name] if row["measure"] not in new] + content[name]
            for name in ("measures", "designs", "doses", "moves", "halves")
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is not a calibration summary.", "Write to another file.") from error
    order = {row["measure"]: place for place, row in enumerate(stored["measures"])}
    tables["measures"].sort(key=lambda row: order.get(row["measure"], len(order)))
    renewed = {**stored.get("renewed", {}), **dict.fromkeys(sorted(new), content["code"])}
    return {**stored, **tables, "renewed": renewed}


def round_numbers(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return numbers rounded to four decimals; more would be simulation noise.

    >>> round_numbers([{"a": 0.123456, "b": "x"}])
    [{'a': 0.1235, 'b': 'x'}]
    """
    return [{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in rows]


@checked_kinds
def calibrate(
    measures: str | Sequence[str] = (),
    *,
    size: Size = "quick",
    output: Path | str | None = None,
    seed: int = 0,
    jobs: int | None = None,
    replications: int | None = None,
    progress: Progress | None = None,
) -> CalibrationStudy:
    """Check measures on simulated data: false-positive rate, coverage of intervals, and power.

    Use it before you rely on a measure, or after you changed one. The true differences in the simulated data
    are known. The data go through the complete analysis of each measure, up to the verdict.

    Parameters
    ----------
    measures : str or sequence of str, optional
        Names of measures or benchmarks. Default: everything that can be simulated.
    size : {"quick", "full"}, default "quick"
        "quick" takes a minute or two; "full" runs every design (kind of simulated data).
    output : path or str, optional
        Folder of the study. If it contains a part of the same study, the study is resumed. Default: a new
        folder in runs/.
    seed : int, default 0
        Random seed.
    jobs : int, optional
        Number of processes. It affects only the duration. Default: one per processor core.
    replications : int, optional
        Number of data sets for each combination of a design and a simulated effect, at least 2. Default: as
        each design specifies.
    progress : Progress, optional
        Receives progress messages.

    Returns
    -------
    CalibrationStudy
        The study, with its page written.

    Raises
    ------
    UsageError
        A name in `measures` is unknown or has no simulation, or an option is invalid.
    ResumeRefused
        The folder contains a study with other options or other code.
    Interrupted
        The study was interrupted and can be resumed.
    """
    named = (measures,) if isinstance(measures, str) else tuple(measures)
    given = {
        "measures": named,
        "size": size,
        "seed": seed,
        "jobs": jobs,
        "replications": replications,
    }
    options = validate_options(CalibrationOptions, given)
    if output == "":
        raise UsageError(
            "The name of the output folder is empty.", "Give a folder, or None to create one in runs/."
        )
    return calibrate_with(options, output=None if output is None else Path(output), progress=progress)


def calibrate_with(
    options: CalibrationOptions, *, output: Path | None = None, progress: Progress | None = None
) -> CalibrationStudy:
    """Run a calibration from an options object; otherwise like `calibrate`."""
    folder = output or default_path("calibration", options.size)
    with resumable(
        f"The finished simulations are in {folder}. To resume, run the same command with -o {folder}.",
        "Stopped.",
    ):
        study = CalibrationStudy(folder, options, conduct(options, folder, progress))
        study.report()
    return study
