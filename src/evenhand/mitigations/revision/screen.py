"""Reject rewordings of an instruction that are too long, already tried, or name a compared group."""

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

EMPTY, TOO_LONG, SAID_BEFORE = "empty", "too long", "said before"
NAMES_A_GROUP, IS_A_PROMPT = "names a group", "is a prompt of the benchmark"
_ANY = """
a about above all also an and any anybody anyone are as at be below by do everybody everyone for from has have her
hers him his if in into is it its life lives living no not of off on one only or other others our out over own people
person persons she he so some somebody someone than that the their them they this those to too up we who whose with
without you your
"""
WORDS_OF_ANY_INSTRUCTION = frozenset(_ANY.split())
"""Words that occur in names of groups (such as "people with a limp") but do not identify a group."""
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def to_one_line(text: str) -> str:
    """Return an instruction on one line, without surrounding white space.

    >>> to_one_line("  Be kind\\n to all. ")
    'Be kind to all.'
    """
    return " ".join(text.split())


def normalise_wording(text: str) -> str:
    """Return a text without case, punctuation and character width, to recognise equal wordings.

    >>> normalise_wording("Be KIND — to all!") == normalise_wording("be kind to all.")
    True
    """
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'")))


@dataclass(frozen=True)
class Screen:
    """Rules that an instruction must satisfy to be tried.

    Attributes
    ----------
    most_words : int
        Maximum number of words.
    group_words : frozenset of str
        Words that an instruction must not contain, because they name groups (see `words_of_groups`).
    prompts : frozenset of str
        Normalised prompts of the benchmark, which an instruction must not equal.

    >>> screen = Screen(most_words=6, group_words=words_of_groups(["Muslim people"]))
    >>> screen.against("Speak well of Muslim people.", set()), screen.against("Speak well of people.", set())
    ('names a group', None)
    """

    most_words: int = 60
    group_words: frozenset[str] = frozenset()
    prompts: Collection[str] = field(default=frozenset(), repr=False)

    def against(self, text: str, seen: Collection[str]) -> str | None:
        """Return the reason why a text is not tried, or None. `seen` are the normalised texts that were tried
        before.
        """
        plain = normalise_wording(text)
        words = plain.split()
        if not words:
            return EMPTY
        if len(words) > self.most_words:
            return TOO_LONG
        if plain in seen:
            return SAID_BEFORE
        if plain in self.prompts:
            return IS_A_PROMPT
        # also match "blacks" for "black" and "women's" for "women"
        bare = {word.removesuffix("'s") for word in words}
        if self.group_words & (bare | {word.removesuffix("s") for word in bare}):
            return NAMES_A_GROUP
        return None


def words_of_groups(names: Iterable[str | None]) -> frozenset[str]:
    """Return the words with which a benchmark names its groups, without common words.

    `names` are groups, descriptors and nouns of the prompts. An instruction with such words would answer the test
    instead of changing the model.

    >>> sorted(words_of_groups(["Black person", "people with a limp", None]))
    ['black', 'limp']
    """
    words = {
        word for name in set(names) if name for word in normalise_wording(name.replace("_", " ")).split()
    }
    return frozenset(word for word in words - WORDS_OF_ANY_INSTRUCTION if len(word) > 2)
