"""The front door of counting corpora: `frequencies(...)` counts, a `Frequencies` shows itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.corpus import Counts, TermTable
from evenhand.corpus.reading import parse_sources
from evenhand.runs import Progress, default_path, resumable
from evenhand.schema import VERSION, UsageError, as_json, checked_kinds
from evenhand.studies.frequencies.conduct import Counted, conduct, go_on
from evenhand.studies.frequencies.options import NOT_DECIDING, FrequencyOptions, given
from evenhand.studies.frequencies.page import render_html
from evenhand.studies.frequencies.record import check_trust, is_count, stored_options
from evenhand.studies.frequencies.relation import Relation, join_run
from evenhand.studies.frequencies.tabulating import FrequencyTables, frequency_tables
from evenhand.studies.frequencies.terminal import render_terminal
from evenhand.studies.frequencies.view import FrequencyView
from evenhand.studies.options import validated
from evenhand.studies.result import StudyResult

FORMAT = 1
ONLY_IN_FILES = ("frequencies", "associations")
"""Tables of hundreds of thousands of rows, which the JSON does not repeat."""
CHANGEABLE = NOT_DECIDING - {"sources", "data", "inflections", "rank_bytes"}
"""Options that may be given anew where a count goes on."""


@dataclass(frozen=True, repr=False)
class Frequencies(StudyResult):
    """How often people are spoken of in corpora."""

    PAGE, NUMBERS = "report.html", "frequencies.json"

    counted: Counted

    @property
    def path(self) -> Path:
        """The count's folder."""
        return self.counted.folder

    @property
    def options(self) -> FrequencyOptions:
        """What was asked."""
        return self.counted.plan.options

    @property
    def counts(self) -> Counts:
        """The counts themselves, by corpus and fold: integers that add up (`evenhand.corpus.Counts`)."""
        return self.counted.counts

    @property
    def terms(self) -> TermTable:
        """What was looked for."""
        return self.counted.plan.table

    @cached_property
    def _tables(self) -> FrequencyTables:
        return frequency_tables(self.counts, self.terms, sampled=self.options.sample)

    @property
    def paths(self) -> dict[str, Path]:
        """The files that `report` writes, by what they are."""
        return super().paths | {"tables": self.path / "tables"}

    def join(self, run: Path | str, *, corpus: str | None = None, alpha: float = 0.05) -> Relation:
        """Does a model's treatment of a group follow how often it was seen? See `join_run`; written into this folder.

        run: the folder of an audit, or its address on a store. corpus: one of those counted; None: all together. Raises
        as `join_run`, WriteError.
        """
        output = self.path / "joined" / Path(run).resolve().name
        seed = self.options.seed
        found = join_run(self.counts, self.terms, run, output=output, corpus=corpus, alpha=alpha, seed=seed)
        found.report()
        return found

    def tables(self) -> dict[str, pl.DataFrame]:
        """Every table, by the name it has in `evenhand.studies.frequencies.FrequencyTables`."""
        found = {field.name: getattr(self._tables, field.name) for field in fields(self._tables)}
        return {name: table for name, table in found.items() if isinstance(table, pl.DataFrame)}

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data, as they stand in the JSON file; what each corpus and pair gave is in tables."""
        content: dict[str, Any] = as_json(
            {
                "format": FORMAT,
                "evenhand": VERSION,
                "options": self.options.model_dump(mode="json"),
                "terms": {"hash": self.terms.content_hash, "number": len(self.terms)},
                "broken_share": self.counted.broken_share,
                "skipped": self.counts.skipped.to_dicts(),
                **{
                    name: table.to_dicts()
                    for name, table in self.tables().items()
                    if name not in ONLY_IN_FILES
                },
            }
        )
        return content

    @cached_property
    def _view(self) -> FrequencyView:
        return FrequencyView(self.counts, self.terms, self._tables, self._facts())

    def _facts(self) -> dict[str, object]:
        asked = {
            name: value
            for name, value in self.options.model_dump(mode="json").items()
            if value not in (None, [], {})
            and name not in ("workers", "ranks_at", "rank_bytes", "error_threshold")
        }
        plan = self.counted.plan
        return {
            "evenhand": VERSION,
            "folder": str(self.path),
            **asked,
            "files": len({piece.address for piece in plan.pieces}),
            "bytes": plan.size,
            "ranks": len(plan.ranks),
        }

    def html(self) -> str:
        """The tables and plots: one document that needs no network."""
        return render_html(self._view)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print what is spoken of most and least, by corpus."""
        render_terminal(self._view, console, paths)

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write report.html, frequencies.json and the tables as Parquet and CSV; their paths by name.

        Raises WriteError.
        """
        tables = Path(folder) / "tables"
        self._tables.write(tables)
        return super().write(folder) | {"tables": tables}


@checked_kinds
def frequencies(
    sources: str | Path | Sequence[str | Path],
    *,
    output: Path | str | None = None,
    terms: str | Path | Sequence[str | Path] = (),
    column: str = "text",
    sample: float | str = 1.0,
    duplicates: str = "keep",
    workers: int | None = None,
    on: str = "local",
    trust_addresses: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Frequencies:
    """Count how often people are spoken of in corpora: every term of some lists, with what stands beside it.

    sources: files, folders, patterns or addresses (s3://, hf://, https://) of Parquet, JSON lines, CSV, text or WARC,
    plain or compressed; NAME=ADDRESS names a corpus. Or the folder of an earlier count, which is gone on with or shown.
    output: the count's folder; one that holds a part of the same count is gone on with. terms: lists by name
    (descriptors, holisticbias, pronouns, names), or a CSV of your own. column: which holds the text. sample: a share of
    documents (0.001 or "0.1%"). duplicates: "drop" counts a text once in its corpus. workers: processes. on: local,
    datatrove, slurm, ray, or a Ray cluster's address. trust_addresses: whether a folder that is gone on with may decide
    which machines are asked. options: anything else of `evenhand.studies.frequencies.FrequencyOptions` (window, pairs,
    as_published, seed, slurm, ...).
    Returns the count, its page and tables written. A script that calls this has to stand behind
    `if __name__ == "__main__":`, since processes are started that read it.
    Raises UsageError and DataError that say how to mend what is wrong, ResumeRefused for a folder begun with other
    options, files or terms, WriteError, Interrupted (resumable).
    Source: ROBBIE (Esiobu et al. 2023), section 6, Tables 7 and 20 to 24; HolisticBias (Smith et al. 2022).

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "talk.txt").write_text("She is deaf.\\nHe sings.\\nThey sing.\\n")
    >>> found = frequencies(folder / "talk.txt", output=folder / "counts", terms="pronouns", workers=1)
    >>> int(found.counts.totals["documents"].sum())
    3
    """
    named = tuple(map(str, [sources] if isinstance(sources, str | Path) else sources))
    lists = tuple(map(str, [terms] if isinstance(terms, str | Path) else terms))
    others = {"column": column, "sample": sample, "duplicates": duplicates, "on": on, **options}
    if len(named) == 1 and output is None and is_count(Path(named[0])):
        usual = {name: field.default for name, field in FrequencyOptions.model_fields.items()}
        changed = {name: value for name, value in others.items() if usual.get(name) != value}
        changed |= {"terms": lists, "workers": workers}
        return resumed(Path(named[0]), changed, trust_addresses=trust_addresses, progress=progress)
    asked = validated(
        FrequencyOptions, given({"sources": named, "terms": lists, "workers": workers, **others})
    )
    return frequencies_with(asked, output=local_folder(output), progress=progress)


def local_folder(output: Path | str | None) -> Path | None:
    """The folder that an output names, None for a new one. Raises UsageError for an address, and for an empty name."""
    if output == "":
        raise UsageError(
            "The name of the output folder is empty.", "Give a folder, or none to create one in runs/."
        )
    if isinstance(output, str) and "://" in output:
        raise UsageError(
            f"{output}: the folder of a count must be on this machine.",
            "Only the counts of remote machines can be stored at a URL: --ranks-at s3://BUCKET/PATH",
        )
    return None if output is None else Path(output)


def frequencies_with(
    options: FrequencyOptions, *, output: Path | None = None, progress: Progress | None = None
) -> Frequencies:
    """Count as options say, and write page and tables; see `frequencies`."""
    folder = output or default_path("frequencies", _called(options))
    return _reported(conduct(options, folder, progress))


def resumed(
    folder: Path,
    others: Mapping[str, Any],
    *,
    trust_addresses: bool = False,
    progress: Progress | None = None,
) -> Frequencies:
    """Go on with the count in a folder, or show it if it is finished; its options may not be given anew.

    others: options given with the folder; those that decide no count may be. trust_addresses: whether sources, clusters
    and places that only the folder names may be asked. Raises UsageError for others, ResumeRefused for places that were
    not named again, DataError as `stored_options`.
    """
    stored = stored_options(folder)
    named = given(others)
    if deciding := sorted(set(named) - CHANGEABLE):
        raise UsageError(
            f"{folder} is an existing count, so {', '.join(deciding)} cannot be changed.",
            "Remove it to resume the count, or start a new one with -o. Can be changed: "
            f"{', '.join(sorted(CHANGEABLE))}.",
        )
    check_trust(folder, stored, named, trusted=trust_addresses)
    # what a cluster's jobs are told, commands among it, is never taken from a folder
    options = validated(FrequencyOptions, {**stored.model_dump(), "slurm": {}, **named})
    return _reported(go_on(options, folder, progress))


def _reported(counted: Counted) -> Frequencies:
    with resumable(f"Resume with: evenhand frequencies {counted.folder}"):
        result = Frequencies(counted)
        result.report()
    return result


def _called(options: FrequencyOptions) -> str:
    return parse_sources(options.sources)[0].corpus
