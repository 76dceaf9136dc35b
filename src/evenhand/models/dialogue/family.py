"""Which format a model is told in, and why; what a trained folder says of it."""

from typing import Any

from evenhand.models.contract import TextGenerator
from evenhand.models.dialogue.contract import Telling
from evenhand.models.dialogue.options import DialogueOptions
from evenhand.models.dialogue.transcript import TextTranscript


def chosen_telling(model: TextGenerator, options: DialogueOptions) -> tuple[Telling, dict[str, Any]]:
    """How a model is told of conversations, and the facts of that choice."""
    label = options.label or None
    facts = {"format": "transcript", "because": "the model is of no family with a format of its own"}
    return TextTranscript(model, label), {**facts, "label": label}
