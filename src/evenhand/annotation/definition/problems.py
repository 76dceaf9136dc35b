"""A problem in a study file, and its place."""

from typing import NamedTuple

Path = tuple[str | int, ...]
"""A path within a study: ("questions", 0, "options")."""


class Problem(NamedTuple):
    """One problem and its place."""

    path: Path
    message: str

    def __str__(self) -> str:
        return f"{format_path(self.path)}: {self.message}"


def format_path(path: Path) -> str:
    """Return a path as text.

    >>> format_path(("questions", 0, "options"))
    'questions[0].options'
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
