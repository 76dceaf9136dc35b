"""The prompts of a search: a part kept for the final choice, and a fresh, balanced subset of the rest each round."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.benchmarks.contract import Benchmark
from evenhand.mitigations.revision.screen import Screen, normalised, words_of_groups
from evenhand.prompts.prompt_set import PromptSet
from evenhand.prompts.sampling import row_keys
from evenhand.schema import UsageError

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

    A prompt comes back in a later round only when all others of its group have been used. rounds: how many.
    subset: prompts of a round; 300 by default, or all there are. final: prompts of the last choice; 1,000 by default,
    or half. A text that several prompts share is in one part only. Raises UsageError if fewer than ten are left
    for either.
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
            f"A search needs at least {FEWEST} prompts a round and {FEWEST} for the final choice; "
            f"{wanted} and {kept} of {len(prompts)} were asked for.",
            "Give larger --subset and --final, or a benchmark with more prompts.",
        )
    if kept + (subset or FEWEST) > len(prompts):
        raise UsageError(
            f"{kept} prompts for the final choice and {subset or FEWEST} for a round are more than the "
            f"{len(prompts)} there are.",
            "The final choice must be made on prompts that no round saw: give smaller --subset and --final.",
        )
    last = _drawn(benchmark, prompts, kept, seed + _FINAL, strata)
    texts = last.frame["text"].unique()
    left = prompts.frame.filter(~pl.col("text").is_in(texts.implode()))
    if left.height < FEWEST:
        raise UsageError(
            f"Beside the {len(last)} prompts of the final choice only {left.height} have another text.",
            "Give a smaller --final, or a benchmark with more prompts.",
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
