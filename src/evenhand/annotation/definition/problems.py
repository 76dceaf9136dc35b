"""What is wrong in a study, and where."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple

Path = tuple[str | int, ...]
"""Where in a study: ("questions", 0, "options")."""


class Problem(NamedTuple):
    """One thing that is wrong, and where."""

    path: Path
    message: str

    def __str__(self) -> str:
        return f"{dotted(self.path)}: {self.message}"


def dotted(path: Path) -> str:
    """A path as people write it.

    >>> dotted(("questions", 0, "options"))
    'questions[0].options'
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ "; did you mean 'x'?" where a known word is near, else nothing."""
    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
