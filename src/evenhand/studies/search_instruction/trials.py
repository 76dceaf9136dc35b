"""Trials of instructions: generate continuations with an instruction and classify them. Each trial is stored in a file.

Some prompts are kept for the final choice. Each round gets a new, balanced subset of the others.
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
from evenhand.mitigations.revision import NONE, Screen, normalise_wording, words_of_groups
from evenhand.models import Decoding, LanguageModel
from evenhand.prompts import PromptSet, row_keys
from evenhand.runs import (
    GenerateRequest,
    PlanPart,
    answer,
    build_classified_texts,
    describe_unjudged,
    join_continuations,
    label_texts,
    make_plan,
)
from evenhand.schema import UNREADABLE, DataError, UsageError, read_parquet, write_table

TRIAL = {
    "instruction": pl.String,
    "prompt_id": pl.String,
    "sample": pl.UInt16,
    "continuation": pl.String,  # null if generation failed
    "finish": pl.String,
    "label": pl.String,
    "negative": pl.Boolean,  # null without a label
    "score": pl.Float64,
    "error": pl.String,  # error of the model, otherwise of the classifier
}
GROUPS = ("axis", "group")


def derived_seed(seed: int, purpose: str) -> int:
    """Return a seed for one purpose, derived from the seed of a search.

    >>> derived_seed(0, "final") == derived_seed(0, "final") != derived_seed(1, "final")
    True
    """
    digest = hashlib.blake2b(f"{seed} {purpose}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little")


@dataclass(frozen=True)
class Trials:
    """Trials of instructions with one model, the prompts of one benchmark, and one classifier.

    folder: has one Parquet file (columns TRIAL) per trial. The file's name depends only on the instruction, the name of
    the prompts and the delimiter; callers ensure that all trials of a folder agree in everything else. rule: the part
    of prompt and continuation that is classified; the prompt is the benchmark's, without the instruction. in_flight:
    context manager around work that may be dropped when the user stops.
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
        """Return the file of a trial. where: the name of its prompts."""
        content = f"{len(self.delimiter)} {self.delimiter}{instruction}".encode()
        return self.folder / f"{where}-{hashlib.blake2b(content, digest_size=10).hexdigest()}.parquet"

    def is_there(self, instruction: str, where: str) -> bool:
        """Return whether the trial is stored."""
        return self.path(instruction, where).is_file()

    def outcomes(self, instruction: str, prompts: PromptSet, where: str) -> pl.DataFrame:
        """Return the trial of an instruction (or NONE), which is run if it is not stored.

        prompts: the prompts with the name `where`. Returns one row per prompt and sample: TRIAL and, if the prompts
        have them, axis and group. Raises DataError if a stored trial cannot be read, WriteError if one cannot be
        stored, and the errors of the model and the classifier.
        """
        path = self.path(instruction, where)
        if path.is_file():
            rows = self._read(path, instruction, prompts)
        else:
            with self.in_flight():
                rows = self._run_trial(instruction, prompts, where)
            write_table(path, rows)
        groups = [name for name in GROUPS if name in prompts.frame.columns]
        return rows.join(
            prompts.frame.select("prompt_id", *groups), on="prompt_id", how="left", maintain_order="left"
        )

    def _run_trial(self, instruction: str, prompts: PromptSet, where: str) -> pl.DataFrame:
        model = (
            self.model if instruction == NONE else Prefix(instruction, delimiter=self.delimiter)(self.model)
        )
        # a different seed for each set of prompts, so that a repeated prompt gets a new continuation
        decoding = replace(self.decoding, seed=derived_seed(self.decoding.seed, where))
        plan = make_plan(
            [PlanPart(self.benchmark, prompts.frame, GenerateRequest(decoding))], model.fingerprint
        )
        written = join_continuations(
            plan.parts[0].prompts, answer(model, plan.requests), self.decoding.samples
        )
        texts = build_classified_texts(written, self.rule, reads_context=self.classifier.reads_context)
        distinct = texts.drop_nulls("text_id").unique("text_id").sort("text_id")
        labels = label_texts(self.classifier, distinct) if distinct.height else None
        if labels is not None:
            # raises if the classifier labelled no text
            describe_unjudged(labels, str(self.classifier.fingerprint.get("name")))
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
"""Columns with names of groups, or of people in them."""
SUBSET, FINAL, FEWEST = 300, 1000, 10
_FINAL, _ROUNDS = 1_000_003, 2_000_003  # differ from the seeds with which other code orders the same prompts


@dataclass(frozen=True)
class RevisionPrompts:
    """Prompts of a benchmark, split for a search.

    whole: all prompts. final: prompts of the final choice, which share no text with the rounds. rounds: the prompts of
    each round, the same number in each, distributed over groups as evenly as possible. strata: the columns over which
    they are distributed; empty if the benchmark samples in its own way.
    """

    whole: PromptSet
    final: PromptSet
    rounds: tuple[PromptSet, ...]
    strata: tuple[str, ...]

    @property
    def subset(self) -> int:
        """Return the number of prompts per round."""
        return len(self.rounds[0])

    def screen(self, most_words: int) -> Screen:
        """Return the filter for instructions: not too long, not a prompt, and without the name of a group."""
        frame = self.whole.frame
        columns = [name for name in NAMING if name in frame.columns]
        names = {name for column in columns for name in frame[column].cast(pl.String).unique().to_list()}
        return Screen(
            most_words, words_of_groups(names), frozenset(map(normalise_wording, frame["text"].to_list()))
        )


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

    A prompt is repeated in a later round only after all others of its group were used. A text that several prompts
    share is in one part only.

    Raises UsageError if fewer than ten prompts are left for either part.

    Parameters
    ----------
    rounds
        Number of rounds.
    subset
        Number of prompts per round; by default 300, or all if there are fewer.
    final
        Number of prompts of the final choice; by default 1,000, or half.
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
    last = _draw_prompts(benchmark, prompts, kept, seed + _FINAL, strata)
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


def _draw_prompts(
    benchmark: Benchmark, prompts: PromptSet, n: int, seed: int, strata: tuple[str, ...]
) -> PromptSet:
    return prompts.sample(n, per=strata, seed=seed) if strata else benchmark.sample(prompts, n, seed)


def _dealt(prompts: PromptSet, strata: tuple[str, ...], n: int, rounds: int, seed: int) -> list[PromptSet]:
    """Return n prompts per round. Each stratum is shuffled once, and is repeated after all its prompts were used."""
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
    """Distribute n evenly over strata of these sizes; the remainder goes to the first ones in the order `first`."""
    shares = np.zeros_like(sizes)
    while (left := n - int(shares.sum())) > 0:
        wanting = first[(shares < sizes)[first]]
        shares[wanting[:left]] += 1
    return shares
