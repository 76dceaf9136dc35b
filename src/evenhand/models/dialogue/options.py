"""How a model is told of a conversation: what a caller may choose."""

from dataclasses import dataclass
from typing import Literal
from unicodedata import category

from evenhand.schema import UsageError, check_fields

FormatName = Literal["blenderbot", "blenderbot-small", "dialogpt", "transcript", "chat"]
PersonaLayout = Literal["training", "self-chat"]


@dataclass(frozen=True, kw_only=True)
class DialogueOptions:
    """Choices that change what a model reads; all of them enter the fingerprint.

    Raises UsageError for names that do not exist, and for labels that are no part of a line.

    >>> DialogueOptions(format="dialogpt", pinned=True).label is None
    True
    """

    format: FormatName | None = None
    """None: by the model's family, which `Dialogue.describe` tells together with the reason."""
    persona_layout: PersonaLayout = "training"
    """Of blenderbot and dialogpt. "training": persona and first utterance are one turn, a line break between, as in
    the data these models learned from; "self-chat": the persona is a turn of its own, as in ParlAI's self-chats."""
    pinned: bool = False
    """Where a conversation outgrows what the model reads: keep persona and first utterance in front of the last turns.
    By default the last tokens are read, whatever they are, as published."""
    label: str | None = None
    """Put at the very end of every history, such as " STYLE no_bias" (controlled generation). None: what the model's
    folder says it was trained with, mostly nothing; "": nothing."""
    truncate: int | None = None
    """Most tokens of a conversation that are read. None: the family's number (blenderbot 128, blenderbot-small 512,
    dialogpt 768), or all that the model has room for."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.truncate is not None and self.truncate < 1:
            raise UsageError(f"truncate must be at least 1 token, got {self.truncate}.")
        if fault := label_fault(self.label or ""):
            raise UsageError(f"The label {self.label!r} {fault}.", LABEL)


LABEL = "Write a label as part of a line of text, such as ' STYLE no_bias'."


def label_fault(label: str) -> str | None:
    """What keeps a text from being a label in any format, or None.

    >>> label_fault(" STYLE no_bias") is None, label_fault(" a\\nB:")
    (True, 'holds a line break or another control character')
    """
    kinds = {category(letter) for letter in label}
    if "Cs" in kinds:
        return "holds half of a letter (a lone surrogate)"
    return "holds a line break or another control character" if kinds & {"Cc", "Zl", "Zp"} else None
