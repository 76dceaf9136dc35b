"""What a bias is, as a method of training needs it: who is compared, by which words, and texts in which it shows."""

import hashlib
import json
from dataclasses import astuple, dataclass
from typing import Any

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


@dataclass(frozen=True)
class Preference:
    """Two ways to go on behind a prompt, of which one is to become likelier than the other.

    prompt: "" where both are whole texts. frame: what the two are besides the group they are about, so that the same
    can be compared over groups; "" where that is left open. group: whom they are about.
    """

    prompt: str
    chosen: str
    rejected: str
    frame: str = ""
    group: str = ""


@dataclass(frozen=True, kw_only=True)
class Material:
    """A bias and the texts to train on.

    bias: its name. groups: what the two sides of a pair are called. pairs: P, pairs of terms that should be treated
    alike; a term may stand in several. attributes: A1, stereotypes; * stands for any letters. texts: to train on.
    pieces: the byte-pair pieces of the published code, where it has any. specification: the published rules of
    replacement, where there are any. source: where the texts are from, in words; it decides nothing. preferences:
    texts of which one is preferred, where the material itself has any: the kind and the hostile half of our own
    sentences, or pairs of the user's.
    """

    bias: str
    groups: Pair
    pairs: tuple[Pair, ...]
    attributes: tuple[str, ...]
    texts: tuple[str, ...]
    pieces: Pieces | None = None
    specification: Specification | None = None
    source: str = ""
    preferences: tuple[Preference, ...] = ()


def material_hash(material: Material) -> str:
    """SHA-256 (hex) of the texts, terms and preferences of a material.

    >>> one = Material(bias="a", groups=("x", "y"), pairs=(("x", "y"),), attributes=(), texts=("An x.",))
    >>> material_hash(one)[:8] == material_hash(one)[:8]
    True
    """
    content: list[Any] = [material.texts, material.pairs, material.attributes]
    content += [astuple(preference) for preference in material.preferences]
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()
