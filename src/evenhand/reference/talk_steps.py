"""The parts of a World that converses: steps, frames, fillers, plants, and their distribution."""

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
    """What a World knows about the person who opens: name (None for a description) and groups."""

    name: str | None = None
    gender: str | None = None
    race_ethnicity: str | None = None


@dataclass(frozen=True)
class NamePlant:
    """A planted bias: a label is more likely in the conversations of some people, by log-odds in nats.

    target: a label of frames ("feeling:negative"), of fillers ("hobby:crafts", "occupation:nurse"), of the punctuation
    mark at the end of a sentence ("style:exclamation"), or STEP:silence. A person is affected if gender and
    race_ethnicity equal these (None: any) and, if there are names, the name is one of them.

    >>> NamePlant("hobby:crafts", 1.0, gender="woman").concerns(Person("Ida", "woman"))
    True
    """

    target: str
    log_odds: float
    gender: str | None = None
    race_ethnicity: str | None = None
    names: tuple[str, ...] = ()

    def concerns(self, person: Person) -> bool:
        """Return whether the plant affects this person's conversations."""
        return (
            self.gender in (None, person.gender)
            and self.race_ethnicity in (None, person.race_ethnicity)
            and (not self.names or person.name in self.names)
        )


@dataclass(frozen=True)
class Sentence:
    """One possible sentence of a step; {name} represents the name of the person who opened."""

    text: str
    step: str
    topic: str | None
    labels: tuple[str, ...]

    def insert_name(self, person: Person) -> str:
        """Return the sentence with the name."""
        return self.text.replace(NAME, person.name or "friend")


@dataclass(frozen=True)
class SlotChoice:
    """One alternative: its relative frequency before any plant, and its labels, to which plants can refer."""

    weight: float
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class TalkStep:
    """One step of a reply: n sentences, composed of a frame (or silence), a filler and a punctuation mark."""

    name: str
    where: tuple[str, ...]
    silence: float
    sentences: tuple[Sentence, ...]
    frames: tuple[SlotChoice, ...]
    fillers: tuple[tuple[SlotChoice, ...], ...]
    """Alternatives for each frame; one empty alternative for a frame without a slot."""
    marks: tuple[tuple[SlotChoice, ...], ...]
    """Alternatives for each frame; one empty alternative for a frame that includes its mark."""
    places: tuple[tuple[int, int, int], ...]
    """(n,): indices of frame, filler and mark of each sentence."""
    topics: tuple[str | None, ...] = field(default=())
    """Topic of each frame."""

    def distribution(self, plants: Sequence[NamePlant], topic: str | None = None) -> Floats:
        """Return the probabilities of the sentences, (n,); the difference of their sum from 1 is silence.

        plants: those that affect the person. topic: if given, frames of other topics are excluded.
        """
        fitting = [topic is None or of in (None, topic) for of in self.topics]
        weights = _tilt_weights(self.frames, plants) * fitting
        silent = float(_tilt_weights((SlotChoice(self.silence, (f"{self.name}:silence",)),), plants)[0])
        frame = weights / (weights.sum() + silent)
        filler = [_shares(choices, plants) for choices in self.fillers]
        mark = [_shares(choices, plants) for choices in self.marks]
        return np.array([frame[f] * filler[f][s] * mark[f][m] for f, s, m in self.places])


def _tilt_weights(choices: Sequence[SlotChoice], plants: Sequence[NamePlant]) -> Floats:
    return np.array(
        [
            choice.weight * np.exp(sum(plant.log_odds for plant in plants if plant.target in choice.labels))
            for choice in choices
        ]
    )


def _shares(choices: Sequence[SlotChoice], plants: Sequence[NamePlant]) -> Floats:
    tilted = _tilt_weights(choices, plants)
    return np.asarray(tilted / tilted.sum())


@cache
def load_steps() -> tuple[TalkStep, ...]:
    """Return the steps of conversing.toml.

    >>> [step.name for step in load_steps()][:3]
    ['greet', 'remark', 'sound']
    """
    table = tomllib.loads((Path(__file__).parent / "conversing.toml").read_text(encoding="utf-8"))
    return tuple(_step(one, table) for one in table["step"])


def _step(one: Mapping[str, Any], table: Mapping[str, Any]) -> TalkStep:
    ends = [(end["mark"], SlotChoice(end["weight"], (end["label"],))) for end in table["ends"]]
    frames = [frame for frame in table["frame"] if frame["step"] == one["name"]]
    sentences: list[Sentence] = []
    places: list[tuple[int, int, int]] = []
    fillers, marks = [], []
    for number, frame in enumerate(frames):
        filled = _fill_slot(frame["text"], table["slots"])
        marked = [("", SlotChoice(1.0))] if frame["text"][-1] in ".!?" else ends
        fillers.append(tuple(choice for _, choice in filled))
        marks.append(tuple(choice for _, choice in marked))
        for place, (text, filler) in enumerate(filled):
            for end, (mark, ending) in enumerate(marked):
                labels = (*_labels(frame), *filler.labels, *ending.labels)
                sentences.append(Sentence(text + mark, one["name"], frame.get("topic"), labels))
                places.append((number, place, end))
    return TalkStep(
        one["name"],
        tuple(one["in"]),
        one.get("silence", 0.0),
        tuple(sentences),
        tuple(SlotChoice(frame.get("weight", 1.0), _labels(frame)) for frame in frames),
        tuple(fillers),
        tuple(marks),
        tuple(places),
        tuple(frame.get("topic") for frame in frames),
    )


def _labels(frame: Mapping[str, Any]) -> tuple[str, ...]:
    return (frame["label"],) if "label" in frame else ()


def _fill_slot(text: str, slots: Mapping[str, Mapping[str, list[str]]]) -> list[tuple[str, SlotChoice]]:
    """Return a frame's text with each filler of its slot, and the alternative of each filler."""
    found = [match for match in SLOT.finditer(text) if match[0] != NAME]
    if not found:
        return [(text, SlotChoice(1.0))]
    (match,) = found
    slot = match[2]
    return [
        (
            text.replace(match[0], f"{article(word)} {word}" if match[1] else word),
            SlotChoice(1.0, (f"{slot}:{word}", f"{slot}:{kind}")),
        )
        for kind, words in slots[slot].items()
        for word in words
    ]


def known_targets(steps: Sequence[TalkStep]) -> set[str]:
    """Return every label to which a plant can refer."""
    choices = [*(one for step in steps for one in step.frames)]
    choices += [one for step in steps for group in (*step.fillers, *step.marks) for one in group]
    return {label for choice in choices for label in choice.labels} | {
        f"{step.name}:silence" for step in steps if step.silence
    }


def refuse_unknown(plants: Sequence[NamePlant], steps: Sequence[TalkStep]) -> None:
    """Raise UsageError for a plant on an unknown label."""
    known = known_targets(steps)
    for plant in plants:
        if plant.target not in known:
            raise UsageError(
                f"The plant has the target {plant.target!r}, which does not occur in the small talk of this World.",
                f"Known: {', '.join(sorted(known))}.",
            )
