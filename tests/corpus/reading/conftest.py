"""What tests of reading share: documents of known texts, and all that is read of a source."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evenhand.corpus.reading import ReadingOptions, pieces, read_batches


def read_all(source: Path | str, *, options: ReadingOptions | None = None, **how: Any) -> SimpleNamespace:
    """Everything that is read of a source, all of its pieces together."""
    options = options or ReadingOptions(column=how.get("column", "text"))
    found = pieces([str(source)], **how)
    batches = [batch for piece in found for batch in read_batches(piece, options)]
    skipped: Counter[str] = Counter()
    for batch in batches:
        skipped.update({str(reason): number for reason, number in batch.skipped.items()})
    return SimpleNamespace(
        pieces=found,
        batches=batches,
        texts=[text for batch in batches for text in batch.texts],
        places=[place for batch in batches for place in batch.places],
        folds=[fold for batch in batches for fold in batch.folds],
        skipped=dict(skipped),
        damage=[batch.damage for batch in batches if batch.damage],
        bytes_read=sum(batch.bytes_read for batch in batches),
        sha256=[batch.sha256 for batch in batches if batch.last],
    )


@pytest.fixture(scope="session")
def read() -> Callable[..., SimpleNamespace]:
    """`read_all`: all texts, places, folds and skipped documents of a source."""
    return read_all


@pytest.fixture(scope="session")
def documents() -> list[str]:
    """300 texts of many lengths, in several scripts, all different."""
    words = ["she", "naïve", "Straße", "女性", "людей", "🙂", "a woman", "they're", "\u2028apart", "x" * 50]
    return [" ".join(words[(n * k) % 10] for k in range(1, 2 + n % 40)) + f" {n}" for n in range(300)]
