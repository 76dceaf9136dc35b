"""Public function that joins frequencies with a run: does treatment of a group depend on how often it is mentioned?"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.corpus import Counts, TermTable
from evenhand.measures import frequency_relation, measure_cards
from evenhand.runs import RunDirectory
from evenhand.runs.remote import is_store_address, working_copy
from evenhand.schema import VERSION, DataError, as_json, checked_kinds, for_spreadsheets, write_table
from evenhand.studies.frequencies.relation.joined import Joined, JoinedBenchmark
from evenhand.studies.frequencies.relation.matching import matched
from evenhand.studies.frequencies.relation.outcomes import described_benchmarks
from evenhand.studies.frequencies.relation.page import relation_page
from evenhand.studies.frequencies.relation.terminal import render_relation
from evenhand.studies.result import StudyResult

FORMAT = 1
FOLDER = "joined"
"""Holds a folder for each run that a count was joined with."""


@dataclass(frozen=True, repr=False)
class Relation(StudyResult):
    """Relation between the outcomes of a run and term frequencies in a corpus; the result of `join_run`.

    Attributes
    ----------
    folder : Path
        Folder of the result.
    run : str
        Folder of the run, or its URL in object storage.
    joined : Joined
        Results by benchmark.
    """

    PAGE, NUMBERS = "relation.html", "relation.json"
    SPREADSHEET = "relation.csv"

    folder: Path
    run: Path | str
    joined: Joined

    @property
    def path(self) -> Path:
        """Return the folder of the page and the numbers."""
        return self.folder

    @property
    def paths(self) -> dict[str, Path]:
        """Return the files that `report` writes, by kind."""
        return super().paths | {"table": self.folder / self.SPREADSHEET}

    @property
    def relations(self) -> pl.DataFrame:
        """Return one row per benchmark, outcome, count and axis (null: all), as in
        `evenhand.measures.FrequencyRelation`.
        """
        return self._of_all(lambda one: one.found.relations)

    @property
    def points(self) -> pl.DataFrame:
        """Return one row per benchmark, outcome and descriptor: frequency, outcome and control variables."""
        return self._of_all(lambda one: one.found.points)

    @property
    def unmatched(self) -> pl.DataFrame:
        """Return the descriptors of the run that were not counted, with the columns benchmark, axis and descriptor."""
        return self._of_all(lambda one: one.matched.unmatched)

    def _of_all(self, table: Callable[[JoinedBenchmark], pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(
            [
                table(one).select(pl.lit(one.asked.name).alias("benchmark"), pl.all())
                for one in self.joined.benchmarks
            ]
        )

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables ``relations``, ``points`` and ``unmatched``."""
        return {"relations": self.relations, "points": self.points, "unmatched": self.unmatched}

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data."""
        content: dict[str, Any] = as_json(
            {
                "format": FORMAT,
                "evenhand": VERSION,
                "run": str(self.run),
                "model": self.joined.model,
                "corpora": list(self.joined.corpora),
                "trained_on": self.joined.trained_on,
                "unfinished": self.joined.unfinished,
                "alpha": self.joined.alpha,
                "matching": [
                    {
                        "benchmark": one.asked.name,
                        "documents": one.matched.total,
                        "descriptors": one.matched.frequencies.height,
                        "never_found": one.matched.never_found,
                        "unmatched": one.matched.unmatched.to_dicts(),
                        "reliability": one.matched.reliability,
                    }
                    for one in self.joined.benchmarks
                ],
                "relations": self.relations.to_dicts(),
                "cards": measure_cards(["frequency_relation"]),
            }
        )
        return content

    def html(self) -> str:
        """Return the page as one HTML document that needs no network."""
        return relation_page(self.joined)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print the result of each outcome."""
        render_relation(self.joined, console, paths)

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write relation.html, relation.json and relation.csv; returns their paths by name. Raises WriteError."""
        table = write_table(Path(folder) / self.SPREADSHEET, for_spreadsheets(self.relations))
        return super().write(folder) | {"table": table}


@checked_kinds
def join_run(
    counts: Counts,
    table: TermTable,
    run: Path | str,
    *,
    output: Path | str | None = None,
    corpus: str | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> Relation:
    """Test whether a model's treatment of groups is related to how often a corpus mentions them.

    Nothing is written until you call `report()` on the result.

    Parameters
    ----------
    counts : Counts
        Counts of the corpora.
    table : TermTable
        Terms by which they were counted.
    run : path or str
        Folder of an audit, or its URL in object storage (s3://bucket/run). The prompts of at least one benchmark must
        name descriptors or groups.
    output : path, optional
        Folder of the result. Default: joined/<run> in the working folder.
    corpus : str, optional
        One of the counted corpora. Default: all together.
    alpha : float
        Probability that any outcome of a benchmark is falsely called related.

    Returns
    -------
    Relation
        Correlations with verdicts.

    Raises
    ------
    DataError
        The run is invalid, its prompts name no descriptors that were counted, or `table` does not match the counts.
    UsageError
        The corpus was not counted.

    References
    ----------
    - ROBBIE (arXiv:2311.18140), section C.3.2; HolisticBias (arXiv:2205.09209), section B.2.1.
    """
    if counts.table_hash != table.content_hash:
        raise DataError(
            "The given table of terms is not the one that these counts were made with.",
            "Use the table in the folder of the count.",
        )
    with working_copy(run, writes=False) as copy:
        directory = RunDirectory.open(copy.folder)
        found = _joined(counts, table, directory, corpus, alpha, seed)
    return Relation(
        folder=Path(output) if output is not None else Path(FOLDER) / directory.path.name,
        run=str(run) if is_store_address(run) else directory.path,
        joined=found,
    )


def _joined(
    counts: Counts, table: TermTable, directory: RunDirectory, corpus: str | None, alpha: float, seed: int
) -> Joined:
    described = described_benchmarks(directory)
    joined = []
    for one in described:
        found = matched(one.descriptors, counts, table, corpus)
        values = pl.concat(
            [outcome.values.with_columns(outcome=pl.lit(outcome.name)) for outcome in one.outcomes]
        )
        related = frequency_relation(found.frequencies, values, total=found.total, alpha=alpha, seed=seed)
        joined.append(JoinedBenchmark(one, found, related))
    names = tuple(counts.totals["corpus"].unique().sort()) if corpus is None else (corpus,)
    described_as = directory.manifest.model.description
    return Joined(
        model=str(directory.manifest.arguments_resolved.get("model", directory.path.name)),
        corpora=names,
        benchmarks=tuple(joined),
        trained_on=described_as.get("corpus") in names,
        unfinished=directory.manifest.status != "complete",
        alpha=alpha,
    )
