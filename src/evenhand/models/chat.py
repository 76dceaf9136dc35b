"""Prompts as chat models expect them: a user's message, and the place where the assistant's answer begins."""

from collections.abc import Sequence
from typing import Any

from evenhand.schema import Unsupported


def chat_prompts(tokenizer: Any, messages: Sequence[str], system: str | None = None) -> list[str]:
    """Each message put through the tokenizer's chat template, up to where the assistant's turn begins.

    messages: what the user says. system: a message in front of it. Returns texts that hold their special
    tokens, so none may be added when they are encoded. Raises Unsupported if the tokenizer has no template,
    or one that takes no system message.
    """
    from jinja2 import TemplateError

    check_chat_template(tokenizer)
    before = [] if system is None else [{"role": "system", "content": system}]
    try:
        return [
            tokenizer.apply_chat_template(
                [*before, {"role": "user", "content": message}], tokenize=False, add_generation_prompt=True
            )
            for message in messages
        ]
    except TemplateError as error:
        told = str(error) or type(error).__name__
        raise Unsupported(
            f"The tokenizer's chat template refuses {'a system and ' if before else ''}a user's message: {told}",
            "Leave out the system message." if before else "Load the model without chat=True.",
        ) from error


def check_chat_template(tokenizer: Any) -> None:
    """Raise Unsupported if the tokenizer does not say how its model is talked to."""
    if not getattr(tokenizer, "chat_template", None):
        raise Unsupported(
            "chat=True was asked for, and this tokenizer has no chat template: the model was not made to be "
            "talked to, or its template was left out.",
            "Load it without chat=True so that it continues the prompts, or put its chat_template.jinja into "
            "the model's folder.",
        )
