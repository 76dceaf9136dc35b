"""What is read of documents, and which of them."""

from dataclasses import dataclass
from typing import Literal

from evenhand.schema import UsageError

Documents = Literal["auto", "line", "paragraph", "file"]


@dataclass(frozen=True)
class ReadingOptions:
    """How pieces are read. Raises UsageError for a share, a column or a size that cannot be.

    >>> ReadingOptions(sample=0.001).sample
    0.001
    """

    column: str = "text"
    """Column, or key of JSON, that holds the text; dots lead into records ("meta.body")."""
    sample: float = 1.0
    """Share of the documents that are read, each drawn by a hash of `seed`, its file's name and its place."""
    seed: int = 0
    duplicates: Literal["keep", "drop"] = "keep"
    """Whether documents that repeat an earlier text of their corpus, to the letter, are left out. Where they are,
    documents are drawn by a hash of their text: all copies of one or none, or a sample would favour what is repeated.
    """
    batch_bytes: int = 4_000_000
    """About how much text a batch holds."""

    def __post_init__(self) -> None:
        if not 0 < self.sample <= 1:
            raise UsageError(
                f"The share of a sample cannot be {self.sample:g}.",
                "Give a share above 0 and at most 1, or for example 0.1%.",
            )
        if not self.column:
            raise UsageError(
                "The name of the column is empty.", "Give the column that contains the text: --column text"
            )
        if self.batch_bytes < 1:
            raise UsageError(f"A batch cannot have {self.batch_bytes} bytes.", "Give at least 1.")
