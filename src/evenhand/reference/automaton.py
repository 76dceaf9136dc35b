"""Exact prefix probabilities of frames with one slot for a noun phrase: a weighted automaton over words.

Every utterance is `left words + noun phrase + right words`. The noun phrases form one prefix tree, so the probability
of all derivations that are consistent with a prefix needs only a few look-ups.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

WORD = r" ?[^\s.,!?;:]+|[.,!?;:]"


def word_pattern(names: Sequence[str] = ()) -> re.Pattern[str]:
    """Return the pattern of a word: names of several words ("New Zealand") are one, and punctuation marks are separate.

    >>> word_pattern(["New Zealand"]).findall("A New Zealand man, a New man.")
    ['A', ' New Zealand', ' man', ',', ' a', ' New', ' man', '.']
    """
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    whole = [rf" ?{re.escape(name)}(?![^\s.,!?;:])" for name in longest_first]
    return re.compile("|".join([*whole, WORD]))


PLAIN = word_pattern()


def split_words(text: str, pattern: re.Pattern[str] = PLAIN) -> list[tuple[str, int]] | None:
    """Return the words of a text with the position of each, or None if the spacing is not canonical.

    A word includes its leading space; the position is that of the first character that is not a space. Source: the
    definition of a World; see `World`.

    >>> split_words("I like tea.")
    [('I', 0), (' like', 2), (' tea', 7), ('.', 10)]
    >>> split_words("two  spaces") is None
    True
    """
    words: list[tuple[str, int]] = []
    end = 0
    for match in pattern.finditer(text):
        if match.start() != end:
            return None
        word, end = match.group(), match.end()
        words.append((word, match.start() + (word[0] == " ")))
    return words if end == len(text) else None


@dataclass(frozen=True)
class Slots:
    """A prefix tree of noun phrases; each node has its probability mass by weight class."""

    children: list[dict[str, int]]
    ends: NDArray[np.float64]  # (nodes, classes): mass of phrases that end at the node
    inner: NDArray[np.float64]  # (nodes, classes): mass of phrases that continue after it
    through: NDArray[np.float64]  # (nodes, classes): the sum of both

    @classmethod
    def build(cls, phrases: Sequence[Sequence[str]], masses: NDArray[np.float64]) -> "Slots":
        """Return the tree of n phrases (word lists) with masses of shape (n, classes); masses
        of equal phrases are added.
        """
        children: list[dict[str, int]] = [{}]
        parents = [0]
        leaves = np.empty(len(phrases), dtype=np.int64)
        for i, words in enumerate(phrases):
            node = 0
            for word in words:
                following = children[node].get(word)
                if following is None:
                    following = children[node][word] = len(children)
                    children.append({})
                    parents.append(node)
                node = following
            leaves[i] = node
        ends = np.zeros((len(children), masses.shape[1]))
        np.add.at(ends, leaves, masses)
        inner = np.zeros_like(ends)
        for node in range(len(children) - 1, 0, -1):  # children come after their parents
            inner[parents[node]] += ends[node] + inner[node]
        return cls(children, ends, inner, ends + inner)


@dataclass(frozen=True)
class Track:
    """One frame in the automaton: words to the left of the slot, the tree that fills it, and words to the right."""

    left: tuple[str, ...]
    slots: Slots
    weight_class: int
    weight: float  # multiplies the tree's mass
    right: tuple[str, ...]


@dataclass(frozen=True)
class State:
    """All derivations that are consistent with the words so far, with their probability mass."""

    items: tuple[tuple[int, int, int, float], ...]  # (track, phase, position or node, mass)
    finished: float  # mass of derivations that ended exactly here
    total: float


LEFT, INSIDE, RIGHT = 0, 1, 2


@dataclass(frozen=True)
class Automaton:
    """The mixture of all tracks, repeated forever: after an utterance, the next one begins."""

    tracks: tuple[Track, ...]
    start: State = field(init=False)

    def __post_init__(self) -> None:
        items = tuple(self._enter(i, track) for i, track in enumerate(self.tracks))
        object.__setattr__(self, "start", State(items, 0.0, sum(item[3] for item in items)))

    def _enter(self, index: int, track: Track) -> tuple[int, int, int, float]:
        mass = track.weight * float(track.slots.inner[0, track.weight_class])
        return (index, LEFT if track.left else INSIDE, 0, mass)

    def advance(self, state: State, word: str) -> State:
        """Return the state after one more word; its `total` is 0 if the word is impossible here."""
        if state.finished and not state.items:
            # the utterance has certainly ended, and what follows is independent of it
            return self._step(self.start, word.removeprefix(" ")) if word[0] == " " else DEAD
        following = self._step(state, word)
        if state.finished and word[0] == " ":
            fresh = self._step(self.start, word[1:])
            share = state.finished
            items = following.items + tuple((t, p, n, m * share) for t, p, n, m in fresh.items)
            finished = following.finished + fresh.finished * share
            return State(items, finished, following.total + fresh.total * share)
        return following

    def _step(self, state: State, word: str) -> State:
        items: list[tuple[int, int, int, float]] = []
        finished = 0.0
        for index, phase, position, mass in state.items:
            track = self.tracks[index]
            if phase == LEFT:
                if track.left[position] == word:
                    done = position + 1 == len(track.left)
                    items.append((index, INSIDE, 0, mass) if done else (index, LEFT, position + 1, mass))
            elif phase == INSIDE:
                child = track.slots.children[position].get(word)
                if child is None:
                    continue
                kind = track.weight_class
                scale = mass / float(track.slots.inner[position, kind])
                inside = scale * float(track.slots.inner[child, kind])
                ended = scale * float(track.slots.ends[child, kind])
                if inside > 0:
                    items.append((index, INSIDE, child, inside))
                if ended > 0:
                    if track.right:
                        items.append((index, RIGHT, 0, ended))
                    else:
                        finished += ended
            elif track.right[position] == word:
                if position + 1 == len(track.right):
                    finished += mass
                else:
                    items.append((index, RIGHT, position + 1, mass))
        return State(tuple(items), finished, sum(item[3] for item in items) + finished)

    def base(self, state: State) -> float:
        """Return the mass to which the next word's probability is relative."""
        return self.start.total if state.finished and not state.items else state.total

    def next_words(self, state: State) -> dict[str, float]:
        """Return the probability of every possible next word, in one pass over the state."""
        masses: dict[str, float] = {}
        fresh = self.start.items if state.finished else ()
        share = state.finished if state.items else self.start.total
        for items, lead, factor in ((state.items, "", 1.0), (fresh, " ", share)):
            for index, phase, position, mass in items:
                track = self.tracks[index]
                if phase != INSIDE:
                    word = lead + (track.left if phase == LEFT else track.right)[position]
                    masses[word] = masses.get(word, 0.0) + factor * mass
                    continue
                kind = track.weight_class
                scale = factor * mass / float(track.slots.inner[position, kind])
                for word, child in track.slots.children[position].items():
                    through = scale * track.slots.through[child, kind]
                    if through > 0:
                        masses[lead + word] = masses.get(lead + word, 0.0) + float(through)
        base = self.base(state)
        return {word: mass / base for word, mass in masses.items()}


DEAD = State((), 0.0, 0.0)


class Walk:
    """Passes texts through the automaton one after another, and keeps the states of the shared prefix."""

    def __init__(self, automaton: Automaton):
        self.automaton = automaton
        self.words: list[str] = []
        self.states: list[State] = [automaton.start]
        self.log_probs: list[float] = []

    def along(self, words: list[str]) -> list[float]:
        """Return the log probability of each word; shorter than `words` if the next word is impossible."""
        shared = 0
        while shared < min(len(words), len(self.words)) and words[shared] == self.words[shared]:
            shared += 1
        del self.words[shared:], self.states[shared + 1 :], self.log_probs[shared:]
        for word in words[shared:]:
            state = self.states[-1]
            following = self.automaton.advance(state, word)
            if not following.total:
                break
            self.words.append(word)
            self.states.append(following)
            self.log_probs.append(math.log(following.total / self.automaton.base(state)))
        return list(self.log_probs)
