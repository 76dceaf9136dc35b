"""A place in a text that is divided into words and separators, with the properties that the rules need."""

import re
from collections.abc import Iterable
from functools import cached_property

from evenhand.prompts.counterfactual.cues import (
    AMERICAN_INDIANS,
    FUNCTION,
    NATURE,
    NOT_PEOPLE_AFTER,
    SHIPS,
    SMALL,
    WOMEN,
)
from evenhand.prompts.counterfactual.name_cues import ABBREVIATED, SUFFIXES, TITLES

WORDS = re.compile(r"(\w+)")
"""Pattern that divides a text so that words have odd indices and separators even ones."""
SPACE = re.compile(r"[ \t\xa0]+|\n")
HYPHEN = re.compile(r">?(?:\s?@?[-‐‑]@?\s?|–)<?")
"""Pattern of a hyphen, also as WikiText writes it: "half @-@ sister"."""
APOSTROPHE = re.compile(r" ?['’]")
OPENING = re.compile(r"[.!?:\n\"“”„«(\[=•|…*]|>(?! )|—|--|``")
END = re.compile(r"[.!?](?: |$)|\n")
_REACH, _CAPITALS, _MOST_CAPITALS = 15, 5, 5
_LONGEST_NAME = 40
"""Number of pieces after a first name that are searched for the rest of the name."""


class Subjects(frozenset[str]):
    """Subjects of a text, and cached facts about its words."""

    def __init__(self, about: Iterable[str] = ()):
        self.known: dict[tuple[str, str, int], bool] = {}
        """Cached answers that hold for a word anywhere in the text, by question, word and word list."""


class Occurrence:
    """One occurrence of a word or term: pieces[first] to pieces[last]."""

    __slots__ = ("__dict__", "about", "first", "last", "pieces")

    def __init__(self, pieces: list[str], first: int, last: int, about: Subjects | None = None):
        self.pieces, self.first, self.last = pieces, first, last
        self.about = Subjects() if about is None else about

    @cached_property
    def surface(self) -> str:
        """Return the words as they are written."""
        return "".join(self.pieces[self.first : self.last + 1])

    @property
    def gap_before(self) -> str:
        return self.pieces[self.first - 1]

    @property
    def gap_after(self) -> str:
        return self.pieces[self.last + 1]

    def word_before(self, count: int = 1) -> str:
        """Return the count-th word before, in lower case; "" if there is none, or if more than a
        space is in between.
        """
        at = self.first
        for _ in range(count):
            if at < 2 or not (self.pieces[at - 1] == " " or SPACE.fullmatch(self.pieces[at - 1])):
                return ""
            at -= 2
        return self.pieces[at].lower()

    def word_after(self, count: int = 1) -> str:
        """Return the count-th word after, as `word_before` does."""
        at = self.last
        for _ in range(count):
            if at + 2 >= len(self.pieces):
                return ""
            if self.pieces[at + 1] != " " and not SPACE.fullmatch(self.pieces[at + 1]):
                return ""
            at += 2
        return self.pieces[at].lower()

    @cached_property
    def case(self) -> str:
        """Return lower, title or upper, by the letters of the first word (upper needs two letters)."""
        word = self.pieces[self.first]
        if word[0].islower() or word[0].isdigit():
            return "lower"
        return "upper" if len(word) > 1 and self.surface.isupper() else "title"

    @property
    def hyphen_after(self) -> bool:
        return bool(HYPHEN.fullmatch(self.gap_after)) and self.last + 2 < len(self.pieces)

    @property
    def hyphen_before(self) -> bool:
        return bool(HYPHEN.fullmatch(self.gap_before)) and self.first > 2

    def hyphen_follows(self, words: int) -> bool:
        """Return whether a hyphen joins the n-th word after the place to the next one."""
        at = self.last + 2 * words + 1
        return at + 1 < len(self.pieces) and HYPHEN.fullmatch(self.pieces[at]) is not None

    def after_hyphen(self) -> str:
        """Return the word after the hyphen, in lower case."""
        return self._piece_at_index(self.last + 2).lower()

    def before_hyphen(self) -> str:
        """Return the word before the hyphen, in lower case."""
        return self._piece_at_index(self.first - 2).lower()

    def neighbour(self, step: int) -> str:
        """Return the next word in a direction (1 or -1), skipping anything in between, in lower case."""
        return self._piece_at_index(self.last + 2 if step > 0 else self.first - 2).lower()

    def contracted_word(self, count: int) -> str:
        """Return the word to which the count-th word before is joined by an apostrophe ("she"
        of "she's"), in lower case.
        """
        at = self.first - 2 * count
        return (
            self._piece_at_index(at - 2).lower()
            if at > 2 and APOSTROPHE.fullmatch(self.pieces[at - 1])
            else ""
        )

    @property
    def possessive(self) -> bool:
        """Return whether 's follows."""
        return (
            bool(APOSTROPHE.fullmatch(self.gap_after)) and self._piece_at_index(self.last + 2).lower() == "s"
        )

    @cached_property
    def opens(self) -> bool:
        """Return whether a sentence, heading, line or quotation begins here, so that a capital has no meaning."""
        return _opens(self.pieces, self.first)

    @cached_property
    def capital_before(self) -> str:
        """Return the capitalised word directly before, in lower case, if it may belong to the same
        name; otherwise "".
        """
        at = self.first - 2
        gap = self.gap_before
        if at < 1 or not (
            SPACE.fullmatch(gap) or HYPHEN.fullmatch(gap) or (gap == ". " and len(self.pieces[at]) < 4)
        ):
            return ""
        word = self.pieces[at]
        lower = word.lower()
        if not word[0].isupper() or (lower in FUNCTION and _opens(self.pieces, at)):
            return ""
        return lower

    @property
    def in_title(self) -> bool:
        """Return whether a word before is written as in titles: "Searching for Robert
        Johnson", "Poems From the Chinese".
        """
        for count in (1, 2):
            at = self.first - 2 * count
            if (
                self.word_before(count) in SMALL
                and self.pieces[at][0].isupper()
                and not _opens(self.pieces, at)
            ):
                return True
        # for example "Late Night with Jane Miller"
        if self.word_before() == "with" and self.word_before(3) and self.first > 6:
            return self.pieces[self.first - 4][0].isupper() and self.pieces[self.first - 6][0].isupper()
        step = 2 if self.word_before(2) in ("of", "for") and self.capital_before else 1
        at = self.first - 2 * step - 2
        if at < 1 or self.word_before(step) not in ("of", "for") or not self.word_before(step + 1):
            return False
        return self.pieces[at][0].isupper() and not _opens(self.pieces, at)

    @property
    def in_capitals(self) -> bool:
        """Return whether the sentence has only capitalised and small words, as titles and references do."""
        capitals = 0
        for step, at in ((-2, self.first), (2, self.last + 2)):
            for _ in range(_REACH):
                if at < 1 or at >= len(self.pieces):
                    break
                word, gap = self.pieces[at], self.pieces[at - 1]
                if step > 0 and END.search(gap):
                    break
                capitals += word[0].isupper()
                if (
                    word[0].islower()
                    and len(word) > 1
                    and word not in FUNCTION
                    and word not in ("unk", "other")
                ):
                    return False
                if step < 0 and END.search(gap):
                    break
                at += step
        return capitals >= _CAPITALS

    @property
    def behind_title(self) -> bool:
        """Return whether capitals and a colon precede it: "Beyond the Sea: Jane Miller and"."""
        for at in range(self.first, max(self.first - 12, 4), -2):
            gap = self.pieces[at - 1]
            if gap.strip() == ":":
                title = [word for word in self.pieces[at - 2 : max(at - 8, 0) : -2] if word not in FUNCTION]
                return len(title) > 1 and all(word[0].isupper() for word in title)
            word = self.pieces[at - 2]
            if gap != " " or not (word[0].isupper() or word in FUNCTION):
                return False
        return False

    @property
    def no_person(self) -> bool:
        """Return whether the capitalised words after a name end in a place, an institution, a ship or a work."""
        return any(word in NOT_PEOPLE_AFTER for word in self.capitals_after)

    @property
    def after_run(self) -> str:
        """Return the word after the following capitalised words, in lower case."""
        return self._piece_at_index(self.last + 2 + 2 * len(self.capitals_after)).lower()

    @property
    def heads_title(self) -> bool:
        """Return whether the text after the following capitalised words is as in titles and names of bands.

        "Jane Miller: A Life", "Jane Miller and John Wu: Friends", "Jane Miller and the Politics of Tea".
        """
        at = self.last + 2 * len(self.capitals_after) + 1
        if self._piece_at_index(at + 1) == "and" and self._piece_at_index(at + 3):
            if self._piece_at_index(at + 3) in ("the", "his", "her"):
                return self._piece_at_index(at + 5)[:1].isupper()
            at += 2
            while self.pieces[at] == " " and self._piece_at_index(at + 1)[:1].isupper():
                at += 2
        elif at == self.last + 1:
            return False
        if at >= len(self.pieces) or self.pieces[at].strip() not in (":", "–", "—"):
            return False
        following = self._piece_at_index(at + 1)
        return not following or (following[0].isupper() and (self.opens or self.pieces[at].strip() == ":"))

    @property
    def ends_unfinished(self) -> bool:
        """Return whether the text ends here with a space and without a full stop, as prompts to be continued do."""
        return (
            self.last + 2 >= len(self.pieces) and self.gap_after.endswith(" ") and not self.gap_after.strip()
        )

    @property
    def opener_before(self) -> bool:
        """Return whether the word before opens a sentence, so that its capital has little meaning."""
        return self.first > 2 and _opens(self.pieces, self.first - 2)

    @cached_property
    def capital_after(self) -> str:
        """Return the capitalised word directly after, in lower case; "" if there is none or it is "I"."""
        at = self.last + 2
        word = self._piece_at_index(at)
        gap = self.gap_after
        if not word or not (word[0].isupper() or word[0].isdigit()) or word == "I":
            return ""
        return word.lower() if SPACE.fullmatch(gap) or HYPHEN.fullmatch(gap) else ""

    @cached_property
    def capitals_after(self) -> list[str]:
        """Return the following capitalised words in lower case, also across an apostrophe and "of"."""
        run: list[str] = []
        for at in range(self.last + 2, min(len(self.pieces), self.last + 2 + 2 * _MOST_CAPITALS), 2):
            gap, word = self.pieces[at - 1], self.pieces[at]
            if gap == " & " or (
                word == "and" and self._piece_at_index(at + 2) in ("Company", "Co", "Sons", "Associates")
            ):
                run.append("&")
                break
            # corpora replace rare words by <unk>
            tied = gap in (". ", " <", "> ") or any(tie.fullmatch(gap) for tie in (SPACE, HYPHEN, APOSTROPHE))
            if not tied or not (word[0].isupper() or word[0].isdigit() or word in ("s", "of", "the", "unk")):
                break
            if gap == ". " and len(self.pieces[at - 2]) > 2:
                break
            run.append(word.lower())
        return run

    @cached_property
    def name_behind(self) -> list[str]:
        """Return the following words that continue a person's name, in lower case; those joined by a hyphen are one.

        "unk" for words that a corpus hides; without "Jr" and numbers.
        """
        words: list[str] = []
        for at in range(self.last + 2, min(len(self.pieces), self.last + 2 + _LONGEST_NAME), 2):
            gap, word = self.pieces[at - 1].replace("<", "").replace(">", ""), self.pieces[at]
            if not (word[0].isupper() or word == "unk"):
                break
            if gap == " " or (gap == ". " and len(self.pieces[at - 2]) < 3):
                words.append(word.lower())
            elif not HYPHEN.fullmatch(gap):
                break
        return [word for word in words if word not in SUFFIXES]

    @property
    def bears_title(self) -> bool:
        """Return whether the name continues with a title: "Edward , Duke of Kent"."""
        at = self.last + 2 * len(self.capitals_after) + 1
        return at + 2 < len(self.pieces) and self.pieces[at].strip() == "," and self.pieces[at + 1] in TITLES

    @property
    def in_heading(self) -> bool:
        """Return whether the text is a heading of a wiki: "= Peter ="."""
        return "a heading" in self.about

    def _piece_at_index(self, index: int) -> str:
        return self.pieces[index] if 0 < index < len(self.pieces) else ""


def subjects(pieces: list[str]) -> Subjects:
    """Return other subjects of a text: ships ("she"), nature ("males and females"), males compared with females, ..."""
    words, about = set(pieces), set()
    if len(SHIPS & words) > 1 and not WOMEN & words:
        about.add("ships")
    if len(NATURE & words) > 1:
        about.add("nature")
    if "versus" in words and {"males", "females"} <= {word.lower() for word in words}:
        about.add("both sexes")
    if "ISBN" in words:
        about.add("books")
    if AMERICAN_INDIANS & words:
        about.add("American Indians")
    if pieces[0].lstrip().startswith("="):
        about.add("a heading")
    return Subjects(about)


def _opens(pieces: list[str], at: int) -> bool:
    if at == 1:
        return True
    gap = pieces[at - 1]
    if not OPENING.search(gap):
        return False
    if gap.strip() == "." and "\n" not in gap:
        word = pieces[at - 2]
        return word.lower() not in ABBREVIATED and not (len(word) == 1 and word.isupper() and word != "I")
    return True
