"""A term from a list, before it becomes a row of the table."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Candidate:
    """A term of a list, with further spellings that count as it."""

    kind: str
    axis: str
    group: str
    """Group; empty if there is none."""
    name: str
    source: str
    plurals: tuple[str, ...] = ()
    ambiguous: bool = False
