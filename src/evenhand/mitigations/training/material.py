"""Training material: the compared groups, the words that refer to them, and texts that show the bias."""

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
    """Interface of dialogue data; each method knows which kind it needs."""

    @property
    def digest(self) -> str:
        """Return the SHA-256 (hex) of everything that determines what is learned."""
        ...


@dataclass(frozen=True)
class Encoding:
    """How training texts become tokens: cut to `longest` tokens, with the tokens `start` before and `end` after
    them.
    """

    longest: int = 36
    """Maximum number of tokens. RedditBias uses 36."""
    start: tuple[int, ...] = ()
    """Tokens before each text. RedditBias uses none."""
    end: tuple[int, ...] = ()
    reply: EncodeReply | None = None
    """Function that tokenises the histories and replies of dialogues. None for training on texts."""
    decoder_start: int | None = None
    """Start token of the decoder, for models whose encoder reads the history."""


@dataclass(frozen=True)
class Preference:
    """Two continuations of a prompt, of which one should become more likely than the other.

    ``prompt`` is "" if both are whole texts. ``frame`` is the text without its mention of a group, so that groups can
    be compared; "" if unknown. ``group`` is the group that the texts are about.
    """

    prompt: str
    chosen: str
    rejected: str
    frame: str = ""
    group: str = ""


@dataclass(frozen=True, kw_only=True)
class Material:
    """A bias, and the texts for training against it.

    Attributes
    ----------
    bias : str
        Name of the bias.
    groups : tuple of str
        Names of the two sides of a pair of terms.
    pairs : tuple of (str, str)
        Pairs of terms that should be treated alike. A term may occur in several pairs.
    attributes : tuple of str
        Words of stereotypes (A1); * matches any letters.
    texts : tuple of str
        Training texts.
    pieces
        Byte-pair tokens of the published code, if there are any.
    specification
        Published rules of replacement, if there are any.
    source : str
        Origin of the texts, in words. It does not affect the training.
    preferences : tuple of Preference
        Pairs of a preferred and another text: kind and hostile sentences, or the user's pairs.
    dialogues
        Conversations, or replies with their styles, for methods that learn from dialogues instead of texts.
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

    Texts and terms are described by their number and a part of their SHA-256.

    Parameters
    ----------
    watched
        Texts that are not learned from.

    Examples
    --------
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
    """Return the SHA-256 (hex) of the texts, terms, preferences and dialogues of a material.

    >>> one = Material(bias="a", groups=("x", "y"), pairs=(("x", "y"),), attributes=(), texts=("An x.",))
    >>> material_hash(one)[:8] == material_hash(one)[:8]
    True
    """
    content: list[Any] = [material.texts, material.pairs, material.attributes]
    content += [astuple(preference) for preference in material.preferences]
    content += [material.dialogues.digest] if material.dialogues is not None else []
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()
