"""Find attributes in texts, for the two losses on their states: exactly, or as the published code finds them.

A mark is (first token, number of tokens). The state of an attribute is the mean over its tokens, or zero without
tokens. A negative number of tokens marks a match that counts only if its text is among the longest of its batch (see
`marked_pieces`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.mitigations.training.examples import Batch, Examples, Ints
from evenhand.mitigations.training.material import Encoding, Material
from evenhand.mitigations.training.terms import (
    EncodedTexts,
    TermPairs,
    encode_with_places,
    occurrences,
    published_attributes,
    published_pairs,
    strip_pairs,
)
from evenhand.schema import DataError

if TYPE_CHECKING:
    from torch import Tensor

MARK = "attributes"
PADDING = 0
"""The published code pads its lists of pieces with id 0, which is GPT-2's token "!"."""
QUIRKS = {
    "single-pieces": "The targets are GPT-2's byte-pair pieces as published, one for each target, instead of "
    "words. The attributes are the published lists of pieces.",
    "members-in-any-order": "A match begins at any token that is one of an attribute's pieces. It succeeds if the "
    "following tokens are also among these pieces, in any order.",
    "cut-at-the-end": "With members-in-any-order: an attribute of several pieces may be cut off by the end of a "
    "text. In the longest texts of a batch, the pieces that are there then count as a match. Shorter texts are "
    "followed by padding, and the match fails.",
    "exclamation-matches": "With members-in-any-order: the lists of pieces are padded with id 0, which is the "
    "token '!'. This token therefore matches almost every attribute.",
}
"""Differences of the published code of ADD and HD from the paper, by name. Source: methods, section 3.2."""


def attribute_examples(
    material: Material, tokenizer: Any, encoding: Encoding, quirks: frozenset[str]
) -> tuple[Examples, TermPairs, dict[str, Any]]:
    """Return the texts with their attributes marked, the pairs of target terms, and facts for the record.

    Raises DataError if no text contains an attribute, and the errors of `published_pairs`.
    """
    encoded = encode_with_places(tokenizer, material.texts, encoding)
    if "single-pieces" in quirks:
        pairs = published_pairs(tokenizer, material, "projection_targets")
        pieces = published_attributes(tokenizer, material)
    else:
        pairs = TermPairs.from_words(tokenizer, strip_pairs(material.pairs))
        words = [f" {attribute.replace('*', '').strip()}" for attribute in material.attributes]
        pieces = [tuple(tokenizer(word, add_special_tokens=False)["input_ids"]) for word in words]
    if quirks & set(QUIRKS):
        marks = marked_pieces(encoded.examples.ids, pieces, quirks)
    else:
        marks = marked_words(encoded, material.attributes)
    whole = sum(int((found[:, 1] > 0).sum()) for found in marks)
    if not whole:
        raise DataError(
            f"None of the {len(material.texts):,} texts contains an attribute of {material.bias}.",
            f"Attributes looked for: {', '.join(material.attributes[:12]) or 'none'}. Give texts that contain "
            "them, or --method cda.",
        )
    facts = {"pairs": len(pairs), "texts": len(marks), "texts_with_attributes": sum(map(bool, map(len, marks))),
             "occurrences": whole}  # fmt: skip
    return encoded.examples.with_marks(**{MARK: marks}), pairs, facts


def marked_words(encoded: EncodedTexts, attributes: Sequence[str]) -> list[Ints]:
    """Mark every occurrence of an attribute as whole words, ignoring case."""
    rows: list[list[tuple[int, int]]] = [[] for _ in encoded.texts]
    for one in occurrences(encoded, attributes, any_case=True):
        rows[one.text].append((one.start, one.end - one.start))
    return [_array(row) for row in rows]


def marked_pieces(
    ids: Sequence[Ints], attributes: Sequence[tuple[int, ...]], quirks: frozenset[str]
) -> list[Ints]:
    """Mark attributes by their tokens, in the order of the published loops: by position, then by attribute.

    Parameters
    ----------
    ids : sequence of arrays
        Tokens of each text.
    attributes : sequence of tuples
        Tokens of each attribute.
    quirks : frozenset of str
        Names in `QUIRKS` that are enabled. Without "members-in-any-order", an attribute matches if its tokens follow
        each other in order. With it, a match that starts and fails is marked with 0 tokens, because HD counts it.

    Notes
    -----
    The released loops take the slice `row[place : place + pieces]` of a padded batch. After the end of a shorter text,
    the slice contains padding, so the match fails. After the end of the longest texts of the batch, the slice is
    shorter, and it matches if the remaining tokens match ("cut-at-the-end"). Which texts are longest is known only for
    a batch. Such a match is therefore marked with minus the number of remaining tokens, and `attribute_tokens` resolves
    it.
    """
    longest = max(map(len, attributes), default=0)
    padding = PADDING if "exclamation-matches" in quirks else -1
    lists = [frozenset((*pieces, *([padding] * (longest - len(pieces))))) for pieces in attributes]
    marks = []
    for tokens in map(np.ndarray.tolist, ids):
        found = []
        for place, token in enumerate(tokens):
            for pieces, members in zip(attributes, lists, strict=True):
                here = tuple(tokens[place : place + len(pieces)])
                if "members-in-any-order" not in quirks:
                    if here == pieces:
                        found.append((place, len(pieces)))
                elif token in members:
                    matches = members.issuperset(here)
                    if len(here) < len(pieces):
                        matches = matches and "cut-at-the-end" in quirks
                        found.append((place, -len(here) if matches else 0))
                    else:
                        found.append((place, len(pieces) if matches else 0))
        marks.append(_array(found))
    return marks


def attribute_tokens(batch: Batch) -> "Tensor":
    """Return the number of tokens of each mark in this batch, (marks,): 0 where a match fails."""
    row, _, count = batch.marks[MARK].unbind(1)
    is_longest = batch.attention_mask.sum(1) == batch.input_ids.shape[1]
    return count.abs() * ((count > 0) | is_longest[row])


def attribute_states(hidden: "Tensor", batch: Batch) -> "Tensor":
    """Return the states of all marked attributes, (marks, size): means over their tokens, or zero without tokens."""
    import torch
    from torch.nn.functional import embedding_bag

    row, first, _ = batch.marks[MARK].unbind(1)
    count = attribute_tokens(batch)
    behind = count.cumsum(0)
    starts = behind - count
    ahead = torch.arange(int(count.sum()), device=count.device) - starts.repeat_interleave(count)
    tokens = (row * hidden.shape[1] + first).repeat_interleave(count) + ahead
    return embedding_bag(tokens, hidden.flatten(0, 1), starts, mode="mean")


def _array(rows: list[tuple[int, int]]) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(-1, 2)
