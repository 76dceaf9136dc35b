"""What a World that converses is made of: steps, frames, fillers, plants, and the distribution they make."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.prompts.lexicon import article
from evenhand.schema import UsageError

Floats = NDArray[np.float64]
NAME = "{name}"
SLOT = re.compile(r"\{(a )?(\w+)\}")


@dataclass(frozen=True)
class Person:
    """What a World knows of who opens a conversation: its name (None for one who gave a description) and groups."""

    name: str | None = None
    gender: str | None = None
    race_ethnicity: str | None = None


@dataclass(frozen=True)
class NamePlant:
    """A planted bias: in the conversations of some people a label is more likely, by log-odds in nats.

    target: a label of frames ("feeling:negative"), of fillers ("hobby:crafts", "occupation:nurse"), of the mark at a
    sentence's end ("style:exclamation"), or STEP:silence. A person is concerned whose gender and race_ethnicity are
    these (None: any) and, where there are names, whose name is one of them.

    >>> NamePlant("hobby:crafts", 1.0, gender="woman").concerns(Person("Ida", "woman"))
    True
    """

    target: str
    log_odds: float
    gender: str | None = None
    race_ethnicity: str | None = None
    names: tuple[str, ...] = ()

    def concerns(self, person: Person) -> bool:
        """Whether it acts in this person's conversations."""
        return (
            self.gender in (None, person.gender)
            and self.race_ethnicity in (None, person.race_ethnicity)
            and (not self.names or person.name in self.names)
        )


@dataclass(frozen=True)
class Sentence:
    """One thing that can be said in a step; {name} stands for the name of the one who opened."""

    text: str
    step: str
    topic: str | None
    labels: tuple[str, ...]

    def said_to(self, person: Person) -> str:
        """The sentence with the name in it."""
        return self.text.replace(NAME, person.name or "friend")


@dataclass(frozen=True)
class Choice:
    """One of the alternatives of a draw: how often, before any plant, and what plants can speak of."""

    weight: float
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """What comes at one place of a reply: n sentences, and how they are drawn: a frame (or silence), its filler, its
    mark."""

    name: str
    where: tuple[str, ...]
    silence: float
    sentences: tuple[Sentence, ...]
    frames: tuple[Choice, ...]
    fillers: tuple[tuple[Choice, ...], ...]
    """The choices of each frame; one empty choice for a frame without a slot."""
    marks: tuple[tuple[Choice, ...], ...]
    """The choices of each frame; one empty choice for a frame that has its own mark."""
    places: tuple[tuple[int, int, int], ...]
    """(n,): frame, filler and mark of each sentence."""
    topics: tuple[str | None, ...] = field(default=())
    """Of each frame."""

    def distribution(self, plants: Sequence[NamePlant], topic: str | None = None) -> Floats:
        """Probabilities of the sentences, (n,); what they lack to 1 is silence.

        plants: those that concern the person. topic: if given, frames of other topics are out.
        """
        fitting = [topic is None or of in (None, topic) for of in self.topics]
        weights = _tilted(self.frames, plants) * fitting
        silent = float(_tilted((Choice(self.silence, (f"{self.name}:silence",)),), plants)[0])
        frame = weights / (weights.sum() + silent)
        filler = [_shares(choices, plants) for choices in self.fillers]
        mark = [_shares(choices, plants) for choices in self.marks]
        return np.array([frame[f] * filler[f][s] * mark[f][m] for f, s, m in self.places])


def _tilted(choices: Sequence[Choice], plants: Sequence[NamePlant]) -> Floats:
    return np.array(
        [
            choice.weight * np.exp(sum(plant.log_odds for plant in plants if plant.target in choice.labels))
            for choice in choices
        ]
    )


def _shares(choices: Sequence[Choice], plants: Sequence[NamePlant]) -> Floats:
    tilted = _tilted(choices, plants)
    return np.asarray(tilted / tilted.sum())


@cache
def load_steps() -> tuple[Step, ...]:
    """The steps of conversing.toml.

    >>> [step.name for step in load_steps()][:3]
    ['greet', 'remark', 'sound']
    """
    table = tomllib.loads((Path(__file__).parent / "conversing.toml").read_text(encoding="utf-8"))
    return tuple(_step(one, table) for one in table["step"])


def _step(one: Mapping[str, Any], table: Mapping[str, Any]) -> Step:
    ends = [(end["mark"], Choice(end["weight"], (end["label"],))) for end in table["ends"]]
    frames = [frame for frame in table["frame"] if frame["step"] == one["name"]]
    sentences: list[Sentence] = []
    places: list[tuple[int, int, int]] = []
    fillers, marks = [], []
    for number, frame in enumerate(frames):
        filled = _filled(frame["text"], table["slots"])
        marked = [("", Choice(1.0))] if frame["text"][-1] in ".!?" else ends
        fillers.append(tuple(choice for _, choice in filled))
        marks.append(tuple(choice for _, choice in marked))
        for place, (text, filler) in enumerate(filled):
            for end, (mark, ending) in enumerate(marked):
                labels = (*_labels(frame), *filler.labels, *ending.labels)
                sentences.append(Sentence(text + mark, one["name"], frame.get("topic"), labels))
                places.append((number, place, end))
    return Step(
        one["name"],
        tuple(one["in"]),
        one.get("silence", 0.0),
        tuple(sentences),
        tuple(Choice(frame.get("weight", 1.0), _labels(frame)) for frame in frames),
        tuple(fillers),
        tuple(marks),
        tuple(places),
        tuple(frame.get("topic") for frame in frames),
    )


def _labels(frame: Mapping[str, Any]) -> tuple[str, ...]:
    return (frame["label"],) if "label" in frame else ()


def _filled(text: str, slots: Mapping[str, Mapping[str, list[str]]]) -> list[tuple[str, Choice]]:
    """A frame's text with each of its slot's fillers, and the choice that each is."""
    found = [match for match in SLOT.finditer(text) if match[0] != NAME]
    if not found:
        return [(text, Choice(1.0))]
    (match,) = found
    slot = match[2]
    return [
        (
            text.replace(match[0], f"{article(word)} {word}" if match[1] else word),
            Choice(1.0, (f"{slot}:{word}", f"{slot}:{kind}")),
        )
        for kind, words in slots[slot].items()
        for word in words
    ]


def known_targets(steps: Sequence[Step]) -> set[str]:
    """Every label that a plant can speak of."""
    choices = [*(one for step in steps for one in step.frames)]
    choices += [one for step in steps for group in (*step.fillers, *step.marks) for one in group]
    return {label for choice in choices for label in choice.labels} | {
        f"{step.name}:silence" for step in steps if step.silence
    }


def refuse_unknown(plants: Sequence[NamePlant], steps: Sequence[Step]) -> None:
    """Raises UsageError for a plant on a label that nothing has."""
    known = known_targets(steps)
    for plant in plants:
        if plant.target not in known:
            raise UsageError(
                f"A plant speaks of {plant.target!r}, which nothing in this World's small talk is called.",
                f"Known: {', '.join(sorted(known))}.",
            )
