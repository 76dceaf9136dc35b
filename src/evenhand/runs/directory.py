"""A run on disk: one folder of Parquet and JSON files."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, unquote

import polars as pl

from evenhand.runs.lock import hold_lock
from evenhand.runs.manifest import AskedRecord, Manifest, ModelRecord, PromptSetRecord, refuse_differences
from evenhand.runs.requests import ConversationRequest
from evenhand.runs.shards import read_shards
from evenhand.schema import (
    ADDED,
    FINDINGS,
    HEADLINES,
    MEASUREMENTS,
    PROMPT_KEYS,
    UNREADABLE,
    DataError,
    Parquet,
    ResumeRefused,
    UsageError,
    WriteError,
    as_json,
    describe_occupied,
    is_file,
    is_folder,
    is_temporary,
    write_table,
)
from evenhand.stats import Verdict

if TYPE_CHECKING:
    from evenhand.models import LanguageModel
    from evenhand.runs.plan import Plan

RUNS = "runs"
"""Default folder of new runs."""
MANIFEST = "manifest.json"
PROMPTS = {**PROMPT_KEYS, "request_id": pl.String}
"""Columns that every stored table of prompts has."""
DIRECTIONS = ("worse", "better", "above", "below")
ELSEWHERE = "Start a new run with -o, or remove the options that differ."
CHANGED = "It was changed by another program. Restore it from a copy, or start a new run."
SPEAKER = "The format in which the model receives conversations has changed. Start a new run with -o."


def default_path(model: str, suite: str) -> Path:
    """Return a new folder under runs/, named after the time (UTC), the model and the suite.

    Examples
    --------
    >>> default_path("org/some-model", "quick").name[19:]
    '_some-model_quick'
    """
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    names = [re.sub(r"[^\w.+-]+", "-", Path(name).name).strip("-.") or "unnamed" for name in (model, suite)]
    path = Path(RUNS) / "_".join([now, *names])
    others = (path.with_name(f"{path.name}-{i}") for i in range(2, 1000))
    return path if not path.exists() else next(other for other in others if not other.exists())


class RunDirectory:
    """The folder of one run, with its manifest.

    Use `RunDirectory.open` to read a stored run. Only this class and the engine write into the folder.
    """

    def __init__(self, path: Path, manifest: Manifest):
        self.path = path
        self.manifest = manifest
        self._place = _place(path)

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        model: "LanguageModel",
        given: Mapping[str, Any],
        resolved: Mapping[str, Any],
        prompt_sets: Mapping[str, PromptSetRecord] | None = None,
        benchmark_cards: Mapping[str, Mapping[str, str]] | None = None,
        seeds: Mapping[str, int] | None = None,
    ) -> Self:
        """Start a run in a new or empty folder.

        `given` and `resolved` are arguments as written and with defaults. `prompt_sets` and `benchmark_cards` are by
        benchmark, `seeds` by purpose. Raises a UsageError if the folder is not empty, or a WriteError.
        """
        path = Path(path)
        if cls.is_run(path):
            raise UsageError(f"{path} already contains a run.", f"Resume it: evenhand audit {path}")
        # lexists returns False for names that the system does not accept
        if os.path.lexists(path) and not _is_empty(path):
            raise UsageError(f"{path} {describe_occupied(path)}.", "Choose another folder with -o.")
        manifest = Manifest(
            created=datetime.now(UTC).isoformat("T", "seconds"),
            arguments_given=as_json(given),
            arguments_resolved=as_json(resolved),
            model=ModelRecord.from_model(model),
            prompt_sets=dict(prompt_sets or {}),
            benchmark_cards={name: dict(card) for name, card in (benchmark_cards or {}).items()},
            seeds=dict(seeds or {}),
        )
        directory = cls(path, manifest)
        directory.save()
        return directory

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run. Raise DataError if the folder contains none or its manifest cannot be read."""
        path = Path(path)
        if not cls.is_run(path):
            what = "does not exist"
            if is_folder(path):
                what = "is not a run folder: it contains no manifest.json"
            elif is_file(path):
                what = "is a file, but the folder of a run was expected"
            raise DataError(f"{path} {what}.", "Give the folder that `evenhand audit` printed, in runs/.")
        return cls(path, Manifest.read(path / MANIFEST))

    @staticmethod
    def is_run(path: Path) -> bool:
        """Return True if a folder contains a run."""
        return is_file(Path(path) / MANIFEST)

    def save(self) -> None:
        """Write the manifest in one step. Raises WriteError."""
        if self._place is not None:
            self.check_in_place()
        self.manifest.write(self.path / MANIFEST)
        self._place = _place(self.path)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the run for this process and read the manifest again; a context manager. Raise a UsageError if it is
        locked.
        """
        with hold_lock(self.path / ".lock"):
            self.manifest = Manifest.read(self.path / MANIFEST)
            self._place = _place(self.path)
            yield

    def check_in_place(self) -> None:
        """Raise WriteError if the folder was moved or removed, because writing would start a second half of the run."""
        if self._place != _place(self.path):
            raise WriteError(
                f"{self.path} is no longer the folder in which this run started: it was moved, replaced or "
                "deleted.",
                "Stored results are not lost. Resume with the new location of the folder: evenhand audit FOLDER",
            )

    def check_same(self, arguments: Mapping[str, Any]) -> None:
        """Raise ResumeRefused, with all differences, unless the resolved arguments equal the stored ones."""
        refuse_differences(f"The run {self.path}", self.manifest.arguments_resolved, arguments, ELSEWHERE)

    def check_model(self, fingerprint: Mapping[str, Any]) -> None:
        """Raise ResumeRefused, with all differences, unless the model equals the stored one."""
        refuse_differences(
            f"The run {self.path}",
            {"model": self.manifest.model.fingerprint},
            {"model": fingerprint},
            "The model itself has changed. Start a new run with -o.",
        )

    @property
    def responses_folder(self) -> Path:
        """Return the folder with the responses. Raise a DataError if it is outside the run."""
        return self._inside("responses")

    def labels_folder(self, key: str) -> Path:
        """Return the folder with a classifier's labels (a key of `manifest.labels`). Raise a DataError if it is outside
        the run.
        """
        return self._inside("labels", key)

    @property
    def report_path(self) -> Path:
        return self.path / "report.html"

    @property
    def benchmarks(self) -> list[str]:
        """Return the names of the benchmarks whose prompts are stored."""
        return sorted(unquote(path.stem) for path in (self.path / "prompts").glob("*.parquet"))

    def write_prompts(self, plan: "Plan") -> None:
        """Store the prompts with their request identifiers. Raise ResumeRefused if different ones are stored, or a
        WriteError.
        """
        strangers = set(self.benchmarks) - {part.benchmark for part in plan.parts}
        if strangers:
            raise ResumeRefused(
                f"The run {self.path} also contains prompts of {', '.join(sorted(strangers))}, which are not in "
                "the plan.",
                ELSEWHERE,
            )
        from evenhand.runs import conversing

        for part in plan.parts:
            talks = isinstance(part.request, ConversationRequest)
            prompts = conversing.sort_utterances(part.prompts, [part.prompts]) if talks else part.prompts
            asked_of = plan.speaker.fingerprint if talks and plan.speaker else None
            now = AskedRecord.from_request(prompts.height, part.request, asked_of)
            before = self.manifest.asked.get(part.benchmark)
            if before is not None and before.speaker is not None:
                refuse_differences(f"The run {self.path}", before.speaker, now.speaker or {}, SPEAKER)
            self.manifest.asked[part.benchmark] = now
            path = self._prompts_path(part.benchmark)
            if not path.exists():
                write_table(path, prompts)
                continue
            keys = ["prompt_id", "request_id"]
            if talks:
                keys += ["turn", *(name for name in conversing.PERSONAS if name in prompts.columns)]
            stored, given = _read_table(path, PROMPTS, keys), prompts.select(keys)
            if talks and "turn" in stored.columns:  # keep only the first replies of finished conversations
                stored = stored.filter(pl.col("turn") == given["turn"][0])
            if not stored.equals(given):
                same = set(map(repr, stored.rows())) & set(map(repr, given.rows()))
                raise ResumeRefused(
                    f"The prompts of {part.benchmark!r} differ from those that the run {self.path} started with: "
                    f"{stored.height} rows are stored, {given.height} are given now, {len(same)} are the same.",
                    "A data set, a seed or the text has changed. Start a new run with -o.",
                )

    def write_conversations(self, plan: "Plan", rounds: Sequence["Plan"]) -> None:
        """Store the utterances so far as prompts of their benchmarks (`rounds`: all of the plan's). Raises a
        WriteError.
        """
        from evenhand.runs import conversing

        for part in plan.parts:
            if isinstance(part.request, ConversationRequest):
                asked = [its for each in rounds for its in each.parts if its.benchmark == part.benchmark]
                rows = conversing.sort_utterances(part.prompts, [its.prompts for its in asked])
                write_table(self._prompts_path(part.benchmark), rows)

    def prompts(self, benchmark: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the stored prompts of a benchmark with `request_id`. Raise a DataError if there are none.

        `columns` are the columns to read in addition to `request_id`, if they exist. Default: all.
        """
        path = self._prompts_path(benchmark)
        table = _read_table(path, PROMPTS, None if columns is None else ["request_id", *columns])
        if table.is_empty():
            raise DataError(f"{path} contains no prompts.", CHANGED)
        return table

    def responses(self) -> pl.DataFrame:
        """Return all responses so far (columns: RESPONSES). Raise a DataError that names an unreadable file."""
        return read_shards(self.responses_folder)

    def write_measurements(self, measurements: pl.DataFrame) -> None:
        """Store the measurements table (MEASUREMENTS), replacing an earlier one."""
        self.check_in_place()
        write_table(self.path / "measurements.parquet", _cast_columns(measurements, MEASUREMENTS))

    def measurements(self) -> pl.DataFrame:
        """Return the table of measurements. Raise a DataError if there is none."""
        return _read_table(self.path / "measurements.parquet", MEASUREMENTS)

    def write_findings(self, findings: pl.DataFrame) -> None:
        """Store the findings table (FINDINGS), replacing an earlier one."""
        self.check_in_place()
        write_table(self.path / "findings.parquet", _cast_columns(findings, FINDINGS))

    def findings(self) -> pl.DataFrame:
        """Return the table of findings. Raise a DataError if there is none, or if a verdict is invalid."""
        return _read_verdicts(self.path / "findings.parquet", FINDINGS)

    def write_headlines(self, headlines: pl.DataFrame) -> None:
        """Store the result of each axis in a sentence (HEADLINES), replacing earlier ones."""
        self.check_in_place()
        write_table(self.path / "headlines.parquet", _cast_columns(headlines, HEADLINES))

    def headlines(self) -> pl.DataFrame:
        """Return the result of each axis in a sentence (HEADLINES). Raise a DataError for an invalid one."""
        path = self.path / "headlines.parquet"
        return _read_verdicts(path, HEADLINES) if path.exists() else pl.DataFrame(schema=HEADLINES)

    def write_details(self, benchmark: str, details: Mapping[str, pl.DataFrame]) -> dict[str, dict[str, str]]:
        """Store a benchmark's detail tables by name, replacing earlier ones of these names.

        Returns: their columns and types, for `manifest.details`.
        """
        self.check_in_place()
        for name, table in details.items():
            folder = self._inside("details", quote(benchmark, safe=""))
            write_table(folder / f"{quote(name, safe='')}.parquet", table)
        return {name: _types(table) for name, table in details.items()}

    def details(self, benchmark: str) -> dict[str, pl.DataFrame]:
        """Return a benchmark's detail tables by name. Raise a DataError for a damaged or changed one."""
        folder = self.path / "details" / quote(benchmark, safe="")
        written = self.manifest.details.get(benchmark, {})
        tables = {}
        for path in sorted(folder.glob("*.parquet")):
            name = unquote(path.stem)
            tables[name] = _read_table(path)
            if name in written and _types(tables[name]) != written[name]:
                raise DataError(
                    f"{path} has other columns than evenhand wrote.",
                    "It was changed by another program. To create it again, resume the run: evenhand audit "
                    f"{self.path}",
                )
        return tables

    def _prompts_path(self, benchmark: str) -> Path:
        return self._inside("prompts") / f"{quote(benchmark, safe='')}.parquet"

    def _inside(self, *parts: str) -> Path:
        # the folder may come from another person; a link in it could make us read, write or move files of the user
        folder = self.path.joinpath(*parts)
        target = Path(os.path.realpath(folder))  # unlike `resolve`, it accepts a link to itself
        if target.is_symlink() or not target.is_relative_to(os.path.realpath(self.path)):
            goal = "to itself" if target.is_symlink() else f"out of the run {self.path}, to {target}"
            raise DataError(f"{folder} is a link that leads {goal}.", "Replace the link by a folder.")
        return folder


def _place(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of the folder to which a path leads; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _types(table: pl.DataFrame) -> dict[str, str]:
    return {name: str(kind) for name, kind in table.schema.items()}


def _is_empty(path: Path) -> bool:
    # a start that was killed while it wrote the manifest leaves a worthless temporary file
    return path.is_dir() and all(map(is_temporary, path.iterdir()))


def _cast_columns(frame: pl.DataFrame, schema: Mapping[str, Any]) -> pl.DataFrame:
    if lacking := [name for name in schema if name not in frame.columns]:
        raise DataError(f"The table lacks {', '.join(lacking)}.", f"Required columns: {', '.join(schema)}.")
    return frame.select(pl.col(name).cast(kind) for name, kind in schema.items())


def _read_verdicts(path: Path, needed: Mapping[str, Any]) -> pl.DataFrame:
    """Return a table of verdicts. Raise DataError if a verdict is invalid, or a sentence is missing."""
    table = _read_table(path, needed)
    wrong = table.filter(~pl.col("verdict").is_in([str(verdict) for verdict in Verdict]).fill_null(False))
    other = table.filter(~pl.col("direction").is_in(DIRECTIONS)) if "direction" in needed else table.clear()
    mended = (
        "It is damaged or was changed. Restore it from a copy, or delete it and resume the run to create it "
        "again."
    )
    if wrong.height:
        verdict = wrong["verdict"][0]
        raise DataError(
            f"{path}: {'a row has no verdict' if verdict is None else f'{verdict!r} is not a verdict'}.",
            mended,
        )
    if other.height:
        raise DataError(f"{path}: the direction {other['direction'][0]!r} is not valid.", mended)
    if "sentence" in needed and table["sentence"].has_nulls():
        raise DataError(f"{path}: a row has no sentence.", mended)
    return table


def _read_table(
    path: Path, needed: Mapping[str, Any] | None = None, columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """Return a table of the run. needed: required columns with their types. columns: columns to read; None: all."""
    try:
        table = Parquet(path)
        stored = table.schema
        lacking = [name for name in (needed or {}) if name in ADDED and name not in stored]
        if wrong := [
            f"{name} is {stored[name]}, not {kind}" if name in stored else f"{name} is missing"
            for name, kind in (needed or {}).items()
            if name not in lacking and stored.get(name) != kind
        ]:
            raise DataError(f"{path} is not a table written by evenhand: {', '.join(wrong)}.", CHANGED)
        if columns is None:
            absent = [pl.lit(None, needed[name]).alias(name) for name in lacking] if needed else []
            return table.read().with_columns(absent)
        return table.read([name for name in columns if name in stored])
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist.", "To create it, resume the run.") from error
    except UNREADABLE as error:
        reason = str(error).strip().split("\n")[0]
        raise DataError(
            f"{path} cannot be read: {reason}.", "Delete the file, and resume the run to create it again."
        ) from error
