"""A study made of a run's answers, of two runs', or of a file, by a template."""

from collections.abc import Sequence
from pathlib import Path

from evenhand.annotation.definition import Study


def build_study(
    sources: Sequence[Path | str],
    template: str,
    *,
    benchmark: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    name: str | None = None,
) -> Study:
    """A whole study of what models wrote.

    sources: folders of runs (for `acute` two of them), a CSV or JSON Lines file of texts, ParlAI's pairings. limit:
    items, drawn evenly over groups. Raises UsageError, DataError.
    """
    raise NotImplementedError
