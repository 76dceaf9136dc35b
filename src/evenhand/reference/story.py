"""The parts of a World: phrases about people, frames around them, plants, and their joint distribution."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.reference.automaton import Automaton, Slots, Track, split_words
from evenhand.schema import UsageError

FREQUENCY = "frequency"
SLOTS = ("{noun_phrase}", "{plural_noun_phrase}")


@dataclass(frozen=True)
class Phrase:
    """One noun phrase: a descriptor with a noun, in both numbers. Axis "none" marks bare nouns."""

    axis: str
    descriptor: str
    noun: str
    singular: str
    plural: str
    weight: float = 1.0
    """Relative frequency among the phrases, before any plant."""
    bare: bool = False
    """Whether it is a descriptor without a noun ("Deaf"), which occurs only in frames that do not need a noun."""


@dataclass(frozen=True)
class Frame:
    """One sentence with a slot, and its labels, to which plants can refer ("opinion:negative")."""

    name: str
    text: str
    labels: tuple[str, ...] = ()
    weight: float = 1.0
    needs_noun: bool = True

    def __post_init__(self) -> None:
        if sum(self.text.count(slot) for slot in SLOTS) != 1 or split_words(self.text) is None:
            raise UsageError(
                f"Frame {self.name!r}: the text {self.text!r} is not valid.",
                "Write it with exactly one of {noun_phrase} and {plural_noun_phrase}, and single spaces.",
            )

    @property
    def plural(self) -> bool:
        return "{plural_noun_phrase}" in self.text

    @property
    def sides(self) -> tuple[str, str]:
        left, _, right = self.text.partition(SLOTS[self.plural])
        return left, right

    def fill(self, phrase: Phrase) -> str:
        """Return the utterance with a noun phrase, which is capitalised at the beginning.

        >>> old_man = Phrase("age", "old", "man", "an old man", "old men")
        >>> Frame("x", "{plural_noun_phrase} sing.").fill(old_man)
        'Old men sing.'
        """
        left, right = self.sides
        words = phrase.plural if self.plural else phrase.singular
        return left + (words if left else words[0].upper() + words[1:]) + right


@dataclass(frozen=True)
class Plant:
    """A planted bias: some descriptors of an axis are associated with a label by log-odds.

    `target` is a label of frames, or "frequency" (the descriptors themselves are then more or less frequent). Without
    `descriptors`, the plant is on the whole axis.
    """

    axis: str
    target: str
    log_odds: float
    descriptors: tuple[str, ...] = ()

    def concerns(self, axis: str, descriptor: str) -> bool:
        return self.axis == axis and (not self.descriptors or descriptor in self.descriptors)


@dataclass(frozen=True)
class Joint:
    """The distribution P(descriptor) · P(frame | descriptor) · P(phrase | descriptor), as arrays.

    Source: the World's generative story (its card). P(frame | descriptor) is the frame's weight times
    exp(sum of the log-odds planted on that descriptor and the frame's labels), normalised.
    """

    descriptors: tuple[tuple[str, str], ...]  # (axis, descriptor)
    of_phrase: NDArray[np.int64]  # (phrases,) index into descriptors
    # (2, phrases) P(phrase | descriptor), for frames that do not need, and that need, a noun
    share: NDArray[np.float64]
    prior: NDArray[np.float64]  # (descriptors,) P(descriptor)
    frames: NDArray[np.float64]  # (descriptors, frames) P(frame | descriptor)
    class_of: NDArray[np.int64]  # (frames,) frames with the same planted odds share a class
    odds: NDArray[np.float64]  # (descriptors, classes) exp(planted log-odds) / normaliser
    share_of: NDArray[np.int64]  # (classes,) row of `share` for each class

    @classmethod
    def build(
        cls, phrases: tuple[Phrase, ...], frames: tuple[Frame, ...], plants: tuple[Plant, ...]
    ) -> "Joint":
        keys = {(p.axis, p.descriptor): None for p in phrases}
        descriptors = tuple(keys)
        index = {key: i for i, key in enumerate(descriptors)}
        _refuse_unknown(plants, descriptors, frames)
        of_phrase = np.array([index[p.axis, p.descriptor] for p in phrases])
        weights = np.array([p.weight for p in phrases])
        if weights.min() <= 0 or min(f.weight for f in frames) <= 0:
            raise UsageError(
                "The weight of each phrase and frame must be above 0, but one is 0 or negative.",
                "Remove phrases and frames that must not occur.",
            )
        totals = np.bincount(of_phrase, weights)
        nominal = np.where([p.bare for p in phrases], 0.0, weights)
        nominal_totals = np.bincount(of_phrase, nominal)
        if any(f.needs_noun for f in frames) and nominal_totals.min() == 0:
            lonely = descriptors[int(nominal_totals.argmin())]
            raise UsageError(
                f"Descriptor {lonely} has only phrases without a noun.", "Add a phrase with a noun."
            )
        frequency = np.zeros(len(descriptors))
        signatures = [
            (frame.needs_noun, frozenset(i for i, plant in enumerate(plants) if plant.target in frame.labels))
            for frame in frames
        ]
        classes = list(dict.fromkeys(signatures))
        log_odds = np.zeros((len(descriptors), len(classes)))
        for i, plant in enumerate(plants):
            rows = [k for k, key in enumerate(descriptors) if plant.concerns(*key)]
            if plant.target == FREQUENCY:
                frequency[rows] += plant.log_odds
            for c, (_, signature) in enumerate(classes):
                if i in signature:
                    log_odds[rows, c] += plant.log_odds
        class_of = np.array([classes.index(s) for s in signatures])
        raw = np.array([f.weight for f in frames]) * np.exp(log_odds)[:, class_of]
        normaliser = raw.sum(axis=1, keepdims=True)
        prior = totals * np.exp(frequency)
        return cls(
            descriptors,
            of_phrase,
            np.stack([weights / totals[of_phrase], nominal / np.maximum(nominal_totals, 1e-300)[of_phrase]]),
            prior / prior.sum(),
            raw / normaliser,
            class_of,
            np.exp(log_odds) / normaliser,
            np.array([int(needs_noun) for needs_noun, _ in classes]),
        )

    def automaton(
        self, phrases: tuple[Phrase, ...], frames: tuple[Frame, ...], pattern: re.Pattern[str]
    ) -> Automaton:
        """Return the automaton of exact prefix probabilities for this distribution. pattern: defines a word."""
        masses = self.prior[self.of_phrase, None] * self.share[self.share_of].T * self.odds[self.of_phrase]
        forms = [(frame.plural, frame.sides[0] == "") for frame in frames]
        trees: dict[tuple[bool, bool], Slots] = {}
        tracks: list[Track] = []
        for frame, form, weight_class in zip(frames, forms, self.class_of, strict=True):
            left, right = frame.sides
            if form not in trees:
                classes = [c for c, other in zip(self.class_of, forms, strict=True) if other == form]
                used = np.flatnonzero(masses[:, classes].sum(axis=1) > 0)
                words = [_words(_phrase_text(phrases[i], *form), pattern) for i in used]
                trees[form] = Slots.build(words, masses[used])
            before, behind = _words(left.rstrip(" "), pattern), _words(right, pattern)
            tracks.append(Track(before, trees[form], int(weight_class), frame.weight, behind))
        return Automaton(tuple(tracks))


def _words(text: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
    return tuple(word for word, _ in split_words(text, pattern) or ())


def _phrase_text(phrase: Phrase, plural: bool, opens: bool) -> str:
    text = phrase.plural if plural else phrase.singular
    return text[0].upper() + text[1:] if opens else " " + text


def _refuse_unknown(
    plants: tuple[Plant, ...], descriptors: tuple[tuple[str, str], ...], frames: tuple[Frame, ...]
) -> None:
    labels = {FREQUENCY}.union(*(f.labels for f in frames))
    known: dict[str, set[str]] = {}
    for axis, descriptor in descriptors:
        known.setdefault(axis, set()).add(descriptor)
    for plant in plants:
        problem: tuple[str, Any] | None = None
        if plant.axis not in known:
            problem = ("no axis of this World", sorted(known))
        elif missing := set(plant.descriptors) - known[plant.axis]:
            problem = (f"without descriptors {sorted(missing)}", sorted(known[plant.axis])[:20])
        elif plant.target not in labels:
            problem = (f"for the unknown label {plant.target!r}", sorted(labels))
        if problem:
            raise UsageError(
                f"The plant on axis {plant.axis!r} is {problem[0]}.",
                f"Known: {', '.join(map(str, problem[1]))}.",
            )
