"""Public function for counting corpora: `frequencies` counts, and `Frequencies` is the result."""

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
from evenhand.studies.frequencies.options import NOT_DECIDING, FrequencyOptions
from evenhand.studies.frequencies.page import render_html
from evenhand.studies.frequencies.record import check_trust, is_count, stored_options
from evenhand.studies.frequencies.relation import Relation, join_run
from evenhand.studies.frequencies.tabulating import FrequencyTables, frequency_tables
from evenhand.studies.frequencies.terminal import render_terminal
from evenhand.studies.frequencies.view import FrequencyView
from evenhand.studies.result import StudyResult
from evenhand.study import drop_missing, name_options, validate_options

FORMAT = 1
ONLY_IN_FILES = ("frequencies", "associations")
"""Tables with hundreds of thousands of rows, which are not repeated in the JSON."""
CHANGEABLE = NOT_DECIDING - {"sources", "data", "inflections", "rank_bytes"}
"""Options that may be changed when a count is resumed."""


@dataclass(frozen=True, repr=False)
class Frequencies(StudyResult):
    """A finished count of how often groups are mentioned in corpora; the result of `frequencies`.

    Use `tables` for the shares, and `join` to relate them to the bias of a model. Shares are percentages of
    documents, with 95% CIs. Terms are the words that were counted, such as descriptors of groups and
    pronouns.

    Attributes
    ----------
    counted : Counted
        Folder, plan and counts.
    path : Path
        Folder of the count.
    options : FrequencyOptions
        Options of the count.
    counts : Counts
        The raw counts.
    terms : TermTable
        Terms and their spellings.
    """

    PAGE, NUMBERS = "report.html", "frequencies.json"

    counted: Counted

    @property
    def path(self) -> Path:
        """Return the folder of the count."""
        return self.counted.folder

    @property
    def options(self) -> FrequencyOptions:
        """Return the options of the count."""
        return self.counted.plan.options

    @property
    def counts(self) -> Counts:
        """Return the raw counts: integers by corpus and fold (a part of its documents), which can be added up.

        All tables: `evenhand.corpus.Counts`.
        """
        return self.counted.counts

    @property
    def terms(self) -> TermTable:
        """Return the terms that were counted, and the spellings that count as each of them."""
        return self.counted.plan.table

    @cached_property
    def _tables(self) -> FrequencyTables:
        return frequency_tables(self.counts, self.terms, sampled=self.options.sample)

    @property
    def paths(self) -> dict[str, Path]:
        """Return the paths that `report` writes, under "report", "numbers" and "tables" (a folder)."""
        return super().paths | {"tables": self.path / "tables"}

    def join(self, run: Path | str, *, corpus: str | None = None, alpha: float = 0.05) -> Relation:
        """Test whether a model's treatment of groups is related to their frequency; write the result into this folder.

        Parameters
        ----------
        run : path or str
            Folder of an audit, or its URL.
        corpus : str, optional
            One of the counted corpora. Default: all together.
        alpha : float, default 0.05
            Probability that any outcome of a benchmark is falsely called related.

        Returns
        -------
        Relation
            Relations by benchmark and outcome, and the frequency and outcome of each group.

        Raises
        ------
        DataError
            There is no run, or none of its groups was counted.
        UsageError
            The corpus was not counted.
        WriteError
            The folder cannot be written.
        """
        output = self.path / "joined" / Path(run).resolve().name
        seed = self.options.seed
        found = join_run(self.counts, self.terms, run, output=output, corpus=corpus, alpha=alpha, seed=seed)
        found.report()
        return found

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return all tables by name, such as `means` (one row per term) and `groups` (one row per corpus and group).

        `evenhand.studies.frequencies.FrequencyTables` describes them. Shares are percentages of documents.
        """
        found = {field.name: getattr(self._tables, field.name) for field in fields(self._tables)}
        return {name: table for name, table in found.items() if isinstance(table, pl.DataFrame)}

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data, as in the JSON file. Counts per corpus and pair are in tables only."""
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
        """Return tables and plots as one HTML document that needs no network."""
        return render_html(self._view)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print the most and least frequent groups, by corpus."""
        render_terminal(self._view, console, paths)

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write report.html, frequencies.json and the tables as Parquet and CSV; return their paths by name."""
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
    """Count how often groups of people are mentioned in corpora, and which words occur near them.

    Use it to describe training data, or to test whether a model's bias follows its training data.

    Parameters
    ----------
    sources : path, str or sequence of them
        Files, folders, patterns or URLs (s3://, hf://, https://). Formats: Parquet, JSON lines, CSV, text and
        WARC, plain or compressed. NAME=URL names a corpus. If you give the folder of an earlier count, that
        count is resumed or shown.
    output : path or str, optional
        Folder of the count. If it contains a part of the same count, the count is resumed. Default: a new
        folder in runs/.
    terms : str or sequence of str, optional
        Lists of the terms to count: names (descriptors, holisticbias, pronouns, names), or your own CSV.
    column : str, default "text"
        Column with the text.
    sample : float or str, default 1.0
        Share of documents to read (0.001 or "0.1%").
    duplicates : {"keep", "drop"}, default "keep"
        "drop" counts a text only once per corpus.
    workers : int, optional
        Number of processes. Default: one per processor.
    on : str, default "local"
        Where to count: local, datatrove, slurm, ray, or the URL of a Ray cluster.
    trust_addresses : bool, default False
        When a folder is resumed, allow servers that only the folder names, not this call.
    progress : Progress, optional
        Receives progress messages.
    options
        All other options of `evenhand.studies.frequencies.FrequencyOptions` (window, pairs, as_published,
        seed, slurm, ...).

    Returns
    -------
    Frequencies
        The count, with its page and tables written.

    Raises
    ------
    UsageError, DataError
        An option or a file is invalid; the message states how to fix it.
    ResumeRefused
        The folder was started with other options, files or terms.
    WriteError
        The folder cannot be written.
    Interrupted
        The count was interrupted and can be resumed.

    Notes
    -----
    A script must call this function under `if __name__ == "__main__":`, because worker processes import the
    script.

    References
    ----------
    Esiobu et al. (2023), "ROBBIE: Robust Bias Evaluation of Large Generative Language Models", EMNLP, section
    6, tables 7 and 20 to 24.

    Smith et al. (2022), "'I'm sorry to hear that': Finding New Biases in Language Models with a Holistic
    Descriptor Dataset", EMNLP.

    Examples
    --------
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
    asked = validate_options(
        FrequencyOptions, drop_missing({"sources": named, "terms": lists, "workers": workers, **others})
    )
    return frequencies_with(asked, output=local_folder(output), progress=progress)


def local_folder(output: Path | str | None) -> Path | None:
    """Return the folder that an output option names, or None for a new one. Raise a UsageError for a URL or an empty
    name.
    """
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
    """Count with an options object, and write page and tables; see `frequencies`."""
    folder = output or default_path("frequencies", _called(options))
    return _reported(conduct(options, folder, progress))


def resumed(
    folder: Path,
    others: Mapping[str, Any],
    *,
    trust_addresses: bool = False,
    progress: Progress | None = None,
) -> Frequencies:
    """Resume the count in a folder, or show it if it is finished. Its options cannot be changed.

    `others` are options given with the folder; only options that do not affect counts are allowed. With
    `trust_addresses`, sources, clusters and locations that only the folder names are used. Raises a UsageError for
    other options, ResumeRefused for locations that were not named again, and the DataError of `stored_options`.
    """
    stored = stored_options(folder)
    named = drop_missing(others)
    if deciding := sorted(set(named) - CHANGEABLE):
        raise UsageError(
            f"{folder} is an existing count, so {name_options(deciding)} cannot be changed.",
            "To resume or show the count, remove these options. To count with them, start a new count with -o. "
            f"Options that can be changed: {', '.join(sorted(CHANGEABLE))}.",
        )
    check_trust(folder, stored, named, trusted=trust_addresses)
    # Settings of cluster jobs may contain commands, so they are never read from a folder.
    options = validate_options(FrequencyOptions, {**stored.model_dump(), "slurm": {}, **named})
    return _reported(go_on(options, folder, progress))


def _reported(counted: Counted) -> Frequencies:
    with resumable(f"Resume with: evenhand frequencies {counted.folder}"):
        result = Frequencies(counted)
        result.report()
    return result


def _called(options: FrequencyOptions) -> str:
    return parse_sources(options.sources)[0].corpus
