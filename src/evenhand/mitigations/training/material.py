"""What a bias is, as a method of training needs it: who is compared, by which words, and texts in which it shows."""

import hashlib
import json
from dataclasses import dataclass

from evenhand.prompts.redditbias import Pieces, Specification

Pair = tuple[str, str]


@dataclass(frozen=True)
class Encoding:
    """How texts become tokens: cut at `longest`, behind the tokens of `start` and in front of those of `end`."""

    longest: int = 36
    """Published: 36 tokens."""
    start: tuple[int, ...] = ()
    """Published: none."""
    end: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Material:
    """A bias and the texts to train on.

    bias: its name. groups: what the two sides of a pair are called. pairs: P, pairs of terms that should be treated
    alike; a term may stand in several. attributes: A1, stereotypes; * stands for any letters. texts: to train on.
    pieces: the byte-pair pieces of the published code, where it has any. specification: the published rules of
    replacement, where there are any. source: where the texts are from, in words; it decides nothing.
    """

    bias: str
    groups: Pair
    pairs: tuple[Pair, ...]
    attributes: tuple[str, ...]
    texts: tuple[str, ...]
    pieces: Pieces | None = None
    specification: Specification | None = None
    source: str = ""


def material_hash(material: Material) -> str:
    """SHA-256 (hex) of the texts and terms of a material.

    >>> one = Material(bias="a", groups=("x", "y"), pairs=(("x", "y"),), attributes=(), texts=("An x.",))
    >>> material_hash(one)[:8] == material_hash(one)[:8]
    True
    """
    content = [material.texts, material.pairs, material.attributes]
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()
