"""What is wrong in a study, and where."""

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
