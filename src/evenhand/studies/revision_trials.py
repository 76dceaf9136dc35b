"""Trying an instruction: what a model writes behind it, judged, each trial kept as a file and never made twice."""

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from evenhand.classifiers.contract import Classifier
from evenhand.classifiers.judged_text import JudgedText
from evenhand.mitigations.prompting.prefix import Prefix
from evenhand.mitigations.revision.searching import NONE
from evenhand.models.contract import LanguageModel
from evenhand.models.decoding import Decoding
from evenhand.prompts.prompt_set import PromptSet
from evenhand.runs import GenerateRequest, Part, join_continuations, make_plan
from evenhand.runs.asking import answer
from evenhand.runs.labelling import judge
from evenhand.runs.labels import identified
from evenhand.schema import DataError
from evenhand.schema.files import write_table

TRIAL = {
    "instruction": pl.String,
    "prompt_id": pl.String,
    "sample": pl.UInt16,
    "continuation": pl.String,  # null where it failed
    "finish": pl.String,
    "label": pl.String,
    "negative": pl.Boolean,  # null where there is no judgement
    "score": pl.Float64,
    "error": pl.String,  # of the model, or else of the classifier
}
GROUPS = ("axis", "group")
UNREADABLE = (OSError, pl.exceptions.PolarsError)


def derived_seed(seed: int, purpose: str) -> int:
    """A seed for one purpose out of the seed of a search.

    >>> derived_seed(0, "final") == derived_seed(0, "final") != derived_seed(1, "final")
    True
    """
    digest = hashlib.blake2b(f"{seed} {purpose}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little")


@dataclass(frozen=True)
class Trials:
    """Where instructions are tried: one model, one benchmark's prompts, one judge.

    folder: holds a Parquet file (columns TRIAL) for each trial. An instruction, a name for the prompts and the
    delimiter find it again: everything else is the same for all trials of a folder, which the caller sees to.
    rule: what of prompt and continuation is judged; the prompt is the benchmark's, and the instruction is never
    part of it. in_flight: entered around work that may be dropped when
    the user stops.
    """

    model: LanguageModel
    benchmark: str
    decoding: Decoding
    """Its seed is that of the search: each set of prompts gets one of its own, the same for all instructions."""
    classifier: Classifier
    rule: JudgedText
    folder: Path
    delimiter: str = "\n"
    in_flight: Callable[[], AbstractContextManager[None]] = nullcontext

    def path(self, instruction: str, where: str) -> Path:
        """The file of a trial. where: the name of its prompts."""
        content = f"{len(self.delimiter)} {self.delimiter}{instruction}".encode()
        return self.folder / f"{where}-{hashlib.blake2b(content, digest_size=10).hexdigest()}.parquet"

    def is_there(self, instruction: str, where: str) -> bool:
        """Whether the trial has been made."""
        return self.path(instruction, where).is_file()

    def outcomes(self, instruction: str, prompts: PromptSet, where: str) -> pl.DataFrame:
        """The trial of an instruction (or NONE), made if it is not there.

        prompts: those called `where`. Returns one row for each prompt and sample: TRIAL and, where the prompts have
        them, axis and group. Raises DataError if a stored trial cannot be read, WriteError if one cannot be stored,
        and what the model or the classifier raises.
        """
        path = self.path(instruction, where)
        if path.is_file():
            rows = self._read(path, instruction, prompts)
        else:
            with self.in_flight():
                rows = self._made(instruction, prompts, where)
            write_table(path, rows)
        groups = [name for name in GROUPS if name in prompts.frame.columns]
        return rows.join(
            prompts.frame.select("prompt_id", *groups), on="prompt_id", how="left", maintain_order="left"
        )

    def _made(self, instruction: str, prompts: PromptSet, where: str) -> pl.DataFrame:
        model = (
            self.model if instruction == NONE else Prefix(instruction, delimiter=self.delimiter)(self.model)
        )
        # another seed for each set of prompts: a prompt that comes back is continued anew
        decoding = replace(self.decoding, seed=derived_seed(self.decoding.seed, where))
        plan = make_plan([Part(self.benchmark, prompts.frame, GenerateRequest(decoding))], model.fingerprint)
        written = join_continuations(
            plan.parts[0].prompts, answer(model, plan.requests), self.decoding.samples
        )
        texts = identified(written, self.rule, reads_context=self.classifier.reads_context)
        distinct = texts.drop_nulls("text_id").unique("text_id").sort("text_id")
        labels = judge(self.classifier, distinct) if distinct.height else None
        rows = written.with_columns(text_id=texts["text_id"], instruction=pl.lit(instruction))
        if labels is None:
            rows = rows.with_columns(
                pl.lit(None, TRIAL[name]).alias(name) for name in ("label", "negative", "score")
            )
        else:
            judged = labels.select("text_id", "label", "negative", "score", judging_error="error")
            rows = rows.join(judged, on="text_id", how="left", maintain_order="left").with_columns(
                error=pl.coalesce("error", "judging_error")
            )
        return rows.select(pl.col(name).cast(kind) for name, kind in TRIAL.items())

    def _read(self, path: Path, instruction: str, prompts: PromptSet) -> pl.DataFrame:
        try:
            rows = pl.read_parquet(path).select(pl.col(name).cast(kind) for name, kind in TRIAL.items())
        except UNREADABLE as error:
            raise DataError(
                f"The trial {path} cannot be read: {error}.", "Delete the file: it is then made again."
            ) from error
        same = rows["prompt_id"].unique().sort().equals(prompts.frame["prompt_id"].sort())
        if not same or rows["instruction"].unique().to_list() != [instruction]:
            raise DataError(
                f"The trial {path} is of other prompts or another instruction.",
                "Delete the file: it is then made again.",
            )
        return rows
