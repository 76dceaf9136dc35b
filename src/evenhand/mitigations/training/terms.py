"""Terms in texts and in the output layer: where they occur, token by token, and which vectors stand for them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.mitigations.training.examples import Examples, Ints, encode_texts
from evenhand.mitigations.training.material import Encoding, Material, Pair
from evenhand.prompts.redditbias import Piece
from evenhand.schema import DataError
from evenhand.weights import quiet_transformers

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Encoded:
    """Texts, their tokens, and the characters that each token covers.

    examples: tokens behind `lead` start tokens, cut at the longest. offsets: for each text (tokens, 2), the first
    character of a token of the text and that behind its last; tokens that were put around it are not in it.
    """

    texts: Sequence[str]
    examples: Examples
    offsets: Sequence[Ints]
    lead: int


@dataclass(frozen=True)
class Occurrence:
    """A term in a text: tokens `start` up to `end` of the example, start tokens counted."""

    text: int
    start: int
    end: int
    term: str
    """As it stands in the text."""


def encode_with_places(tokenizer: Any, texts: Sequence[str], encoding: Encoding) -> Encoded:
    """As `encode_texts`, with the characters that tokens cover. Raises DataError."""
    longest, start = encoding.longest, encoding.start
    examples = encode_texts(tokenizer, texts, longest=longest, start=start, end=encoding.end)
    with quiet_transformers():
        found = tokenizer(list(texts), add_special_tokens=False, return_offsets_mapping=True)[
            "offset_mapping"
        ]
    offsets = [np.array(one, dtype=np.int64).reshape(-1, 2)[: longest - len(start)] for one in found]
    return Encoded(list(texts), examples, offsets, len(start))


def occurrences(encoded: Encoded, terms: Sequence[str], *, any_case: bool = False) -> list[Occurrence]:
    """Where terms stand in texts as whole words, in order; of terms that overlap the one that begins first, and of
    those the longest.

    terms: words or phrases; * stands for any letters. any_case: whether capitals count for nothing. What the end of an
    example cut off is not found.

    >>> from evenhand.reference.embedded import WEIGHTS
    >>> from evenhand.weights import load_tokenizer
    >>> encoded = encode_with_places(load_tokenizer(WEIGHTS), ["I hate hateful men."], Encoding(9))
    >>> [(one.term, one.start) for one in occurrences(encoded, ["hate"])]
    [('hate', 1)]
    >>> [one.term for one in occurrences(encoded, ["hate*"])]
    ['hate', 'hateful']
    """
    if not terms:
        return []
    longest_first = sorted(set(terms), key=lambda term: (-len(term), term))
    pattern = re.compile(
        rf"(?<!\w)(?:{'|'.join(_pattern(term) for term in longest_first)})(?!\w)",
        re.IGNORECASE if any_case else 0,
    )
    found = []
    for number, (text, offsets) in enumerate(zip(encoded.texts, encoded.offsets, strict=True)):
        for match in pattern.finditer(text):
            covered = np.flatnonzero((offsets[:, 0] < match.end()) & (offsets[:, 1] > match.start()))
            if len(covered) and offsets[covered[-1], 1] >= match.end():
                first, last = encoded.lead + int(covered[0]), encoded.lead + int(covered[-1]) + 1
                found.append(Occurrence(number, first, last, match[0]))
    return found


def with_capitals(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Pairs of terms and, where both are written small, the same with capitals in front: each once.

    >>> with_capitals([("jew ", "christian ")])
    (('jew', 'christian'), ('Jew', 'Christian'))
    """
    tidy = [(first.strip(), second.strip()) for first, second in pairs]
    small = [(first, second) for first, second in tidy if first[:1].islower() and second[:1].islower()]
    return tuple(dict.fromkeys((*tidy, *((capital(first), capital(second)) for first, second in small))))


@dataclass(frozen=True)
class TermPairs:
    """Pairs (t1, t2) of terms with the tokens that stand for each: of several tokens the mean of their vectors.

    names: the pairs as words. ids: their tokens, as within a sentence.
    """

    names: tuple[Pair, ...]
    ids: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]

    @classmethod
    def of(cls, tokenizer: Any, pairs: Sequence[Pair]) -> "TermPairs":
        """Pairs of words, tokenised as behind a space. Raises DataError if there are none."""
        if not pairs:
            raise DataError(
                "There are no pairs of terms.", "Give a specification with counterparts.target_pairs."
            )

        def tokens(term: str) -> tuple[int, ...]:
            return tuple(tokenizer(f" {term}", add_special_tokens=False)["input_ids"])

        return cls(tuple(pairs), tuple((tokens(first), tokens(second)) for first, second in pairs))

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """All terms, each once."""
        return tuple(dict.fromkeys(term for pair in self.names for term in pair))

    def of_term(self, term: str) -> list[int]:
        """P_t: the numbers of the pairs that a term stands in."""
        return self._of_term.get(term, [])

    @cached_property
    def _of_term(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, pair in enumerate(self.names):
            for term in dict.fromkeys(pair):
                found.setdefault(term, []).append(number)
        return found

    def vectors(self, weight: "Tensor") -> "tuple[Tensor, Tensor]":
        """The output vectors of t1 and of t2, (pairs, size) each.

        weight: (vocabulary, size), of the output embeddings. Source: RedditBias, footnote 12.
        """
        # once, since the gradient of each choice of rows is as large as the whole matrix
        rows = weight[self._tokens.to(weight.device)]
        return self._means(rows, 0), self._means(rows, 1)

    def biases(self, bias: "Tensor | None") -> "Tensor | float":
        """Difference of the output biases of t1 and t2, (pairs,); 0 for a head without."""
        if bias is None:
            return 0.0
        rows = bias[self._tokens.to(bias.device)][:, None]
        return (self._means(rows, 0) - self._means(rows, 1))[:, 0]

    def _means(self, weight: "Tensor", side: int) -> "Tensor":
        from torch.nn.functional import embedding_bag

        return embedding_bag(
            self._places[side][0].to(weight.device), weight, self._places[side][1].to(weight.device)
        )

    @cached_property
    def _tokens(self) -> "Tensor":
        """The tokens of all terms, each once."""
        import torch

        return torch.tensor(sorted({token for pair in self.ids for ids in pair for token in ids}))

    @cached_property
    def _places(self) -> "tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]":
        """Of each side: where its tokens stand in `_tokens`, and where each term of it begins."""
        import torch

        known = {token: place for place, token in enumerate(self._tokens.tolist())}

        def of(side: int) -> "tuple[Tensor, Tensor]":
            sides = [pair[side] for pair in self.ids]
            starts = np.cumsum([0, *(len(ids) for ids in sides[:-1])])
            return torch.tensor([known[token] for ids in sides for token in ids]), torch.as_tensor(starts)

        return of(0), of(1)


def published_pairs(tokenizer: Any, material: Material, which: str) -> TermPairs:
    """The published pairs of single pieces, by their ids in GPT-2's vocabulary.

    which: "lmd_targets" or "projection_targets". Raises DataError where the bias type has none, or the tokenizer's
    pieces of these ids are others.
    """
    pairs = getattr(material.pieces, which, ())
    if not pairs:
        raise _no_pieces(material)
    for piece in (one for pair in pairs for one in pair):
        check_piece(tokenizer, piece)
    names = tuple((first.text, second.text) for first, second in pairs)
    return TermPairs(names, tuple(((first.id,), (second.id,)) for first, second in pairs))


def published_attributes(tokenizer: Any, material: Material) -> list[tuple[int, ...]]:
    """The published pieces of attributes, by their ids; misprinted ids stay, and match nothing. Raises DataError."""
    if not (attributes := getattr(material.pieces, "attributes", ())):
        raise _no_pieces(material)
    for piece in (one for pieces in attributes for one in pieces):
        check_piece(tokenizer, piece)
    return [tuple(piece.id for piece in pieces) for pieces in attributes]


def check_piece(tokenizer: Any, piece: Piece) -> None:
    """Raise DataError if a tokenizer's piece of a published id is another; one beyond the vocabulary is a misprint."""
    if piece.text and tokenizer.decode([piece.id]) != piece.text:
        raise DataError(
            f"Token {piece.id} of this model is {tokenizer.decode([piece.id])!r}; the published code means "
            f"{piece.text!r}: its pieces are those of GPT-2's vocabulary.",
            "Use a model with that vocabulary (GPT-2, DialoGPT), or leave out the quirk single-pieces.",
        )


def _no_pieces(material: Material) -> DataError:
    return DataError(
        f"No pieces were published for the bias {material.bias!r}.",
        "Leave out the quirk single-pieces (as_published has it, too), or name one of the five published types.",
    )


def _pattern(term: str) -> str:
    return re.escape(term.strip()).replace(r"\*", r"\w*")


def capital(term: str) -> str:
    """A term with a capital in front."""
    return term[:1].upper() + term[1:]
