"""Chunks: some documents from a reader of one format, with the numbers of omitted ones."""

from collections import Counter
from dataclasses import dataclass, field

from evenhand.corpus.reading.documents import Reason


@dataclass
class Chunk:
    """Some documents in the order of the file."""

    texts: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    skipped: Counter[Reason] = field(default_factory=Counter)

    def add(self, text: str, place: int) -> None:
        """Add a document, or count it as empty."""
        if not text or text.isspace():
            self.skipped[Reason.EMPTY] += 1
        else:
            self.texts.append(text)
            self.places.append(place)

    def add_bytes(self, content: bytes, place: int) -> None:
        """Add a document of plain text, or count the reason why it is invalid."""
        if b"\0" in content:
            self.skipped[Reason.BINARY] += 1
            return
        try:
            text = content.decode()
        except UnicodeDecodeError:
            self.skipped[Reason.INVALID_UTF8] += 1
            return
        self.add(text, place)
