"""What was changed in a text, and how it becomes again what it was."""

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.schema import DataError


@dataclass(frozen=True, slots=True)
class Change:
    """One replaced stretch of a text; places count characters."""

    start: int
    """Where `before` begins in the original."""
    end: int
    new_start: int
    """Where `after` begins in the counterfactual."""
    new_end: int
    before: str
    after: str
    rule: str
    """The kind of word: pronoun, kinship, person, occupation, royal, name, adjective, noun, article, ..."""
    two_way: bool
    """Whether the same rules restore the original. If they do not ("Mrs", "Mr", "Ms"), `before` is the only record."""

    def __str__(self) -> str:
        return f"{self.start}-{self.end} {self.before} > {self.after} ({self.rule})"


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """A text about another group, with what was changed in it.

    >>> made = Counterfactual("her hat", "his hat", (Change(0, 3, 0, 3, "her", "his", "pronoun", True),))
    >>> made.undone(), bool(made.changes)
    ('her hat', True)
    """

    original: str
    text: str
    changes: tuple[Change, ...]

    def undone(self) -> str:
        """The original, made again of the counterfactual and its changes alone (see `undo`)."""
        return undo(self.text, self.changes)


def undo(text: str, changes: Sequence[Change]) -> str:
    """The original of a counterfactual.

    text: the counterfactual. changes: all that was changed in it, in any order. Raises DataError where the text does
    not hold at its place what a change put there, because it was edited since.

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
