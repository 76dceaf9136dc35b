"""Agreement of people who labelled the same items: reading their tables, the public function, and its result."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.measures import rater_agreement
from evenhand.prompts.own_files import read_table
from evenhand.prompts.redditbias import read_annotations
from evenhand.reports import Printer, wording
from evenhand.schema import (
    DataError,
    UsageError,
    as_json,
    is_annotations,
    is_file,
    missing_columns,
    missing_file,
    read_votes,
)
from evenhand.stats import MeasurementLevel
from evenhand.studies.agreement.votes import agreement_in_votes
from evenhand.studies.plain_page import PlainTable, plain_page
from evenhand.studies.result import StudyResult

FORMAT = 1
LONG = ("unit", "rater", "rating")
QUESTIONS = ("bias_sent", "bias_phrase")
EXPECTED = (
    f"Expected one table (CSV, JSON Lines, Parquet) with {', '.join(LONG)} and optionally question, with one rating "
    "per row; an export of `evenhand annotate`; or the labelled tables of `evenhand data build redditbias`, one per "
    "rater."
)


@dataclass(frozen=True, repr=False)
class RatersStudy(StudyResult):
    """Agreement (Krippendorff's alpha) of the people who labelled some tables; the result of `agreement_of_raters`."""

    PAGE, NUMBERS = "agreement.html", "agreement.json"

    files: tuple[Path, ...]
    result: pl.DataFrame
    """Table of alpha by question, as `evenhand.measures.rater_agreement` returns it."""
    notes: tuple[str, ...] = ()
    """Rows of an export that were left out, and the reasons."""

    @property
    def path(self) -> Path:
        """Return the folder of the first table."""
        return self.files[0].parent

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the table ``alpha``, one row per question."""
        return {"alpha": self.result}

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data, as in the JSON file."""
        files = [str(file) for file in self.files]
        notes = {"notes": list(self.notes)} if self.notes else {}
        return as_json({"format": FORMAT, "files": files, "alpha": self.result.to_dicts(), **notes})

    def html(self) -> str:
        """Return the HTML page with all questions."""
        return plain_page("agreement of raters", "Raters", [self._table()])

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print alpha of each question."""
        out = Printer(console)
        self._table().render(out)
        out.paths(paths)

    def _table(self) -> PlainTable:
        numbers = ("alpha", "low", "high", "units", "ratings", "raters", "left out")
        scales = self.result["measurement"].unique(maintain_order=True).to_list()
        rows = [
            (
                wording.label(row["question"]) + (f" ({row['measurement']})" if len(scales) > 1 else ""),
                *(wording.number(row[name], 2) for name in ("estimate", "low", "high")),
                *(f"{row[f'n_{what}']:,}" for what in ("units", "ratings", "raters", "missing")),
                row["reason"] or "",
            )
            for row in self.result.to_dicts()
        ]
        heads = (("", "left"), *((name, "right") for name in numbers), ("", "left"))
        lines = (
            "1: they always agree; 0: as by chance. Units are what two or more of them rated.",
            *(str(file) for file in self.files),
            *self.notes,
        )
        return PlainTable(f"Krippendorff's alpha ({', '.join(scales)})", heads, rows, lines)


def agreement_of_raters(
    files: Sequence[Path | str], measurement: MeasurementLevel | None = None, *, seed: int = 0
) -> RatersStudy:
    """Compute Krippendorff's alpha from files with ratings.

    Parameters
    ----------
    files : sequence of path
        One table with ``unit``, ``rater``, ``rating`` and optionally ``question``; or an export of `evenhand annotate`,
        whose units are items; or two or more labelled tables of RedditBias, one per rater, whose units are comments
        with their phrases.
    measurement : {"nominal", "ordinal", "interval"}, optional
        Level of measurement. Default: nominal. For an export, the level that it states for each question.
    seed : int
        Random seed of the bootstrap over units.

    Returns
    -------
    RatersStudy
        Alpha with 95% CI, by question.

    Raises
    ------
    UsageError
        No file is given.
    DataError
        The tables have none of these formats.
    """
    paths = tuple(Path(file).expanduser() for file in files)
    if not paths:
        raise UsageError("No table of ratings was given.", EXPECTED)
    if missing := next((path for path in paths if not is_file(path)), None):
        raise missing_file(missing, EXPECTED)
    if any(map(is_annotations, paths)):
        return _of_export(paths, measurement, seed)
    ratings = _long(paths[0]) if len(paths) == 1 else _labelled(paths)
    return RatersStudy(paths, rater_agreement(ratings, measurement or "nominal", seed=seed))


def _of_export(paths: tuple[Path, ...], measurement: MeasurementLevel | None, seed: int) -> RatersStudy:
    if len(paths) > 1:
        raise UsageError(
            "An export of `evenhand annotate` already contains all judgements, but several files were given.",
            "Give one export only.",
        )
    if measurement is not None:
        raise UsageError(
            f"`--measurement` cannot be used with {paths[0]}: the export records the scale of each question.",
            "Remove --measurement.",
        )
    votes, header = read_votes(paths[0])
    return RatersStudy(paths, *agreement_in_votes(votes, header.get("study", {}), seed=seed))


def _long(path: Path) -> pl.DataFrame:
    heading: list[str] = []
    if path.suffix.lower() == ".csv":
        with path.open(encoding="latin-1", newline="") as handle:
            try:
                heading = next(csv.reader(handle), [])
            except csv.Error as error:
                raise DataError(f"{path} is not a valid CSV: {error}.", EXPECTED) from error
    if set(QUESTIONS) <= set(heading):
        raise DataError(f"{path} contains the labels of one rater only.", EXPECTED)
    table = read_table(path, EXPECTED)
    if lacking := missing_columns(path, LONG, table.columns, EXPECTED):
        raise lacking
    names = [name for name in (*LONG, "question") if name in table.columns]
    rating = pl.col("rating")
    blank = rating.str.strip_chars() == "" if table.schema["rating"] == pl.String else pl.lit(False)
    return table.select(names).with_columns(rating=pl.when(~blank).then(rating))


def _labelled(paths: Sequence[Path]) -> pl.DataFrame:
    unit = pl.struct("comment", "phrase").struct.json_encode()
    return pl.concat(
        read_annotations(path).select(
            unit.alias("unit"),
            rater=pl.lit(str(path)),
            rating=pl.col(question),
            question=pl.lit(question),
        )
        for question in QUESTIONS
        for path in paths
    )
