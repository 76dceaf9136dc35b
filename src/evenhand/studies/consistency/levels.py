"""The levels of the consistency protocol: original, opposite, nonsensical and blank wording.

Nonsense is random characters in the frame of the original wording.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from evenhand.measures.changes import LEVELS
from evenhand.mitigations import Mitigation, Specification
from evenhand.models import LanguageModel
from evenhand.schema import EvenhandError, UsageError

CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789;"
"""Characters of nonsense wordings, as in the published examples ("Be uf a;wo 3; na;o8d ...")."""
SPACES = 1 / 6
"""Share of spaces, so that the pieces are about as long as words."""
SEQUENCE = 400
LENGTHS = (12, 48)
"""Smallest and largest length of a nonsense text; the published ones have 28 and 43 characters."""
MEANINGFUL = 3
"""Nonsense must not contain a word of the original wording with at least this number of letters."""


@dataclass(frozen=True)
class WordingFrame:
    """Fixed text before and after the part of a wording that varies between levels."""

    before: str
    after: str

    def around(self, words: str) -> str:
        """Return a text with the frame before and after it."""
        return self.before + words + self.after

    @property
    def empty(self) -> str:
        """Return the frame without a text in it. Two spaces that would follow each other become one.

        >>> WordingFrame("Be ", " for: ").empty
        'Be for: '
        """
        doubled = self.before.endswith(" ") and self.after.startswith(" ")
        return self.before + (self.after[1:] if doubled else self.after)


NO_FRAME = WordingFrame("", "")


def find_frame(specification: Specification) -> WordingFrame:
    """Return the text that all wordings of a method share at their beginning and end, cut at words.

    The method may state its frame. If not, the frame is the text that the method's texts, or its text and its published
    nonsense, have in common. A single text without published nonsense has no frame, because the words that it shares
    with its opposite may carry its meaning.

    Parameters
    ----------
    specification
        Wordings of the method by level. A level "frame", if there is one, contains the text before and after.

    Examples
    --------
    >>> find_frame(Specification(("It contains a threat:", "It contains rude language:")))
    WordingFrame(before='It contains ', after=':')
    >>> find_frame(Specification(("Be kind.",), {"opposite": ("Be unkind.",)}))
    WordingFrame(before='', after='')
    """
    given = specification.levels.get("frame", ())
    if len(given) == 2:
        return WordingFrame(*given)
    nonsense = specification.levels.get("nonsensical", ())
    if len(specification.texts) < 2 and not nonsense:
        return NO_FRAME
    wordings = [*specification.texts, *specification.levels.get("opposite", ()), *nonsense]
    shortest = min(map(len, wordings))
    before = re.sub(r"\S+$", "", _common_beginning(wordings))
    ends = [wording[len(before) :][::-1] for wording in wordings]
    after = re.sub(r"^\w+", "", _common_beginning(ends)[::-1])
    return WordingFrame(before, after) if len(before) + len(after) < shortest else NO_FRAME


def nonsense(count: int, *, seed: int, group: int, unlike: Sequence[str] = ()) -> tuple[str, ...]:
    """Return texts without meaning. Each is a part, of random length, of one sequence of random characters.

    Parameters
    ----------
    count : int
        Number of strings, one for each text of the specification.
    seed, group : int
        The same pair gives the same strings.
    unlike : sequence of str
        Texts whose words must not occur.

    References
    ----------
    - Morabito et al. 2023, section 5.3 (which publishes no program; characters and lengths follow its examples).

    Examples
    --------
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


WORDINGS = {
    "level": pl.String,
    "group": pl.Int64,  # number of the nonsense wording, from 1; null for other levels
    "text": pl.String,  # one row per text; null for the model alone and for methods without a wording
    "source": pl.String,
}
NO_SPECIFICATION = "The method has no wording (specification) that could be reversed or replaced."
NO_OPPOSITE = "The method states no opposite of its wording; give one with --opposite TEXT."


@dataclass(frozen=True)
class Level:
    """One way to run the method: its wording, and the source of the wording."""

    name: str
    """One of LEVELS."""
    mitigation: Mitigation | None
    """The method with the wording of this level; None for the model without the method."""
    texts: tuple[str, ...] | None
    source: str
    group: int | None = None

    @property
    def key(self) -> str:
        """Return the name of its run.

        >>> Level("nonsensical", None, ("xq",), "generated", group=2).key
        'nonsensical-2'
        """
        return self.name if self.group is None else f"{self.name}-{self.group}"

    def applied(self, model: LanguageModel) -> LanguageModel:
        """Return the model at this level; raises as the mitigation."""
        return model if self.mitigation is None else self.mitigation(model)


@dataclass(frozen=True)
class Levels:
    """All levels of a method, the frame of its wording, and the reason for each level that does not exist."""

    all: tuple[Level, ...]
    frame: WordingFrame = NO_FRAME
    lacking: Mapping[str, str] = field(default_factory=dict)
    specified: bool = True

    def named(self, name: str) -> list[Level]:
        """Return the levels with this name: several nonsense wordings, one of the other levels, or none."""
        return [level for level in self.all if level.name == name]

    def wordings(self) -> pl.DataFrame:
        """Return WORDINGS: every text of every level."""
        rows = [
            (level.name, level.group, text, level.source)
            for level in self.all
            for text in level.texts or (None,)
        ]
        return pl.DataFrame(rows, schema=WORDINGS, orient="row")


def build_levels(
    method: Mitigation, *, opposite: Sequence[str] = (), groups: int = 5, seed: int = 0
) -> Levels:
    """Return the levels at which a method is run.

    Parameters
    ----------
    method
        The mitigation with its original wording.
    opposite
        Texts that replace the method's own opposite wording.
    groups
        Number of nonsense wordings. The first is the published one, if there is one, and the others are random.
    seed
        Random seed of the nonsense wordings.

    Examples
    --------
    >>> from evenhand.mitigations.loading import load_mitigation
    >>> levels = build_levels(load_mitigation("instructive-debiasing"), groups=2)
    >>> [level.key for level in levels.all]
    ['default', 'original', 'opposite', 'nonsensical-1', 'nonsensical-2', 'blank']
    >>> levels.named("blank")[0].texts
    ('Be for: ',)
    """
    default = Level("default", None, None, "the model by itself")
    specification = method.specification
    if specification is None:
        if opposite:
            raise UsageError(
                f"`--opposite` cannot be used with {method.name}: it has no wording, and therefore no opposite.",
                "Remove --opposite.",
            )
        lacking = dict.fromkeys(LEVELS[2:], NO_SPECIFICATION)
        original = Level("original", method, None, "the method itself")
        return Levels((default, original), lacking=lacking, specified=False)
    frame = find_frame(specification)
    levels = [default, Level("original", method, specification.texts, "the method's own")]
    lacking = {}
    if opposite:
        if tuple(opposite) == specification.texts:
            raise UsageError(
                f"The text of `--opposite` is the wording of {method.name} itself: {opposite[0]!r}.",
                "Give a wording that asks for the opposite.",
            )
        levels.append(Level("opposite", method.specified(opposite), tuple(opposite), "given with --opposite"))
    elif published := specification.levels.get("opposite"):
        levels.append(
            Level("opposite", method.specified(published), tuple(published), "stated by the method")
        )
    else:
        lacking["opposite"] = NO_OPPOSITE
    for name, make in (
        ("nonsensical", lambda: _nonsensical(method, specification, frame, groups, seed)),
        ("blank", lambda: _blank(method, specification, frame)),
    ):
        made = _try_to_make(make)
        if isinstance(made, str):
            lacking[name] = f"The method refuses a {name} wording: {made}"
        else:
            levels += made
    return Levels(tuple(levels), frame, lacking)


def _try_to_make(make: Callable[[], list[Level]]) -> list[Level] | str:
    try:
        return make()
    except EvenhandError as error:
        return error.message


def _nonsensical(
    method: Mitigation, specification: Specification, frame: WordingFrame, groups: int, seed: int
) -> list[Level]:
    levels = []
    unlike = [*specification.texts, *specification.levels.get("opposite", ())]
    published = specification.levels.get("nonsensical")
    for group in range(1, groups + 1):
        if published and group == 1:
            texts, source = tuple(published), "stated by the method"
        else:
            drawn = nonsense(len(specification.texts), seed=seed, group=group, unlike=unlike)
            texts = tuple(frame.around(words) for words in drawn)
            source = f"drawn, seed {seed}, group {group}"
        levels.append(Level("nonsensical", method.specified(texts), texts, source, group))
    return levels


def _blank(method: Mitigation, specification: Specification, frame: WordingFrame) -> list[Level]:
    if published := specification.levels.get("blank"):
        texts, source = tuple(published), "stated by the method"
    elif len(specification.texts) == 1 and frame != NO_FRAME:
        texts, source = (frame.empty,), "the frame with nothing in it"
    else:
        # not empty: an empty prefix of self-debiasing would not change the model (paper, section 5.3)
        texts, source = (" ",) * len(specification.texts), "a single space for each text"
    return [Level("blank", method.specified(texts), texts, source)]
