"""The distribution of small talk: from the opener and the question to the sentences of a reply."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from evenhand.models.dialogue import History
from evenhand.reference.talk_steps import (
    Floats,
    NamePlant,
    Person,
    Sentence,
    TalkStep,
    load_steps,
    refuse_unknown,
)
from evenhand.schema import DataError

OPENED_BY_NAME = re.compile(r"\bname is ([^.!?,]+)")
DESCRIBED = re.compile(r"\bI am an? (?:.* )?(\w+)[.!]")
UTTERANCES = 12


class TalkPosition(NamedTuple):
    """A place in a conversation."""

    where: str
    """Kind of utterance: "first" is the reply to a name, "described" the reply to a
    description, "A" and "B" are later ones.
    """
    asked: str | None
    """Topic of the last question."""
    step: int = 0
    """Number of completed steps of the reply."""


class Draw(NamedTuple):
    """One step: n sentences, their probabilities (n,) (the rest is silence), and the cumulative probabilities."""

    sentences: tuple[Sentence, ...]
    probabilities: Floats
    running: Floats


@dataclass(frozen=True, repr=False)
class SmallTalk:
    """The distribution of replies, which depends only on who opened and on the topic of the last question.

    Raises UsageError for a plant on an unknown label.
    """

    people: tuple[Person, ...]
    """People with known groups, by name; others have no group."""
    plants: tuple[NamePlant, ...] = ()
    nouns: tuple[tuple[str, str], ...] = ()
    """Nouns of descriptions ("Hi! I am a tall woman.") with their gender."""

    def __post_init__(self) -> None:
        refuse_unknown(self.plants, self.steps)

    @property
    def steps(self) -> tuple[TalkStep, ...]:
        """Return the steps of a reply in order."""
        return load_steps()

    @cached_property
    def _by_name(self) -> dict[str, Person]:
        return {one.name.casefold(): one for one in self.people if one.name}

    def person(self, opener: str) -> Person:
        """Return the person who opens with this utterance.

        >>> SmallTalk((), nouns=(("woman", "woman"),)).person("Hi! I am a tall woman.").gender
        'woman'
        """
        if named := OPENED_BY_NAME.search(opener):
            name = named[1].strip()
            return self._by_name.get(name.casefold(), Person(name))
        if (described := DESCRIBED.search(opener)) and described[1].lower() in dict(self.nouns):
            return Person(None, dict(self.nouns)[described[1].lower()])
        return Person()

    def concerning(self, person: Person) -> tuple[NamePlant, ...]:
        """Return the plants that affect this person's conversations."""
        return tuple(plant for plant in self.plants if plant.concerns(person))

    @cached_property
    def _questions(self) -> dict[str, str | None]:
        return {one.text: one.topic for step in self.steps if step.name == "ask" for one in step.sentences}

    def place(self, history: History) -> TalkPosition:
        """Return the place at the end of a history. Raise DataError without an opener."""
        if not history.utterances:
            raise DataError(
                "A synthetic conversational model (World) only replies, but the history is empty.",
                "Give the first utterance.",
            )
        last = history.utterances[-1]
        if history.turn == 2:
            return TalkPosition(self._first(self.person(last)), None)
        asked = next((topic for text, topic in self._questions.items() if last.endswith(text)), None)
        return TalkPosition(history.speaker, asked)

    @staticmethod
    def _first(person: Person) -> str:
        return "first" if person.name else "described"

    def conversations(self, frame: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
        """Sample complete conversations from the exact distribution, faster than utterance by utterance.

        frame: one row per conversation with `text`, the opener, and any columns, which are kept (see
        `evenhand.prompts.names.introductions`). Returns one row per utterance: these columns, speaker, turn and text.
        Each conversation has a separate random generator, from seed and row.
        """
        said: list[list[str]] = []
        for row, opener in enumerate(frame["text"].to_list()):
            uniforms = np.random.default_rng([seed, row]).random((UTTERANCES, len(self.steps)))
            person = self.person(opener)
            utterances, asked = [opener], None
            for turn in range(2, UTTERANCES + 1):
                where = self._first(person) if turn == 2 else "AB"[(turn - 1) % 2]
                told = self._draw_sentences(person, TalkPosition(where, asked), uniforms[turn - 1])
                utterances.append(" ".join(one.insert_name(person) for one in told))
                asked = told[-1].topic if told[-1].step == "ask" else None
            said.append(utterances)
        speakers = ["AB"[turn % 2] for turn in range(UTTERANCES)]
        numbers = list(range(1, UTTERANCES + 1))
        wide = frame.with_columns(
            speaker=pl.Series([speakers] * frame.height, dtype=pl.List(pl.String)),
            turn=pl.Series([numbers] * frame.height, dtype=pl.List(pl.Int64)),
            text=pl.Series(said, dtype=pl.List(pl.String)),
        )
        return wide.explode("speaker", "turn", "text")

    def _draw_sentences(self, person: Person, place: TalkPosition, uniforms: Floats) -> list[Sentence]:
        told = []
        for uniform, (sentences, _, running) in zip(uniforms, self.draws(person, place), strict=False):
            number = int(np.searchsorted(running, uniform, side="right"))
            if number < len(sentences):
                told.append(sentences[number])
        return told

    @cached_property
    def _draws(self) -> dict[Any, tuple[Draw, ...]]:
        return {}

    def draws(self, person: Person, place: TalkPosition) -> tuple[Draw, ...]:
        """Return the remaining steps at a place."""
        plants = self.concerning(person)
        key = (plants, place)
        if key not in self._draws:
            self._draws[key] = tuple(self._iterate_draws(plants, place))
        return self._draws[key]

    def _iterate_draws(self, plants: tuple[NamePlant, ...], place: TalkPosition) -> Iterator[Draw]:
        for step in self.list_steps(place.where)[place.step :]:
            values = step.distribution(plants, place.asked if step.name == "tell" else None)
            running = np.cumsum(values)
            if not step.silence:
                running[-1] = 1.0  # compensate for rounding
            yield Draw(step.sentences, values, running)

    def list_steps(self, where: str) -> list[TalkStep]:
        """Return the steps of an utterance of this kind."""
        return [step for step in self.steps if where in step.where]
