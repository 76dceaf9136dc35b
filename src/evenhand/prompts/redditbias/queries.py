"""T1 x A1 as one search through texts: double quotes hold a phrase together, * stands for any letters."""

import re
from collections.abc import Iterable, Sequence

PART = re.compile(r'"([^"]*)"|(\S+)')
WORD = re.compile(r"[\w*]+")


def term_patterns(term: str) -> list[re.Pattern[str]]:
    """What a text must hold, all of it, to hold a term; letters in any case.

    term: quoted phrases, whose words follow one another, and single words, which stand anywhere; a hyphen within a word
    counts as a space would within quotes. * stands for any letters and digits, also none.

    >>> [bool(p.search("The Hook-Noses")) for term in ("hook-nose", '"hook nose*"') for p in term_patterns(term)]
    [False, True]
    """
    patterns = []
    for quoted, word in PART.findall(term):
        parts = WORD.findall(quoted or word)
        if any(part.strip("*") for part in parts):
            phrase = r"\W++".join(map(_word_pattern, parts))
            patterns.append(re.compile(rf"(?<!\w){phrase}(?!\w)", re.IGNORECASE))
    return patterns


def _word_pattern(word: str) -> str:
    """A word with stars as a pattern that tries no letter twice for a star: many cost no more than one."""
    first, *others = (re.escape(part) for part in re.split(r"\*+", word))
    if not others:
        return first
    between = "".join(rf"(?>\w*?{part})" for part in others[:-1])
    return first + between + (rf"\w*{others[-1]}(?!\w)" if others[-1] else r"\w*+")


class Terms:
    """A list of terms, of which the first that a text holds is found.

    terms: as `term_patterns` takes them; one without any letter is found nowhere.

    >>> Terms(["greed*", '"red hair"']).first("With red, hair and greedy")
    'greed*'
    """

    def __init__(self, terms: Sequence[str]):
        self._patterns = [(term, found) for term in terms if (found := term_patterns(term))]
        beginnings = [patterns[0].pattern for _, patterns in self._patterns]
        self._any = re.compile("|".join(beginnings) or r"(?!)", re.IGNORECASE)
        self.stems = _stems(terms)
        """Small letters of which every text with a term holds some; none where that cannot be said."""

    def first(self, text: str) -> str | None:
        """The first term of the list that the text holds."""
        if not self._any.search(text):
            return None
        for term, patterns in self._patterns:
            if all(pattern.search(text) for pattern in patterns):
                return term
        return None


def _stems(terms: Iterable[str]) -> tuple[bytes, ...]:
    """For each term its longest run of letters, without those that contain another's."""
    stems = set()
    for term in terms:
        runs = [run.lower() for run in re.findall(r"[^\W*]+", term)]
        if runs:
            stems.add(max(runs, key=len))
    if not all(stem.isascii() for stem in stems):  # JSON may write other letters as escapes
        return ()
    return tuple(sorted(stem.encode() for stem in stems if not any(o != stem and o in stem for o in stems)))
