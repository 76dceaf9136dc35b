"""What a bias is, as a method of training needs it: who is compared, by which words, and texts in which it shows."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, fields, is_dataclass
from typing import Any, Protocol

from evenhand.mitigations.training.examples import EncodeReply
from evenhand.prompts.redditbias import Pieces, Specification
from evenhand.schema import as_json

Pair = tuple[str, str]


class Dialogues(Protocol):
    """What methods of dialogue learn from; each knows which kind it needs."""

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of all that decides what is learned."""
        ...


@dataclass(frozen=True)
class Encoding:
    """How texts become tokens: cut at `longest`, behind the tokens of `start` and in front of those of `end`."""

    longest: int = 36
    """Published: 36 tokens."""
    start: tuple[int, ...] = ()
    """Published: none."""
    end: tuple[int, ...] = ()
    reply: EncodeReply | None = None
    """How histories and replies of dialogues become tokens; None where texts are learned."""
    decoder_start: int | None = None
    """The token that a decoder begins with, of models whose encoder reads the history."""


@dataclass(frozen=True)
class Preference:
    """Two continuations of a prompt, one of which should become more likely than the other.

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
    alike; a term may be in several. attributes: A1, stereotypes; * stands for any letters. texts: to train on.
    pieces: the byte-pair pieces of the published code, where it has any. specification: the published rules of
    replacement, where there are any. source: where the texts are from, in words; it decides nothing. preferences:
    texts of which one is preferred, where the material itself has any: the kind and the hostile half of our own
    sentences, or pairs of the user's. dialogues: conversations, or replies with their styles, where these are learned
    and not texts.
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
    dialogues: "Dialogues | None" = None


def material_facts(material: Material, watched: Sequence[str]) -> dict[str, Any]:
    """Return a short description of the training material, so that two trainings can be compared part by part.

    watched: texts that are not learned from. Texts and terms are described by their number and a part of their SHA-256.

    >>> one = Material(bias="a", groups=("x", "y"), pairs=(("x", "y"),), attributes=(), texts=("An x.",))
    >>> facts = material_facts(one, ["A y."])
    >>> facts["groups"], facts["texts"]
    (['x', 'y'], '1, SHA-256 ee415b79eb9e...')
    """
    told: dict[str, Any] = {"bias": material.bias, "groups": list(material.groups)}
    parts = {
        one.name: getattr(material, one.name)
        for one in fields(material)
        if one.name not in (*told, "source", "dialogues")  # the source decides nothing
    }
    if material.dialogues is not None:
        told["dialogues"] = f"SHA-256 {material.dialogues.digest[:12]}..."
    for name, part in {**parts, "watched": tuple(watched)}.items():
        plain = asdict(part) if is_dataclass(part) and not isinstance(part, type) else part
        plain = part.stored_form() if isinstance(part, Specification) else plain
        digest = hashlib.sha256(json.dumps(as_json(plain), ensure_ascii=False).encode()).hexdigest()
        short = f"SHA-256 {digest[:12]}..."
        told[name] = f"{len(part):,}, {short}" if isinstance(part, tuple) else part and short
    return told


def material_hash(material: Material) -> str:
    """SHA-256 (hex) of the texts, terms, preferences and dialogues of a material.

    >>> one = Material(bias="a", groups=("x", "y"), pairs=(("x", "y"),), attributes=(), texts=("An x.",))
    >>> material_hash(one)[:8] == material_hash(one)[:8]
    True
    """
    content: list[Any] = [material.texts, material.pairs, material.attributes]
    content += [astuple(preference) for preference in material.preferences]
    content += [material.dialogues.digest] if material.dialogues is not None else []
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()
