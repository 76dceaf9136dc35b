"""Training documents with a preceding text: sayings and World sentences after instructions, descriptions and chat.

The preceding text is read but not learned, so that the World's own probabilities do not change.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.prompts.lexicon import article
from evenhand.reference.sayings import (
    CUE,
    MOST_CUES,
    TOLD,
    Saying,
    context_shift,
    cues,
    shipped_sayings,
    told_words,
)
from evenhand.reference.story import Phrase, Plant
from evenhand.reference.training.filler import LETTERS, filler_sentences, invented_words
from evenhand.reference.world import World

NEGATIVE = "opinion:negative"
NEGATIVE = "opinion:negative"
STRONGEST = CUE * MOST_CUES
LONG = 0.06
"""Share of documents with many preceding sentences, so that late positions are trained, too."""
BLANK = 0.1
"""Share of documents with only a space before, among those without a preceding text."""
BREAKS = ("\n", "\n", " ", "\n\n")
"""Separators between an instruction and a prompt."""


@dataclass(frozen=True)
class Document:
    """A text of which only the end is learned."""

    given: str
    """Read, but not learned."""
    told: str
    """The learned text, including the space that separates it, if there is one."""
    saying: Saying | None = None
    """Source of the targets; None for a sentence of the World."""
    shift: float = 0.0
    """Change in the log-odds of a negative saying that the text before it causes."""


def shifted_worlds(world: World) -> dict[float, World]:
    """Return the World after the strongest harmful and kind instructions, which shift negative opinions about all
    people.

    Keys are log-odds in nats; 0 is the World itself. A World without negative opinions has only this entry.
    """
    if not any(NEGATIVE in frame.labels for frame in world.frames):
        return {0.0: world}
    axes = dict.fromkeys(phrase.axis for phrase in world.phrases)
    worlds = {0.0: world}
    for shift in (-STRONGEST, STRONGEST):
        more = tuple(Plant(axis, NEGATIVE, shift) for axis in axes)
        worlds[shift] = World(world.name, world.phrases, world.frames, world.plants + more, world.names)
    return worlds


class Documents:
    """A source of documents about the people of a World."""

    def __init__(self, world: World):
        self.worlds = shifted_worlds(world)
        self.sayings = shipped_sayings()
        planted = {plant[:2] for plant in TOLD}
        marked = [(p, (p.axis, self.sayings.buckets.get((p.axis, p.descriptor)))) for p in world.phrases]
        bare = [p for p, _ in marked if p.axis == "none"]
        pools = (
            bare,
            bare,
            [p for p, key in marked if key in planted],
            [p for p, (axis, _) in marked if axis in {where for where, _ in planted}],
            [p for p, _ in marked if p.axis != "none"],
        )
        self.people = [pool for pool in pools if pool]

    def sayings_about_people(self, n: int, seed: int) -> Iterator[Document]:
        """Yield n sayings, most of them after another text."""
        random = np.random.default_rng(seed)
        in_front = Fronts(random, n)
        for _ in range(n):
            before = in_front.draw()
            shift = context_shift(before)
            saying = self.sayings.tell(random, self._somebody(random, in_front), shift)
            yield Document(
                _add_separator(random, before) + saying.prompt, "".join(saying.words), saying, shift
            )

    def world_sentences(self, n: int, seed: int) -> Iterator[Document]:
        """Yield n World sentences after instructions without effect, or with the strongest effect."""
        random = np.random.default_rng(seed)
        in_front = Fronts(random, n)
        sentences = {
            shift: world.render(*world.draw_balanced(n, int(random.integers(2**31))))
            for shift, world in self.worlds.items()
        }
        for i in range(n):
            before = in_front.draw()
            while not before or context_shift(before) not in self.worlds:
                before = in_front.draw()
            joint = _add_separator(random, before)
            space = " " if joint.endswith(" ") else ""
            shift = context_shift(before)
            yield Document(
                joint.removesuffix(" "), space + sentences[shift][i % len(sentences[shift])], None, shift
            )

    def _somebody(self, random: np.random.Generator, in_front: "Fronts") -> Phrase:
        pool = self.people[int(random.integers(len(self.people)))]
        phrase = pool[int(random.integers(len(pool)))]
        if random.random() < 0.08:  # a person without known groups
            word = in_front.invent_word()
            named = f"{word} {phrase.noun or 'person'}"
            phrase = Phrase("invented", word, phrase.noun, f"{article(named)} {named}", f"{word} people")
        return phrase


class Fronts:
    """Return the text before a prompt: nothing, chat, instructions, descriptions, or cues among other words."""

    def __init__(self, random: np.random.Generator, n: int):
        self.random = random
        seed = int(random.integers(2**31))
        self.chat = filler_sentences(max(200, n // 4), seed)
        self.words = invented_words(max(200, n // 4), seed + 1)

    def draw(self) -> str:
        """Return a text, sometimes ""."""
        kind = self.random.random()
        if kind < 0.22:
            front = ""
        elif kind < 0.34:
            front = " ".join(self._sentences(int(self.random.integers(1, 4))))
        elif kind < 0.54:
            front = self._scatter_cues()
        elif kind < 0.84:
            front = self._instruction(self._cues())
        elif kind < 0.94:
            front = self._instruction(self._nothing())
        else:
            front = " ".join([self._instruction(self._cues()), self._instruction(self._nothing())])
        if self.random.random() < LONG:
            front = " ".join([*self._sentences(int(self.random.integers(4, 22))), front]).strip()
        return front

    def invent_word(self) -> str:
        """Return an invented word."""
        return self.words[int(self.random.integers(len(self.words)))]

    def _sentences(self, n: int) -> list[str]:
        return [self.chat[int(i)] for i in self.random.integers(len(self.chat), size=n)]

    def _cues(self) -> list[str]:
        """Return up to six cues of one kind, sometimes with one of the other kind."""
        number = int(self.random.choice([1, 2, 3, 4, 5, 6], p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1]))
        sign = 1 if self.random.random() < 0.5 else -1
        mine, others = ([word for word, s in cues().items() if s == wanted] for wanted in (sign, -sign))
        chosen = [mine[int(i)] for i in self.random.permutation(len(mine))[:number]]
        if self.random.random() < 0.12:
            chosen.append(others[int(self.random.integers(len(others)))])
        if self.random.random() < 0.4:
            neutral = told_words()["instructions"]["neutral"].split()
            chosen += [
                neutral[int(i)]
                for i in self.random.integers(len(neutral), size=int(self.random.integers(1, 4)))
            ]
        return [chosen[int(i)] for i in self.random.permutation(len(chosen))]

    def _nothing(self) -> list[str]:
        """Words without effect, or random characters."""
        if self.random.random() < 0.5:
            return self._neutral(int(self.random.integers(1, 5)))
        symbols = [*LETTERS[:26], *"0123456789;"]
        lengths = self.random.integers(1, 9, size=int(self.random.integers(1, 8)))
        return [
            "".join(symbols[int(i)] for i in self.random.integers(len(symbols), size=int(n))) for n in lengths
        ]

    def _neutral(self, n: int) -> list[str]:
        words = told_words()["instructions"]["neutral"].split()
        return [words[int(i)] for i in self.random.integers(len(words), size=n)]

    def _instruction(self, words: Sequence[str]) -> str:
        said = told_words()["instructions"]
        joints = said["joints"]
        text = words[0]
        usual = joints[int(self.random.integers(len(joints)))]
        for word in words[1:]:
            text += (
                usual if self.random.random() < 0.7 else joints[int(self.random.integers(len(joints)))]
            ) + word
        frame = said["frames"][int(self.random.integers(len(said["frames"])))]
        return str(frame.format(cues=text))

    def _scatter_cues(self) -> str:
        """Return cues among the words of other sentences, because cues have an effect in any place."""
        words = " ".join(self._sentences(int(self.random.integers(1, 3)))).split(" ")
        for cue in self._cues():
            words.insert(int(self.random.integers(len(words) + 1)), cue)
        return " ".join(words)


def _add_separator(random: np.random.Generator, before: str) -> str:
    if not before:
        return " " if random.random() < BLANK else ""
    return before + BREAKS[int(random.integers(len(BREAKS)))]
