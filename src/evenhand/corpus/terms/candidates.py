"""Terms as lists give them, before they become rows of a table."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Candidate:
    """A term of a list, with the spellings that count as it."""

    kind: str
    axis: str
    group: str
    """Empty where there is none."""
    name: str
    source: str
    inflections: tuple[str, ...] = ()
    """Spellings that the list does not write: plurals."""
