"""A term as a list gives it, before it becomes a row of the table."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Candidate:
    """A term of a list, with the spellings that count as it besides its name."""

    kind: str
    axis: str
    group: str
    """Empty where there is none."""
    name: str
    source: str
    plurals: tuple[str, ...] = ()
    ambiguous: bool = False
