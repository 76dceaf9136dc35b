"""Search texts for target and attribute terms. Double quotes enclose a phrase, and * matches any letters."""

import re
from collections.abc import Iterable, Sequence

PART = re.compile(r'"([^"]*)"|(\S+)')
WORD = re.compile(r"[\w*]+")


def term_patterns(term: str) -> list[re.Pattern[str]]:
    """Return the patterns of a term. A text contains the term if every pattern matches somewhere in it.

    term: single words and phrases in double quotes, separated by spaces. The words of a phrase must follow one another;
    those of a word with hyphens, such as "hook-nose", too. * matches any number of letters and digits, including none.
    Upper and lower case are equal.

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
    """Return a regular expression for a word with stars.

    It does not backtrack, so a word with many stars takes no more time than a word with one.
    """
    first, *others = (re.escape(part) for part in re.split(r"\*+", word))
    if not others:
        return first
    between = "".join(rf"(?>\w*?{part})" for part in others[:-1])
    return first + between + (rf"\w*{others[-1]}(?!\w)" if others[-1] else r"\w*+")


class Terms:
    """A list of search terms, to find the first one that a text contains.

    terms: terms in the format of `term_patterns`. A term without letters and digits matches no text.

    >>> Terms(["greed*", '"red hair"']).first("With red, hair and greedy")
    'greed*'
    """

    def __init__(self, terms: Sequence[str]):
        self._patterns = [(term, found) for term in terms if (found := term_patterns(term))]
        beginnings = [patterns[0].pattern for _, patterns in self._patterns]
        self._any = re.compile("|".join(beginnings) or r"(?!)", re.IGNORECASE)
        self.stems = _stems(terms)
        """Lower-case strings (bytes); every text with a term contains at least one. Empty if there are none."""

    def first(self, text: str) -> str | None:
        """Return the first term of the list that the text contains, or None."""
        if not self._any.search(text):
            return None
        for term, patterns in self._patterns:
            if all(pattern.search(text) for pattern in patterns):
                return term
        return None


def _stems(terms: Iterable[str]) -> tuple[bytes, ...]:
    """Return the longest run of letters of each term, in lower case, without runs that contain another run.

    The result is empty if a run is not ASCII.
    """
    stems = set()
    for term in terms:
        runs = [run.lower() for run in re.findall(r"[^\W*]+", term)]
        if runs:
            stems.add(max(runs, key=len))
    if not all(stem.isascii() for stem in stems):  # JSON may write other letters as escapes
        return ()
    return tuple(sorted(stem.encode() for stem in stems if not any(o != stem and o in stem for o in stems)))
