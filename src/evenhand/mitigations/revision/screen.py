"""Which rewordings of an instruction are fit to be tried: short, new, and silent about the groups compared."""

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
"""Parts of groups' names (people with a limp, person without a degree) that say nothing of any group."""
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def tidied(text: str) -> str:
    """An instruction on one line, without white space around it.

    >>> tidied("  Be kind\\n to all. ")
    'Be kind to all.'
    """
    return " ".join(text.split())


def normalised(text: str) -> str:
    """What two wordings must share to be the same: words without case, punctuation and width.

    >>> normalised("Be KIND — to all!") == normalised("be kind to all.")
    True
    """
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'")))


@dataclass(frozen=True)
class Screen:
    """What an instruction may not be.

    most_words: longer ones are dropped; they take room from the context. group_words: see `words_of_groups`.
    prompts: normalised prompts of the benchmark.

    >>> screen = Screen(most_words=6, group_words=words_of_groups(["Muslim people"]))
    >>> screen.against("Speak well of Muslim people.", set()), screen.against("Speak well of people.", set())
    ('names a group', None)
    """

    most_words: int = 60
    group_words: frozenset[str] = frozenset()
    prompts: Collection[str] = field(default=frozenset(), repr=False)

    def against(self, text: str, seen: Collection[str]) -> str | None:
        """Why the text is not fit to be tried, or None; seen: normalised texts tried before."""
        plain = normalised(text)
        words = plain.split()
        if not words:
            return EMPTY
        if len(words) > self.most_words:
            return TOO_LONG
        if plain in seen:
            return SAID_BEFORE
        if plain in self.prompts:
            return IS_A_PROMPT
        # "blacks" for "black", "women's" for "women": the plain endings of English
        bare = {word.removesuffix("'s") for word in words}
        if self.group_words & (bare | {word.removesuffix("s") for word in bare}):
            return NAMES_A_GROUP
        return None


def words_of_groups(names: Iterable[str | None]) -> frozenset[str]:
    """The words by which a benchmark names its groups, without those that any instruction may need.

    names: groups, descriptors, nouns, as the prompts have them. An instruction that names groups would answer the
    test instead of changing the model.

    >>> sorted(words_of_groups(["Black person", "people with a limp", None]))
    ['black', 'limp']
    """
    words = {word for name in set(names) if name for word in normalised(name.replace("_", " ")).split()}
    return frozenset(word for word in words - WORDS_OF_ANY_INSTRUCTION if len(word) > 2)
