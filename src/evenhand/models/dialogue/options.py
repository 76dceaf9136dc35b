"""Options for the format in which a model receives conversations."""

from dataclasses import dataclass
from typing import Literal
from unicodedata import category

from evenhand.schema import UsageError

FormatName = Literal["blenderbot", "blenderbot-small", "dialogpt", "transcript", "chat"]
PersonaLayout = Literal["training", "self-chat"]


@dataclass(frozen=True, kw_only=True)
class DialogueOptions:
    """Options that change what a model reads in conversations. All of them are part of the fingerprint.

    Raises a UsageError for unknown names, and for labels that are not part of a line of text.

    >>> DialogueOptions(format="dialogpt", pinned=True).label is None
    True
    """

    format: FormatName | None = None
    """Conversation format. None: that of the model's family. `Dialogue.describe` states it with the reason."""
    persona_layout: PersonaLayout = "training"
    """Layout for blenderbot and dialogpt. "training": persona and first utterance are one turn with a line break in
    between, as in the training data of these models. "self-chat": the persona is a separate turn, as in ParlAI's
    self-chats."""
    pinned: bool = False
    """If a conversation becomes longer than the model's context, keep the persona and the first utterance before the
    last turns. By default only the last tokens are read, as published."""
    label: str | None = None
    """Label at the very end of every history, such as " STYLE no_bias" (controlled generation). None: the label from
    training that is stored in the model's folder, in most cases none. "": no label."""
    truncate: int | None = None
    """Maximum number of tokens of a conversation. None: that of the family, or the model's context.

    The families' numbers are 128 for blenderbot, 512 for blenderbot-small and 768 for dialogpt.
    """

    def __post_init__(self) -> None:
        from evenhand.schema import check_fields  # imports numpy, which the help does not need

        check_fields(self)
        if self.truncate is not None and self.truncate < 1:
            raise UsageError(f"truncate must be at least 1 token, got {self.truncate}.")
        if fault := label_fault(self.label or ""):
            raise UsageError(f"The label {self.label!r} {fault}.", LABEL)


LABEL = "Write a label as part of a line of text, such as ' STYLE no_bias'."


def label_fault(label: str) -> str | None:
    """Return why a text cannot be a label in any format, or None.

    >>> label_fault(" STYLE no_bias") is None, label_fault(" a\\nB:")
    (True, 'contains a line break or another control character')
    """
    kinds = {category(letter) for letter in label}
    if "Cs" in kinds:
        return "contains half a character (a lone surrogate)"
    return "contains a line break or another control character" if kinds & {"Cc", "Zl", "Zp"} else None
