"""Trying an instruction: what a model writes behind it, judged; each trial is a file and never made twice.

The prompts are a part kept for the final choice, and a fresh, balanced subset of the rest for each round.
"""

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.benchmarks import Benchmark
from evenhand.classifiers import ClassifiedText, Classifier
from evenhand.mitigations.prompting import Prefix
from evenhand.mitigations.revision import NONE, Screen, normalised, words_of_groups
from evenhand.models import Decoding, LanguageModel
from evenhand.prompts import PromptSet, row_keys
from evenhand.runs import (
    GenerateRequest,
    Part,
    answer,
    describe_unjudged,
    identified,
    join_continuations,
    label_texts,
    make_plan,
)
from evenhand.schema import UNREADABLE, DataError, UsageError, read_parquet, write_table

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
    """Decoding with the seed of the search. Each set of prompts has a different seed, the same for all instructions."""
    classifier: Classifier
    rule: ClassifiedText
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
        # another seed for each set of prompts: a repeated prompt gets a new continuation
        decoding = replace(self.decoding, seed=derived_seed(self.decoding.seed, where))
        plan = make_plan([Part(self.benchmark, prompts.frame, GenerateRequest(decoding))], model.fingerprint)
        written = join_continuations(
            plan.parts[0].prompts, answer(model, plan.requests), self.decoding.samples
        )
        texts = identified(written, self.rule, reads_context=self.classifier.reads_context)
        distinct = texts.drop_nulls("text_id").unique("text_id").sort("text_id")
        labels = label_texts(self.classifier, distinct) if distinct.height else None
        if labels is not None:
            describe_unjudged(
                labels, str(self.classifier.fingerprint.get("name"))
            )  # an error if it judged none
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
            rows = read_parquet(path).select(pl.col(name).cast(kind) for name, kind in TRIAL.items())
        except UNREADABLE as error:
            raise DataError(
                f"The trial {path} cannot be read: {error}.", "Delete the file. The trial is then run again."
            ) from error
        same = rows["prompt_id"].unique().sort().equals(prompts.frame["prompt_id"].sort())
        if not same or rows["instruction"].unique().to_list() != [instruction]:
            raise DataError(
                f"The trial {path} has other prompts or another instruction.",
                "Delete the file. The trial is then run again.",
            )
        return rows


Counts = NDArray[np.int64]
STRATA = ("axis", "group")
NAMING = ("group", "descriptor", "noun")
"""Columns that hold the names of groups and of people in them."""
SUBSET, FINAL, FEWEST = 300, 1000, 10
_FINAL, _ROUNDS = 1_000_003, 2_000_003  # apart from the seeds that others use for the same prompts


@dataclass(frozen=True)
class RevisionPrompts:
    """A benchmark's prompts, split for a search.

    whole: all of them. final: for the last choice; shares no text with the rounds. rounds: those of each round, as
    many in each, as evenly over the groups as they allow. strata: the columns over which they are spread; empty where
    the benchmark samples in its own way.
    """

    whole: PromptSet
    final: PromptSet
    rounds: tuple[PromptSet, ...]
    strata: tuple[str, ...]

    @property
    def subset(self) -> int:
        """Prompts of a round."""
        return len(self.rounds[0])

    def screen(self, most_words: int) -> Screen:
        """What instructions may not be: too long, a prompt, or a text that names a group."""
        frame = self.whole.frame
        columns = [name for name in NAMING if name in frame.columns]
        names = {name for column in columns for name in frame[column].cast(pl.String).unique().to_list()}
        return Screen(most_words, words_of_groups(names), frozenset(map(normalised, frame["text"].to_list())))


def revision_prompts(
    benchmark: Benchmark,
    prompts: PromptSet,
    *,
    rounds: int,
    seed: int,
    subset: int | None = None,
    final: int | None = None,
) -> RevisionPrompts:
    """Split a benchmark's prompts for a search.

    A prompt comes back in a later round only when all others of its group have been used.

    A text that several prompts share is in one part only.

    Raises UsageError if fewer than ten are left for either.

    Parameters
    ----------
    rounds
        How many.
    subset
        Prompts of a round; 300 by default, or all there are.
    final
        Prompts of the last choice; 1,000 by default, or half.
    """
    strata = (
        tuple(name for name in STRATA if name in prompts.frame.columns)
        if "group" in prompts.frame.columns
        else ()
    )
    kept = final if final is not None else min(FINAL, len(prompts) // 2)
    wanted = subset if subset is not None else SUBSET
    if min(kept, wanted) < FEWEST:
        raise UsageError(
            f"A search needs at least {FEWEST} prompts per round and {FEWEST} for the final choice, got {wanted} "
            f"and {kept} of {len(prompts)}.",
            "Use larger values of --subset and --final, or a benchmark with more prompts.",
        )
    if kept + (subset or FEWEST) > len(prompts):
        raise UsageError(
            f"{kept} prompts for the final choice and {subset or FEWEST} per round are more than the "
            f"{len(prompts)} available prompts.",
            "The final choice needs prompts that no round has used. Use smaller values of --subset and --final.",
        )
    last = _drawn(benchmark, prompts, kept, seed + _FINAL, strata)
    texts = last.frame["text"].unique()
    left = prompts.frame.filter(~pl.col("text").is_in(texts.implode()))
    if left.height < FEWEST:
        raise UsageError(
            f"Only {left.height} prompts have a text that is not among the {len(last)} prompts of the final "
            "choice.",
            "Use a smaller --final, or a benchmark with more prompts.",
        )
    rest, n = PromptSet(left, prompts.card), min(wanted, left.height)
    if strata:
        dealt = _dealt(rest, strata, n, rounds, seed)
    else:
        dealt = [benchmark.sample(rest, n, seed + _ROUNDS * (i + 1)) for i in range(rounds)]
    return RevisionPrompts(prompts, last, tuple(dealt), strata)


def _drawn(benchmark: Benchmark, prompts: PromptSet, n: int, seed: int, strata: tuple[str, ...]) -> PromptSet:
    return prompts.sample(n, per=strata, seed=seed) if strata else benchmark.sample(prompts, n, seed)


def _dealt(prompts: PromptSet, strata: tuple[str, ...], n: int, rounds: int, seed: int) -> list[PromptSet]:
    """n prompts for each round, like cards: every stratum has its own shuffled pile, begun again when it is used up."""
    rows = prompts.frame.select(
        stratum=pl.concat_str(
            [pl.col(name).cast(pl.String).fill_null("~") for name in strata], separator="\x1f"
        ),
        key=pl.Series(row_keys(prompts.frame["prompt_id"], seed + _ROUNDS, "round")),
    ).with_row_index("row")
    piles = rows.sort("key", "row").group_by("stratum").agg("row").sort("stratum")
    cards = [pile.to_numpy() for pile in piles["row"]]
    taken = np.zeros(len(cards), dtype=np.int64)
    dealt = []
    for i in range(rounds):
        first = np.argsort(row_keys(piles["stratum"], seed + _ROUNDS, f"round {i}"), kind="stable")
        shares = _shares(np.array([len(pile) for pile in cards]), n, first)
        chosen = [
            pile[(start + np.arange(share)) % len(pile)]
            for pile, start, share in zip(cards, taken, shares, strict=True)
        ]
        taken += shares
        dealt.append(PromptSet(prompts.frame[np.sort(np.concatenate(chosen))], prompts.card))
    return dealt


def _shares(sizes: Counts, n: int, first: Counts) -> Counts:
    """n spread evenly over strata of these sizes; a remainder goes to those named first."""
    shares = np.zeros_like(sizes)
    while (left := n - int(shares.sum())) > 0:
        wanting = first[(shares < sizes)[first]]
        shares[wanting[:left]] += 1
    return shares
