"""The changes that turn a text into a counterfactual, and how to reverse them."""

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.schema import DataError


@dataclass(frozen=True, slots=True)
class Change:
    """One replaced part of a text. Positions are numbers of characters."""

    start: int
    """Position at which `before` begins in the original."""
    end: int
    new_start: int
    """Position at which `after` begins in the counterfactual."""
    new_end: int
    before: str
    after: str
    rule: str
    """The kind of word: pronoun, kinship, person, occupation, royal, name, adjective, noun, article, ..."""
    two_way: bool
    """True if the same rules restore the original. If not ("Mrs", "Mr", "Ms"), only `before` records it."""

    def __str__(self) -> str:
        return f"{self.start}-{self.end} {self.before} > {self.after} ({self.rule})"


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """A text about another group, with a list of what was changed.

    >>> made = Counterfactual("her hat", "his hat", (Change(0, 3, 0, 3, "her", "his", "pronoun", True),))
    >>> made.undone(), bool(made.changes)
    ('her hat', True)
    """

    original: str
    text: str
    changes: tuple[Change, ...]

    def undone(self) -> str:
        """Return the original text, restored from the counterfactual and its changes (see `undo`)."""
        return undo(self.text, self.changes)


def undo(text: str, changes: Sequence[Change]) -> str:
    """Restore the original of a counterfactual.

    `text` is the counterfactual, and `changes` are all of its changes, in any order. Raises a DataError if the text was
    edited, so that it does not contain a change at its position.

    >>> undo("his hat", [Change(0, 3, 0, 3, "her", "his", "pronoun", True)])
    'her hat'
    """
    pieces, done = [], 0
    for change in sorted(changes, key=lambda change: change.new_start):
        found = text[change.new_start : change.new_end]
        if found != change.after or change.new_start < done:
            raise DataError(
                f"Expected {change.after!r} at character {change.new_start}, found {found!r}.",
                "Undo changes only on the unmodified counterfactual text.",
            )
        pieces += [text[done : change.new_start], change.before]
        done = change.new_end
    return "".join([*pieces, text[done:]])
