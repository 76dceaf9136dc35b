"""The study of names: an audit of self-chats for each row, with every number compared with the base row.

rows/LABEL/DECODING/ are ordinary runs of the suite `names`. rows/LABEL/pairs/ contains stereotypes by likelihood, which
do not depend on the decoding. Finished rows are not changed, so a stopped study can be resumed.
"""

import gc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.benchmarks import AnalysisOptions, load_suite
from evenhand.mitigations.training import read_lineage
from evenhand.models import check_model
from evenhand.prompts.datasets import dataset_folder
from evenhand.runs import (
    Progress,
    RunDirectory,
    Silence,
    default_path,
    fingerprint_digest,
    hold_lock,
    resumable,
    self_chats,
)
from evenhand.schema import (
    DataError,
    DatasetMissing,
    ModelError,
    Unsupported,
    UsageError,
    read_stored_table,
    write_table,
)
from evenhand.studies.audit import AuditConfig, audited_model, conduct_audit
from evenhand.studies.names.cells import PAIRS, chat_cells, judged_cells, pair_cells, perplexity_cell
from evenhand.studies.names.effects import Replicates, add_reply_columns, both_wrote, dealt, replicates
from evenhand.studies.names.language import drawn_replies, read_replies
from evenhand.studies.names.options import BASE, NamesConfig, is_finished, list_unfinished_rows, slug
from evenhand.study import validate_options

SUITE = "names"
PAIRS_FOLDER = "pairs"
CELLS_FILE = "cells.parquet"
TUNED = ("learned", "watched")
"""Keys of the names in the lineage of a trained model: names used for training, and for monitoring it."""


@dataclass(frozen=True)
class NamesStudy:
    """A finished study on disk.

    Attributes
    ----------
    folder
        Folder of the study.
    config
        Options of the study.
    cells
        Table of all results (`cells.CELLS`).
    details
        Detail tables by name, for each (label, decoding, benchmark).
    left_out
        Benchmarks that were not measured, with the reasons.
    tuned
        First names that are excluded from comparisons, because a model was trained or monitored on them.
    facts
        Description of each model, by label.
    """

    folder: Path
    config: NamesConfig
    cells: pl.DataFrame
    details: Mapping[tuple[str, str, str], Mapping[str, pl.DataFrame]]
    left_out: tuple[str, ...]
    tuned: tuple[str, ...]
    facts: Mapping[str, Any]


def study_names(
    config: NamesConfig, *, output: Path | None = None, progress: Progress | None = None
) -> NamesStudy:
    """Audit every row with every decoding, or resume an interrupted study; see `names_study`.

    The models of unfinished rows are checked first. Raises the errors of audits, DataError if rows have different
    conversations, Interrupted (the study can be resumed), and ResumeRefused.
    """
    progress = progress or Silence()
    path = output or default_path(config.model, "names")
    pairs = {name: why for name in PAIRS if (why := _missing(config, name)) is not None}
    tuned = tuned_names(config) if config.names == "untuned" else []
    check_rows(config, list_unfinished_rows(path, config))
    config.begin(path)
    with resumable(f"Resume with: evenhand study names {path}"), hold_lock(path / "lock"):
        session = _Session(config, path, tuple(name for name in PAIRS if name not in pairs), progress, tuned)
        for label in config.models:
            session.audit(label)
        cells = judged_cells(session.cells(), config.alpha)
        write_table(path / CELLS_FILE, cells)
        left_out = [f"{name}: {why}" for name, why in pairs.items()]
        return NamesStudy(
            path, config, cells, session.details(), tuple(left_out), tuple(tuned), session.facts()
        )


def _missing(config: NamesConfig, name: str) -> str | None:
    """Return why the data of a likelihood benchmark are not available; None if they are."""
    given = config.data.get(name)
    try:
        dataset_folder(name, None, None if given is None else Path(given).expanduser())
    except DatasetMissing:
        if given is not None:
            raise
        return f"its sentences are not installed. To install them: evenhand data fetch {name}"
    return None


@dataclass
class _Session:
    """One session of a study; existing results are kept, and the others are computed."""

    config: NamesConfig
    path: Path
    pairs: tuple[str, ...]
    progress: Progress
    tuned: list[str]
    """First names on which models were tuned, which are excluded from comparisons between rows."""

    def audit(self, label: str) -> None:
        """Run every audit of a row that is not finished. The model is loaded only if there is one."""
        wanted = {
            self.folder(label, decoding): self._chats(label, decoding) for decoding in self.config.decoding
        }
        if self.pairs:
            wanted[self.folder(label, PAIRS_FOLDER)] = self._likelihoods(label)
        self.set_aside(label)
        asked = {folder: options for folder, options in wanted.items() if not is_finished(folder)}
        if not asked and self._replies_file(label).is_file():
            return
        number = list(self.config.models).index(label) + 1
        self.progress.note(
            f"row {number} of {len(self.config.models)}: {label} ({self.config.models[label]})"
        )
        model = audited_model(next(iter(wanted.values())))
        for folder, options in asked.items():
            conduct_audit(options, model, output=folder, progress=self.progress)
        if not self._replies_file(label).is_file():
            read_replies(
                model, drawn_replies(self._base_chats(), self.config.seed), self._replies_file(label)
            )
        del model
        gc.collect()

    def set_aside(self, label: str) -> None:
        """Move the responses of an unfinished row to another folder if the row has a new model."""
        here = self.path / "rows" / slug(label)
        for part in (*self.config.decoding, PAIRS_FOLDER):
            run = here / part
            if not RunDirectory.is_run(run):
                continue
            before = RunDirectory.open(run).manifest.arguments_resolved.get("model")
            if before != self.config.models[label]:
                taken = [self.path / "replaced" / f"{slug(label)}-{number}" for number in range(1, 1000)]
                target = next(place for place in taken if not place.exists())
                target.parent.mkdir(exist_ok=True)
                here.rename(target)
                self.progress.note(f"{label}: the responses of {before} were moved to {target}")
                return

    def folder(self, label: str, part: str) -> Path:
        """Return the folder of a row's run; part: a decoding, or PAIRS_FOLDER."""
        return self.path / "rows" / slug(label) / part

    def _chats(self, label: str, decoding: str) -> AuditConfig:
        chosen = ("max_new_tokens", "classifiers", "personas", "dialogue", "limit")
        return self._options(label, chosen, suite=SUITE, decoding=decoding)

    def _likelihoods(self, label: str) -> AuditConfig:
        return self._options(label, ("data",), benchmarks=self.pairs, axes=("gender",))

    def _replies_file(self, label: str) -> Path:
        return self.path / "rows" / slug(label) / "replies.parquet"

    def _base_chats(self) -> pl.DataFrame:
        return self_chats(RunDirectory.open(self.folder(BASE, self.config.decoding[0])), SUITE)

    def _options(self, label: str, chosen: tuple[str, ...], **further: Any) -> AuditConfig:
        same = ("dtype", "device", "trust_remote_code", "chat", "system", "batch_tokens", "seed", "alpha")
        given = {name: getattr(self.config, name) for name in (*same, *chosen)}
        if label == BASE:
            given["revision"] = self.config.revision
        return validate_options(AuditConfig, {**given, "model": self.config.models[label], **further})

    def cells(self) -> list[dict[str, Any]]:
        """Return every number of every row, with its change from the base row."""
        rows: list[dict[str, Any]] = []
        level = self.config.alpha / max(1, len(self.config.rows))
        for decoding in self.config.decoding:
            for benchmark in load_suite(SUITE).benchmarks:
                for label in self.config.models:
                    rule, own = (self._rule(one, decoding, benchmark) for one in (BASE, label))
                    check_written_alike(rule, own, label)
                    found, base, lost = self._pair(label, decoding, benchmark)
                    run = self.folder(label, decoding)
                    whole = self._all_names(benchmark)
                    rows += [
                        {"decoding": decoding, "row": label, **cell}
                        for cell in chat_cells(
                            run,
                            benchmark,
                            found,
                            base,
                            lost=lost,
                            whole=whole,
                            level=level / len(self.config.decoding),
                            alpha=self.config.alpha,
                        )
                    ]
        groups = dealt(self._base_chats(), self.config.seed)
        read = {label: read_stored_table(self._replies_file(label)) for label in self.config.models}
        for label, replies in read.items():
            cell = perplexity_cell(replies, None if label == BASE else read[BASE], groups, level)
            rows.append({"row": label, **cell})
        for label in self.config.models if self.pairs else ():
            runs = self.folder(label, PAIRS_FOLDER), self.folder(BASE, PAIRS_FOLDER)
            rows += [{"row": label, **cell} for cell in pair_cells(*runs, self.config)]
        return rows

    def _rule(self, label: str, decoding: str, benchmark: str) -> Mapping[str, Any]:
        """Return the decoding rule of a row's replies."""
        return RunDirectory.open(self.folder(label, decoding)).manifest.asked[benchmark].decoding or {}

    def _all_names(self, benchmark: str) -> bool:
        """Return whether rows are compared on every name.

        This is always so for conversations that a description opens, because no model is tuned on descriptions.
        """
        return not self.tuned or benchmark != SUITE

    def _pair(self, label: str, decoding: str, benchmark: str) -> tuple[Replicates, Replicates | None, int]:
        """Return the replicates of a row and of the base row, and the number of replies that only one of them has.

        Replicates use only the replies that both rows have. Those of the base row are None if the row is the base row.
        """
        base, row = (self._read_chats(one, decoding, benchmark) for one in (BASE, label))
        check_same(base, row, label)
        groups = dealt(base, self.config.seed)
        if label == BASE:
            return self._replicates((BASE,), decoding, benchmark, base, groups), None, 0
        everything, _, _ = both_wrote(base, base)
        base, row, lost = both_wrote(base, row)
        found = self._replicates((label,), decoding, benchmark, row, groups)
        of_base = (BASE,) if base.height == everything.height else (label, BASE)
        return found, self._replicates(of_base, decoding, benchmark, base, groups), lost

    def _read_chats(self, label: str, decoding: str, benchmark: str) -> pl.DataFrame:
        """Return self-chats of the names on which rows are compared."""
        frame = self_chats(RunDirectory.open(self.folder(label, decoding)), benchmark)
        if self._all_names(benchmark):
            return frame
        frame = frame.filter(~pl.col("name").is_in(self.tuned))
        if frame.is_empty():
            raise DataError(
                "The models were tuned on every name of the conversations, so no name is left for the comparison.",
                "Tune on half of the names (the default of evenhand debias), or compare on all names: --names all",
            )
        return frame

    def _replicates(
        self,
        of: tuple[str, ...],
        decoding: str,
        benchmark: str,
        chats: pl.DataFrame,
        groups: Sequence[Sequence[str]],
    ) -> Replicates:
        """Return replicates, which are cached in the study's folder because computing them takes a minute.

        of: label of the row. (label, BASE) means the base row, restricted to the replies that the row also has.
        """
        names = (
            "" if self._all_names(benchmark) else f"-without-{fingerprint_digest({'names': self.tuned})[:12]}"
        )
        file = self.path.joinpath("paired", *map(slug, of), f"{decoding}-{benchmark}{names}.parquet")
        if file.is_file():
            kept = read_stored_table(file)
            values, shares = (
                {row["key"]: np.array(row[what], dtype=np.float64) for row in kept.to_dicts()}
                for what in ("values", "shares")
            )
            return Replicates(values, shares)
        self.progress.note(
            f"{', '.join(of)}, {decoding}, {benchmark}: resampling names for confidence intervals"
        )
        options = AnalysisOptions(seed=self.config.seed, alpha=self.config.alpha)
        found = replicates(add_reply_columns(chats), groups, options, whole=benchmark == SUITE)
        table = {
            "key": list(found.values),
            "values": [one.tolist() for one in found.values.values()],
            "shares": [found.shares[key].tolist() for key in found.values],
        }
        write_table(file, pl.DataFrame(table))
        return found

    def details(self) -> dict[tuple[str, str, str], dict[str, pl.DataFrame]]:
        """Return the detail tables of every run of self-chats."""
        return {
            (label, decoding, benchmark): {
                file.stem: read_stored_table(file)
                for file in sorted((self.folder(label, decoding) / "details" / benchmark).glob("*.parquet"))
            }
            for decoding in self.config.decoding
            for label in self.config.models
            for benchmark in load_suite(SUITE).benchmarks
        }

    def facts(self) -> dict[str, Any]:
        """Return the description of each model."""
        first = self.config.decoding[0]
        return {
            label: RunDirectory.open(self.folder(label, first)).manifest.model.description
            for label in self.config.models
        }


def check_rows(config: NamesConfig, labels: Sequence[str]) -> None:
    """Check that the models of these rows exist and can generate text, before any of them is used.

    Raises what `evenhand.models.check_model` raises, naming the row, and Unsupported for masked models.
    """
    for label in labels:
        name, revision = config.models[label], config.revision if label == BASE else None
        try:
            kind = check_model(name, revision=revision, trust_remote_code=config.trust_remote_code)
        except (ModelError, UsageError) as error:
            if label == BASE:
                raise
            raise type(error)(f"The row {label!r}: {error.message}", error.hint) from error
        if kind == "masked":
            raise Unsupported(
                f"The row {label!r}: {name} is a masked language model and cannot generate replies.",
                "Use causal or encoder-decoder models.",
            )


def tuned_names(config: NamesConfig) -> list[str]:
    """Return the first names on which a model of the study was trained or monitored, without duplicates.

    They are read from the lineage files in the models' folders.

    >>> tuned_names(NamesConfig(model="no/folder"))
    []
    """
    found: set[str] = set()
    for model in config.models.values():
        names = ((read_lineage(Path(model).expanduser()) or {}).get("data") or {}).get("names") or {}
        found |= {name for part in TUNED for name in names.get(part, ())}
    return sorted(found)


def check_same(base: pl.DataFrame, row: pl.DataFrame, label: str) -> None:
    """Raise DataError unless a row has the same conversations as the base row: the same openers and personas."""
    told = [
        name for name in ("conversation", "name", "gender", "persona_a", "persona_b") if name in base.columns
    ]
    openers = [frame.filter(pl.col("turn") == 1).select(told).sort("conversation") for frame in (base, row)]
    if not openers[0].equals(openers[1]):
        raise DataError(
            f"The conversations of the row {label!r} have other prompts than those of {BASE!r}.",
            "All rows of a study need the same names, personas and seed. Start a new study with -o.",
        )


def check_written_alike(base: Mapping[str, Any], row: Mapping[str, Any], label: str) -> None:
    """Raise UsageError unless a row has the same decoding as the original model (`Decoding.parameters`).

    A model with a short context generates shorter replies unless a length is given.
    """
    if base != row:
        most = [rule.get("max_new_tokens") for rule in (row, base)]
        raise UsageError(
            f"The row {label!r} was generated with another length limit than {BASE!r} (tokens: {most[0]}, "
            f"{most[1]}).",
            "Start a new study (-o) with --max-new-tokens, which then applies to every row.",
        )
