"""Wordings without meaning for the consistency protocol: random characters in the frame of the original wording."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.mitigations.contract import Specification

CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789;"
"""Those of the published examples ("Be uf a;wo 3; na;o8d ...")."""
SPACES = 1 / 6
"""Share of spaces, so that the pieces are about as long as words."""
SEQUENCE = 400
LENGTHS = (12, 48)
"""Shortest and longest piece; the published ones have 28 and 43 characters."""
MEANINGFUL = 3
"""A word of so many letters that stands in the original wording must not come up by chance."""


@dataclass(frozen=True)
class Frame:
    """What stands before and after the words of a specification, whatever they are."""

    before: str
    after: str

    def around(self, words: str) -> str:
        """The frame with words in it."""
        return self.before + words + self.after

    @property
    def empty(self) -> str:
        """The frame with nothing in it, and one space where two would meet.

        >>> Frame("Be ", " for: ").empty
        'Be for: '
        """
        doubled = self.before.endswith(" ") and self.after.startswith(" ")
        return self.before + (self.after[1:] if doubled else self.after)


NO_FRAME = Frame("", "")


def frame_of(specification: Specification) -> Frame:
    """What the wordings of a method have in common at their ends, cut at words.

    specification: its level "frame", if it has one, holds what stands before and after. Else the frame is read off
    a method's several texts, or its text beside its published nonsense; a single text without published nonsense
    has no frame, because what it shares with its opposite may be what it says.

    >>> frame_of(Specification(("It contains a threat:", "It contains rude language:")))
    Frame(before='It contains ', after=':')
    >>> frame_of(Specification(("Be kind.",), {"opposite": ("Be unkind.",)}))
    Frame(before='', after='')
    """
    given = specification.levels.get("frame", ())
    if len(given) == 2:
        return Frame(*given)
    nonsense = specification.levels.get("nonsensical", ())
    if len(specification.texts) < 2 and not nonsense:
        return NO_FRAME
    wordings = [*specification.texts, *specification.levels.get("opposite", ()), *nonsense]
    shortest = min(map(len, wordings))
    before = re.sub(r"\S+$", "", _common_beginning(wordings))
    ends = [wording[len(before) :][::-1] for wording in wordings]
    after = re.sub(r"^\w+", "", _common_beginning(ends)[::-1])
    return Frame(before, after) if len(before) + len(after) < shortest else NO_FRAME


def nonsense(count: int, *, seed: int, group: int, unlike: Sequence[str] = ()) -> tuple[str, ...]:
    """Strings without meaning: pieces of random length of one sequence of random characters.

    count: one for each text of the specification. seed, group: the same pair gives the same strings. unlike: no
    word of these comes up. Source: Morabito et al. 2023, section 5.3 (which publishes no program; characters and
    lengths follow its examples).

    >>> nonsense(2, seed=0, group=1) == nonsense(2, seed=0, group=1) != nonsense(2, seed=0, group=2)
    True
    """
    generator = np.random.default_rng([seed, group])
    taken = {word for text in unlike for word in _words(text)}
    pieces: list[str] = []
    while len(pieces) < count:
        spaces = generator.random(SEQUENCE) < SPACES
        drawn = generator.choice(list(CHARACTERS), SEQUENCE)
        sequence = "".join(np.where(spaces, " ", drawn))
        length = int(generator.integers(LENGTHS[0], LENGTHS[1] + 1))
        start = int(generator.integers(SEQUENCE - length + 1))
        piece = " ".join(sequence[start : start + length].split())
        if piece and not taken & _words(piece):
            pieces.append(piece)
    return tuple(pieces)


def _common_beginning(texts: Sequence[str]) -> str:
    alike = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in alike)


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z]+", text.lower()) if len(word) >= MEANINGFUL}
