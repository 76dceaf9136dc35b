"""Options for reading documents and selecting them."""

from dataclasses import dataclass
from typing import Literal

from evenhand.schema import UsageError

Documents = Literal["auto", "line", "paragraph", "file"]


@dataclass(frozen=True)
class ReadingOptions:
    """How the documents of a corpus are read.

    Raises
    ------
    UsageError
        `sample`, `column` or `batch_bytes` is out of range.

    Examples
    --------
    >>> ReadingOptions(sample=0.001).sample
    0.001
    """

    column: str = "text"
    """Column, or key of JSON, with the text. Dots separate the keys of nested records ("meta.body")."""
    sample: float = 1.0
    """Share of the documents that are read. A hash of the seed, the file's name and the place selects each document."""
    seed: int = 0
    duplicates: Literal["keep", "drop"] = "keep"
    """What to do with documents whose text is identical to an earlier one of their corpus. With "drop", a sample is
    drawn by a hash of the text. Otherwise repeated texts would be more likely to be in the sample."""
    batch_bytes: int = 4_000_000
    """Approximate number of bytes of text in a batch."""

    def __post_init__(self) -> None:
        if not 0 < self.sample <= 1:
            raise UsageError(
                f"`--sample` must be above 0 and at most 1 (or a percentage such as 0.1%), got {self.sample:g}."
            )
        if not self.column:
            raise UsageError(
                "`--column` must not be empty.", "Give the column that contains the text: --column text"
            )
        if self.batch_bytes < 1:
            raise UsageError(f"batch_bytes must be at least 1, got {self.batch_bytes}.")
