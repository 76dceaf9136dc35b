"""A backend for BlenderBot 90M's tokenizer, which has no fast version: tokens with their positions in the text."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

LINE = "__newln__"
JOINED = "@@"
"""Suffix of a piece that the next piece continues."""


@dataclass(frozen=True)
class PieceEncoding:
    """Tokens of one text, as `tokenizers.Encoding` names them."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    special_tokens_mask: list[int] = field(default_factory=list)


class PieceBackend:
    """Implements the interface of a fast tokenizer's backend with the tokens of the slow tokenizer.

    tokenizer: a `BlenderbotSmallTokenizer`. It adds no special tokens, and here it neither truncates nor pads.
    """

    def __init__(self, tokenizer: Any):
        self.tokenizer = tokenizer

    def no_truncation(self) -> None:
        """Do nothing, because texts are never truncated."""

    def no_padding(self) -> None:
        """Do nothing, because texts are never padded."""

    def encode(self, text: str, add_special_tokens: bool = True) -> PieceEncoding:
        """Return the tokens and the characters that they cover; a token that is not in the text covers none."""
        pieces = self.tokenizer.tokenize(text)
        ids = self.tokenizer.convert_tokens_to_ids(pieces)
        return PieceEncoding(ids, locate_pieces(pieces, text), [0] * len(ids))

    def encode_batch(self, texts: Sequence[str], add_special_tokens: bool = True) -> list[PieceEncoding]:
        """Return the tokens of each text."""
        return [self.encode(text) for text in texts]

    encode_batch_fast = encode_batch

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the pieces and their ids."""
        return dict(self.tokenizer.get_vocab() if with_added_tokens else self.tokenizer.encoder)

    def to_str(self) -> str:
        """Return everything that determines how a text is tokenised."""
        merges = [" ".join(pair) for pair in self.tokenizer.bpe_ranks]
        return json.dumps({"vocab": sorted(self.tokenizer.get_vocab().items()), "merges": merges})


def locate_pieces(pieces: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Return the half-open character ranges of pieces in their text, ignoring case.

    >>> locate_pieces(["hi", "mar@@", "tha", "__newln__", "!"], "Hi Martha\\n!")
    [(0, 2), (3, 6), (6, 9), (9, 10), (10, 11)]
    """
    places, at = [], 0
    for piece in pieces:
        while at < len(text) and text[at].isspace() and not (piece == LINE and text[at] == "\n"):
            at += 1
        first, left = at, piece.removesuffix(JOINED) or piece
        if piece == LINE and text[at : at + 1] == "\n":
            at += 1
        else:
            while left and at < len(text) and left.startswith(letter := text[at].lower()):
                left, at = left[len(letter) :], at + 1
        places.append((first, at))
    return places
