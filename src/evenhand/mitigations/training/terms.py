"""Find terms in texts and in the output layer: their tokens in each text, and their output vectors."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.mitigations.training.examples import Examples, Ints, encode_texts
from evenhand.mitigations.training.material import Encoding, Material, Pair
from evenhand.prompts.lexicon import pluralise
from evenhand.prompts.redditbias import Piece
from evenhand.schema import DataError
from evenhand.weights import quiet_transformers

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class EncodedTexts:
    """Texts with their tokens, and the characters that each token covers.

    `examples` are the tokens after `lead` start tokens, cut at the maximum length. `offsets` has for each
    text (tokens, 2): the first character of each token, and the character after its last one. Tokens that
    were added around the text are not included.
    """

    texts: Sequence[str]
    examples: Examples
    offsets: Sequence[Ints]
    lead: int


@dataclass(frozen=True)
class Occurrence:
    """A term in a text: tokens `start` to before `end` of the example, including start tokens."""

    text: int
    start: int
    end: int
    term: str
    """The spelling in the text."""


def encode_with_places(tokenizer: Any, texts: Sequence[str], encoding: Encoding) -> EncodedTexts:
    """Encode texts as `encode_texts` does, with the characters that tokens cover. Raises DataError."""
    longest, start = encoding.longest, encoding.start
    examples = encode_texts(tokenizer, texts, longest=longest, start=start, end=encoding.end)
    with quiet_transformers():
        found = tokenizer(list(texts), add_special_tokens=False, return_offsets_mapping=True)[
            "offset_mapping"
        ]
    offsets = [np.array(one, dtype=np.int64).reshape(-1, 2)[: longest - len(start)] for one in found]
    return EncodedTexts(list(texts), examples, offsets, len(start))


def occurrences(encoded: EncodedTexts, terms: Sequence[str], *, any_case: bool = False) -> list[Occurrence]:
    """Find terms in texts as whole words, in order.

    If terms overlap, the one that begins first is found, and of those the longest. `terms` are words or
    phrases; * represents any letters. With `any_case`, capitals do not matter. A term that the end of an
    example cuts off is not found.

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


def strip_pairs(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Return the listed pairs (P) without the spaces around them, each once."""
    return tuple(dict.fromkeys((first.strip(), second.strip()) for first, second in pairs))


def pairs_of_terms(pairs: Sequence[Pair], *, capitals: bool = False) -> dict[str, list[Pair]]:
    """Return the pairs that contain each term (P_t), in the same number and case.

    Terms are the listed ones and their plurals. A plural that is listed itself keeps its pairs. Any other
    plural gets only the first pair of its singular, on either side. Further pairs are often adjectives
    (Muslim, Islamic), which have no plural. With `capitals`, pairs in lower case are also added with
    capitals.

    >>> pairs_of_terms([("muslim ", "christian "), ("islamic", "christian")])["christians"]
    [('muslims', 'christians')]
    >>> pairs_of_terms([("jew", "christian")], capitals=True)["Jews"]
    [('Jews', 'Christians')]
    """
    found: dict[str, list[Pair]] = {}
    listed = strip_pairs(pairs)
    for pair in listed:
        for term in dict.fromkeys(pair):
            found.setdefault(term, []).append(pair)
    known = {(term, side) for term in found for side in (0, 1)}
    for first, second in listed:
        plural = (pluralise(first), pluralise(second))
        for side, term in enumerate(plural):
            if (term, side) not in known:
                known.add((term, side))
                found.setdefault(term, []).append(plural)
    for pair in dict.fromkeys(pair for mine in list(found.values()) for pair in mine) if capitals else ():
        if pair[0][:1].islower() and pair[1][:1].islower():
            large = (capital(pair[0]), capital(pair[1]))
            for term, other in zip(large, pair, strict=True):
                if pair in found[other] and large not in (mine := found.setdefault(term, [])):
                    mine.append(large)
    return found


@dataclass(frozen=True)
class TermPairs:
    """Pairs (t1, t2) of terms with their tokens; a term of several tokens has the mean of their vectors.

    `names` are the pairs as words, and `ids` their tokens as within a sentence.
    """

    names: tuple[Pair, ...]
    ids: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]

    @classmethod
    def from_words(cls, tokenizer: Any, pairs: Sequence[Pair]) -> "TermPairs":
        """Return pairs of words, tokenised as after a space. Raises DataError if there are none."""
        if not pairs:
            raise DataError(
                "The specification of the bias contains no pairs of terms.",
                "Add pairs to its table [counterparts], under target_pairs.",
            )

        def tokens(term: str) -> tuple[int, ...]:
            return tuple(tokenizer(f" {term}", add_special_tokens=False)["input_ids"])

        return cls(tuple(pairs), tuple((tokens(first), tokens(second)) for first, second in pairs))

    def __len__(self) -> int:
        return len(self.ids)

    def vectors(self, weight: "Tensor") -> "tuple[Tensor, Tensor]":
        """Return the output vectors of t1 and of t2, each of shape (pairs, size).

        `weight` are the output embeddings, (vocabulary, size). Source: RedditBias, footnote 12.
        """
        first, second = self._sums(weight, both=False).chunk(2)
        return first, second

    def differences(self, weight: "Tensor", bias: "Tensor | None" = None) -> "Tensor":
        """Return the output vectors of t1 minus those of t2, (pairs, size).

        With `bias`, the last column is the difference of the biases.
        """
        import torch

        found = self._sums(weight, both=True)
        if bias is None:
            return found
        return torch.cat([found, self._sums(bias[:, None], both=True)], dim=1)

    def _sums(self, weight: "Tensor", *, both: bool) -> "Tensor":
        """Return t1 minus t2 of each pair (`both`), or the means of each t1 and then of each t2.

        The rows are selected once, because the gradient of each selection is as large as the whole matrix.
        """
        from torch.nn.functional import embedding_bag

        tokens, starts, shares = self._pieces[both]
        device = weight.device
        return embedding_bag(
            tokens.to(device),
            weight,
            starts.to(device),
            mode="sum",
            per_sample_weights=shares.to(device, weight.dtype),
        )

    @cached_property
    def _pieces(self) -> "tuple[tuple[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]":
        """Return the tokens, the start of each sum of tokens, and the weight of each token, by term and by pair."""
        import torch

        def flatten(sums: "list[list[tuple[tuple[int, ...], float]]]") -> "tuple[Tensor, Tensor, Tensor]":
            rows = [[(token, sign / len(ids)) for ids, sign in one for token in ids] for one in sums]
            tokens, shares = zip(*(piece for row in rows for piece in row), strict=True)
            starts = np.cumsum([0, *map(len, rows[:-1])])
            return torch.tensor(tokens), torch.as_tensor(starts), torch.tensor(shares, dtype=torch.float64)

        terms = [[(pair[side], 1.0)] for side in (0, 1) for pair in self.ids]
        return flatten(terms), flatten([[(first, 1.0), (second, -1.0)] for first, second in self.ids])


def published_pairs(tokenizer: Any, material: Material, which: str) -> TermPairs:
    """Return the published pairs of single tokens, by their ids in GPT-2's vocabulary.

    `which` is "lmd_targets" or "projection_targets". Raises DataError if the bias type has none, or if the
    tokenizer has other tokens with these ids.
    """
    pairs = getattr(material.pieces, which, ())
    if not pairs:
        raise _no_pieces(material)
    for piece in (one for pair in pairs for one in pair):
        check_piece(tokenizer, piece)
    names = tuple((first.text, second.text) for first, second in pairs)
    return TermPairs(names, tuple(((first.id,), (second.id,)) for first, second in pairs))


def published_attributes(tokenizer: Any, material: Material) -> list[tuple[int, ...]]:
    """Return the published tokens of attributes by their ids. Raises DataError.

    Misprinted ids are kept; they match nothing.
    """
    if not (attributes := getattr(material.pieces, "attributes", ())):
        raise _no_pieces(material)
    for piece in (one for pieces in attributes for one in pieces):
        check_piece(tokenizer, piece)
    return [tuple(piece.id for piece in pieces) for pieces in attributes]


def check_piece(tokenizer: Any, piece: Piece) -> None:
    """Raise DataError if the tokenizer has another token with a published id.

    An id beyond the vocabulary is a misprint.
    """
    if piece.text and tokenizer.decode([piece.id]) != piece.text:
        raise DataError(
            f"Token {piece.id} of this model is {tokenizer.decode([piece.id])!r}, but the published code expects "
            f"{piece.text!r} from the vocabulary of GPT-2.",
            "Use a model with that vocabulary (GPT-2, DialoGPT), or remove the quirk single-pieces.",
        )


def _no_pieces(material: Material) -> DataError:
    return DataError(
        "The quirk single-pieces needs the published lists of byte-pair pieces, which do not exist for the bias "
        f"{material.bias!r}.",
        "Remove the quirk single-pieces, and the option as_published, which includes it. Or use one of the five "
        "published bias types: religion1, religion2, race, gender, orientation.",
    )


def _pattern(term: str) -> str:
    return re.escape(term.strip()).replace(r"\*", r"\w*")


def capital(term: str) -> str:
    """Return a term with a capital first letter."""
    return term[:1].upper() + term[1:]
