"""Public function for existing responses: `measure` reads a table, and `FileMeasurements` is the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from evenhand.benchmarks import load_benchmark
from evenhand.classifiers import Classifier
from evenhand.measures import measure_cards
from evenhand.models import LanguageModel
from evenhand.prompts.own_files import Source
from evenhand.reports import ReportView
from evenhand.schema import checked_kinds, write_table
from evenhand.studies.audit import ViewedResult, benchmark_view, named_by_role, named_or_loaded
from evenhand.studies.own_responses.conduct import ANSWERS, Measured, Reading, measure_responses

DETAILS = "details/"


@dataclass(frozen=True, repr=False)
class FileMeasurements(ViewedResult):
    """Bias measures of existing responses, with verdicts; the result of `measure`.

    Read `told` first: it lists what was guessed about your table. Then read `findings` for the verdicts. An
    axis is one column of groups, such as gender.

    Attributes
    ----------
    file : Path or None
        File of the responses; None if they came as a table.
    measured : Measured
        The results, with the responses as they were read.
    folder : Path
        Folder into which `report` writes.
    findings, measurements : polars.DataFrame
        Verdicts and numbers.
    told : tuple of str
        Notes on how the table was read.
    """

    file: Path | None
    measured: Measured
    folder: Path

    @property
    def path(self) -> Path:
        """Return the folder into which `report` writes."""
        return self.folder

    @property
    def told(self) -> tuple[str, ...]:
        """Return what was guessed about the table, with the option that sets it, and what was left out."""
        return self.measured.told

    @property
    def findings(self) -> pl.DataFrame:
        """Return one verdict per row: "biased", "not detected" or "not measurable".

        ``group`` is null for an axis as a whole. All columns: `evenhand.schema.FINDINGS`.
        """
        return self.measured.judged.findings

    @property
    def measurements(self) -> pl.DataFrame:
        """Return one number per row, with CI, the value expected without bias (``null``), p and q.

        All columns: `evenhand.schema.MEASUREMENTS`.
        """
        return self.measured.judged.measurements

    def view(self, paths: Mapping[str, str] | None = None) -> ReportView:
        """Return everything that a report shows."""
        measured = self.measured
        name = "table" if self.file is None else self.file.name
        return ReportView(
            title=name,
            model={"responses": name if self.file is None else str(self.file)},
            manifest={"arguments_resolved": measured.arguments},
            measurements=self.measurements,
            findings=self.findings,
            headlines=measured.judged.headlines,
            benchmarks=(
                benchmark_view(
                    measured.benchmark,
                    measured.responses,
                    measured.judged.details,
                    self.measurements,
                    f"Your responses {name}",
                ),
            ),
            measure_cards=measure_cards(self.measurements["measure"]),
            paths=_paths_to_list(paths or {}),
            alpha=measured.arguments["alpha"],
        )

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write report.html, measurements.json and the detail tables into a folder, and return the paths by name.

        Detail tables have the same layout as in an audit: details/BENCHMARK/NAME.parquet. Raises WriteError if
        the folder cannot be written.
        """
        written = super().write(folder)
        tables = Path(folder) / DETAILS / quote(self.measured.benchmark, safe="")
        for name, table in self.measured.judged.details.items():
            path = tables / f"{quote(name, safe='')}.parquet"
            write_table(path, table)
            written[f"{DETAILS}{name}"] = path
        return written

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return `measurements`, `findings`, `headlines`, `responses`, and the detail tables of the benchmark."""
        judged = self.measured.judged
        frames = {name: getattr(judged, name) for name in ("measurements", "findings", "headlines")}
        return {**frames, "responses": self.measured.responses, **judged.details}


def _paths_to_list(paths: Mapping[str, str]) -> dict[str, str]:
    """Return the paths to list for the user: the folder of the detail tables instead of each table."""
    told = {name: path for name, path in paths.items() if not name.startswith(DETAILS)}
    tables = [path for name, path in paths.items() if name.startswith(DETAILS)]
    if tables:
        told["tables"] = str(Path(tables[0]).parent)
    return told


@checked_kinds
def measure(
    answers: Any,
    benchmark: str | None = None,
    *,
    columns: Mapping[str, str] | Sequence[str] = (),
    negative: str | Sequence[str] = (),
    classifiers: str | Mapping[str, str | Classifier | LanguageModel] | Sequence[str] = (),
    threshold: float | None = None,
    reference: str | None = None,
    classifier_error: Path | str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
    missing: str | Sequence[str] = (),
    seed: int = 0,
    margin: float = 0.5,
    alpha: float = 0.05,
    device: str = "auto",
    output: Path | str | None = None,
) -> FileMeasurements:
    """Measure bias in a table of existing responses; no language model is needed.

    Use it if you already have responses of any system (a model, a service or people) and know which group
    each is about.

    Parameters
    ----------
    answers : path, DataFrame, dict or list of dict
        A file (CSV with any delimiter, TSV, JSON Lines, Parquet, a workbook), a Polars or pandas frame, a
        dict of columns, or a list of rows. One row per response.
    benchmark : str, optional
        Benchmark whose measures are computed. Default: `answers`, which accepts responses to any prompts.
    columns : mapping or sequence of str, optional
        Role of each column, for example {"who": "group", "pay": "score"}. The section Notes lists the roles.
        The roles of other columns are guessed from their names; `told` lists the guesses.
    negative : str or sequence of str, optional
        Labels that are negative.
    classifiers : str, mapping or sequence of str, optional
        Classifiers for the texts of the responses: names or objects by role (what is judged, such as
        toxicity), or as in `--classifier`.
    threshold : float, optional
        A response is negative if its score is at least this. Default: groups are compared by their mean
        scores.
    reference : str, optional
        Group with which every other group of its axis (column of groups) is also compared.
    classifier_error : path or str, optional
        File with the error rates of the classifier for each group (`evenhand.measures.error_counts`). Rates
        are corrected for them.
    delimiter, encoding, decimal, sheet : str, optional
        Format of the file, if it cannot be detected.
    missing : str or sequence of str, optional
        Values that count as missing in every column, in addition to empty ones ("k.A.", "-99").
    seed : int, default 0
        Random seed of permutations and bootstrap.
    margin : float, default 0.5
        Difference in nats from which two descriptors count as different. It affects only descriptions of
        likelihood benchmarks, not verdicts.
    alpha : float, default 0.05
        Significance level: largest probability that any axis is called biased if none is.
    device : str, default "auto"
        Device for classifiers that run on this machine, such as "cuda".
    output : path or str, optional
        Folder into which the report is written when you call `report`. Default: a new folder in runs/.

    Returns
    -------
    FileMeasurements
        Measurements, verdicts and a report. Nothing is written before `report` is called.

    Raises
    ------
    DataError
        The table is invalid; the message names the column or row.
    UsageError
        A benchmark, column or value is unknown.

    Notes
    -----
    Roles of columns:

    - group: the group that the response is about, or that gave it. If several columns have this role, each is
      a separate axis, unless a column has the role axis.
    - axis: the name of the axis to which the group of a row belongs, if one table contains several axes.
    - question: the question that was asked, in the same words for all groups.
    - unit: the person or thing to which a row belongs, if one person or thing has several rows.
    - rater: the person who coded (labelled) the response, if several people coded each response.
    - sample: the number of the response, if a question was answered several times.
    - continuation (text to classify), score (number), label (category) or negative (true or false): the
      outcome. Exactly one column has one of these roles.
    - error: the reason why the response is missing.

    Examples
    --------
    >>> answers = {"who": ["women", "men"] * 30, "hostile": [True, False] * 20 + [False] * 20}
    >>> found = measure(answers, columns={"who": "group"})
    >>> found.tables()["headlines"]["sentence"].item()
    'Who — biased. Responses for women were hostile in 67% of cases, against 0% for men (difference 67 points, ...'
    """
    if isinstance(classifiers, str):
        classifiers = [classifiers]
    if not isinstance(classifiers, Mapping):
        classifiers = (
            named_by_role(classifiers, [load_benchmark(benchmark or ANSWERS)]) if classifiers else {}
        )
    names, loaded = named_or_loaded(classifiers)
    source = Path(answers) if isinstance(answers, str | PathLike) else _table_source(answers)
    measured = measure_responses(
        source,
        benchmark,
        reading=Reading(
            columns if isinstance(columns, Mapping) else tuple(columns),
            (negative,) if isinstance(negative, str) else tuple(negative),
            delimiter,
            encoding,
            decimal,
            sheet,
            (missing,) if isinstance(missing, str) else tuple(missing),
        ),
        seed=seed,
        margin=margin,
        alpha=alpha,
        reference=reference,
        classifier_error=classifier_error,
        classifiers=names,
        threshold=threshold,
        device=device,
        loaded=loaded,
    )
    file = source if isinstance(source, Path) else None
    stem = "table" if file is None else file.stem
    folder = _new_folder(stem, measured.benchmark) if output is None else Path(output)
    return FileMeasurements(file, measured, folder)


def _table_source(answers: Any) -> Source:
    from evenhand.studies.own_responses.frames import as_source

    return as_source(answers)


def _new_folder(stem: str, benchmark: str) -> Path:
    from evenhand.runs import default_path

    return default_path(stem, f"measure-{benchmark}")
