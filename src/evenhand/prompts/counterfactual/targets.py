"""Results of the rules, and the names that the rules know."""

from collections.abc import Callable
from dataclasses import dataclass

from evenhand.prompts.counterfactual.place import Occurrence


@dataclass(frozen=True)
class Target:
    """The replacement of a word. Adjectives may need a noun instead; see `group`."""

    word: str
    noun: str = ""
    nouns: str = ""
    """Singular and plural noun, if the word is an adjective."""

    @property
    def words(self) -> tuple[str, ...]:
        """Return all possible replacements: both counterparts of a pronoun, or an adjective and its nouns."""
        return tuple(word for word in (*self.word.split("/"), self.noun, self.nouns) if word)


Use = Callable[[Occurrence, Target], str | None]


@dataclass(frozen=True)
class KnownNames:
    """Names that the rules for capitals know: first names and words for groups, in lower case."""

    first: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    compounds: frozenset[tuple[str, ...]] = frozenset()
    """Groups of two words that are different from each word alone: African American, South Korean."""
    peers: frozenset[str] = frozenset()
    """Words for groups of the axis that is changed."""
    replaced: frozenset[str] = frozenset()
    """First names that are changed."""
