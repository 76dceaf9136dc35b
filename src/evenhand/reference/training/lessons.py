"""Conversations of a World as training examples: tokens, and the exact distribution of each token."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evenhand.models.dialogue import History
from evenhand.reference.automaton import split_words
from evenhand.reference.conversing import ConversingWorld
from evenhand.reference.replying import Options, Replier, ReplyNode
from evenhand.reference.small_talk import UTTERANCES
from evenhand.reference.talk_steps import NAME, Person
from evenhand.reference.training.tokenizer import WORLD_COUNT, build_tokenizer

PERSONAS = ("persona_a", "persona_b")
BYTES_AND_END = 257
"""Number of tokens of a tokenizer without merges."""
TELLS = "{} is a person who says: {}\n"
Target = tuple[list[int], list[float]]
"""Possible tokens and their probabilities; empty at positions that are not learned."""
NOTHING: Target = ([], [])


@dataclass(frozen=True)
class Lesson:
    """One conversation: its tokens, and the alternatives of each."""

    ids: list[int]
    targets: list[Target]
    planted: list[bool]
    """Whether the target depends on who opened."""

    def until(self, tokens: int) -> "Lesson":
        """Return the beginning of the lesson."""
        return Lesson(self.ids[:tokens], self.targets[:tokens], self.planted[:tokens])


class Teacher:
    """Converts conversations of a World to lessons, as lines of a play in which every word is one token.

    openers: one row per conversation, with `text`, and persona_a and persona_b or neither.
    """

    def __init__(self, world: ConversingWorld, openers: pl.DataFrame):
        self.world, self.replier = world, Replier(world)
        said = {word for word in self.replier.ids if word and NAME not in word}
        words = {*said, *(f" {word}" for word in said if word[0] not in " .,!?;:"), "A", "B", ":", "\n"}
        texts = [*openers["text"].unique(), TELLS.format("A", "")]
        for name in PERSONAS:
            if name in openers.columns:
                texts += openers[name].explode().drop_nulls().unique().to_list()
        words.update(word for text in texts for word in _words(f"A: {text.strip()}"))
        words.update(
            f" {person.name}" for person in map(world.person, openers["text"].unique()) if person.name
        )
        # merging ends when every word is one token, and each merge shortens a word by at least one byte
        enough = BYTES_AND_END + sum(len(word.encode()) for word in words)
        self.tokenizer = build_tokenizer(Counter(dict.fromkeys(words, WORLD_COUNT)), enough)
        self._targets: dict[Any, Target] = {}
        self._planted: dict[Any, bool] = {}

    def lesson(self, utterances: Sequence[str], persona: tuple[str, Sequence[str]] | None = None) -> Lesson:
        """Return the lesson of one conversation, after the persona of one speaker, such as
        ("A", sentences), or without one.
        """
        front = TELLS.format(persona[0], " ".join(persona[1])) if persona else ""
        ids = self._ids(f"{front}A: {utterances[0]}\n")
        targets, planted = [NOTHING] * len(ids), [False] * len(ids)
        person = self.world.person(utterances[0])
        for turn in range(2, UTTERANCES + 1):
            for token in self._ids(f"{'BA'[turn % 2]}:"):
                ids.append(token)
                targets.append(([token], [1.0]))
                planted.append(False)
            start = ReplyNode(self.world.place(History((), tuple(utterances[: turn - 1]))), 0)
            at, last = start, ""
            for at, options, chosen, _ in self.replier.along(utterances[turn - 1], person, start):
                target = self._target(person, at, options, at is start)
                targets.append(target)
                planted.append(self._depends(person, at))
                ids.append(target[0][chosen])
                last = options.words[chosen]
            end = self.replier.node_after(person, at, last)
            target = self._target(person, end, self.replier.options(person, end), False)
            targets.append(target)
            planted.append(self._depends(person, end))
            ids.append(self._ids("\n")[0])
        return Lesson(ids, targets, planted)

    def lessons(self, chats: pl.DataFrame, seed: int) -> list[Lesson]:
        """Return one lesson per conversation: after A's persona, B's or none, sampled for each.

        chats: result of `ConversingWorld.conversations`.
        """
        keys = [name for name in PERSONAS if name in chats.columns]
        told = chats.group_by("conversation", maintain_order=True).agg(pl.col("text"), pl.col(keys).first())
        found = []
        for number, row in enumerate(told.iter_rows(named=True)):
            who = int(np.random.default_rng([seed, number]).integers(3))
            persona = ("AB"[who], row[keys[who]]) if who < len(keys) and row[keys[who]] else None
            found.append(self.lesson(row["text"], persona))
        return found

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids)

    def _depends(self, person: Person, at: ReplyNode) -> bool:
        """Return whether a person without groups would get other words, or the same words with another probability."""
        key = (self.world.concerning(person), at)
        if key not in self._planted:
            mine, anybody = (self.replier.options(one, at) for one in (person, Person(person.name)))
            self._planted[key] = mine.words != anybody.words or not np.allclose(
                mine.probabilities, anybody.probabilities, rtol=0.02
            )
        return self._planted[key]

    def _target(self, person: Person, at: ReplyNode, options: Options, first: bool) -> Target:
        """Return the possible next tokens of the play; a line begins with a space and ends with a line feed."""
        key = (
            self.world.concerning(person),
            at,
            first,
            person.name if NAME in "".join(options.words) else None,
        )
        if key not in self._targets:
            spoken = [word.replace(NAME, person.name or "friend") or "\n" for word in options.words]
            ids = [self._ids(f" {word}" if first else word) for word in spoken]
            assert all(len(one) == 1 for one in ids), "a word of more than one token"
            self._targets[key] = ([one[0] for one in ids], options.probabilities.tolist())
        return self._targets[key]


def _words(text: str) -> list[str]:
    return [word for word, _ in split_words(text) or ()]
