"""Send conversations to chat models as messages, through a tokenizer's template or a server."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from evenhand.models.contract import Generations, TextGenerator
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue.contract import TokenModel, no_tokens
from evenhand.models.dialogue.gathering import error_generations, join_generations
from evenhand.models.dialogue.history import History
from evenhand.models.dialogue.messages import (
    INSTRUCTION,
    Chat,
    Message,
    check_instruction,
    chosen_way,
    shorter,
)
from evenhand.models.dialogue.tokens import Cutter, does_not_fit, most_before, most_tokens, one_line
from evenhand.schema import ResponseError, Unsupported

if TYPE_CHECKING:
    from evenhand.models.writing import KeptStates


class ChatTemplate:
    """A tokenizer's chat template, with the message layout that it accepts.

    instruction: text that replaces the default instruction. Raises Unsupported if the tokenizer has no template, or one
    that accepts none of the layouts in `WAYS`.
    """

    def __init__(self, cutter: Cutter, instruction: str | None = None):
        self.cutter, self.template = cutter, getattr(cutter.tokenizer, "chat_template", None)
        if not self.template:
            raise Unsupported(
                f"The tokenizer of {cutter.name} has no chat template: either the model was not trained for chat, "
                "or its template is missing.",
                "Use the format transcript, or add chat_template.jinja to the model folder.",
            )
        way, reasons = chosen_way(self._refuses)
        if way is None:
            raise Unsupported(
                f"The chat template of {cutter.name} does not support a conversation between two speakers: "
                f"{reasons[-1]}.",
                "Use the format transcript.",
            )
        self.chat, self.refused = Chat(way, instruction or INSTRUCTION), reasons

    def ids(self, messages: list[Message]) -> list[int]:
        """Return the tokens that the model reads, up to the beginning of the assistant's message."""
        return self.cutter.ids(self._text(messages))

    def reply(self, messages: list[Message], text: str) -> list[int]:
        """Return the tokens of the assistant's message after the others, up to the token that ends it.

        Raises Unsupported if the template formats earlier messages differently when this message is present.
        """
        before = self._text(messages)
        whole = self._text([*messages, {"role": "assistant", "content": text}], more=False)
        if not whole.startswith(before):
            raise Unsupported(
                f"The chat template of {self.cutter.name} formats a reply differently from the prompt for a reply, so "
                "the model cannot be trained on replies.",
                "Use the format transcript for training.",
            )
        ids = self.cutter.ids(whole[len(before) :])
        ends = {self.cutter.end}
        return next((ids[: k + 1] for k, token in enumerate(ids) if token in ends), ids)

    def facts(self) -> dict[str, Any]:
        """Return the texts, the layout, and the SHA-256 of the template."""
        digest = hashlib.sha256(str(self.template).encode()).hexdigest()
        return {**self.chat.facts(), "refused": self.refused, "template": digest}

    def _text(self, messages: list[Message], *, more: bool = True) -> str:
        try:
            return self._apply_template(messages, more=more)
        except Exception as error:
            raise Unsupported(
                f"The chat template of {self.cutter.name} failed for a conversation of {len(messages)} messages: "
                f"{_reason(error)}.",
                "Correct chat_template.jinja in the model folder, or use the format transcript.",
            ) from error

    def _apply_template(self, messages: list[Message], *, more: bool = True) -> str:
        text: str = self.cutter.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=more
        )
        return text

    def _refuses(self, messages: list[Message]) -> str | None:
        try:
            text = self._apply_template(messages)
        except Exception as error:  # templates are programs from other sources, which may raise any exception
            return _reason(error)
        at = 0
        for message in messages:
            at = text.find(message["content"], at)
            if at < 0:
                return f"it leaves out messages of the role {message['role']}"
            at += len(message["content"])
        return None


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__).strip()[:500].removesuffix(".")


@dataclass(frozen=True)
class TemplateTelling:
    """A chat model that receives conversations through its tokenizer's template.

    If a history is too long, whole utterances are left out, the oldest first, because a template must not be cut. most,
    pinned, label, kept: as in `TokenTelling`.
    """

    model: TokenModel
    template: ChatTemplate
    most: int | None = None
    pinned: bool = False
    label: str | None = None
    kept: "KeptStates | None" = None

    def facts(self) -> dict[str, Any]:
        """Return the facts of the template, and how much of a history is read."""
        return {"told_in": "messages", **self.template.facts(), "truncate": self.most, "pinned": self.pinned}

    def work(self) -> dict[str, Any]:
        """Return the number of tokens that were not read again."""
        return {} if self.kept is None else {"kept": self.kept.describe()}

    def write(self, histories: Sequence[History], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Reply to each history (see `Telling.write`)."""
        most = most_tokens(self.model, self.most, decoding.max_new_tokens)
        read = [self._read(history, self.label, most) for history in histories]
        good = [i for i, found in enumerate(read) if found]
        bad = [i for i, found in enumerate(read) if not found]
        what = (
            "behind persona and first utterance the last one" if self.pinned else "the last utterance alone"
        )
        error = (ResponseError.TOO_LONG, f"{what} is too long: {most} tokens are read")
        parts = [(bad, error_generations([error] * len(bad), decoding.samples))] if bad else []
        if good:
            ids = [found[0] for found in read if found]
            lines = [keys[i] for i in good]
            parts.append((good, self.model.generate_ids(ids, lines, decoding, kept=self.kept)))
        return join_generations(parts)

    def window(self, history: History, max_new_tokens: int) -> bool:
        """Return whether the first utterance is read completely (see `Telling.window`)."""
        most = most_tokens(self.model, self.most, max_new_tokens)
        found = self._read(history, self.label, most)
        return found is not None and 0 in found[2]

    def encoded(self, history: History, target: str, label: str | None) -> tuple[list[int], list[int]]:
        """Return the tokens of a history and a reply (see `Dialogue.encoded`)."""
        label = self.label if label is None else label
        reply = self.template.reply(self.template.chat.messages(history, label), one_line(target))
        most = most_before(self.model, self.most, reply)
        found = self._read(history, label, most)
        if found is None:
            raise does_not_fit(history, most)
        return found[0], reply

    def _read(
        self, history: History, label: str | None, most: int | None
    ) -> tuple[list[int], list[Message], list[int]] | None:
        """Return the longest part of a history that fits: its tokens, its messages and the numbers of
        its utterances.
        """
        for kept in shorter(len(history.utterances), pinned=self.pinned):
            messages = self.template.chat.messages(history, label, kept)
            ids = self.template.ids(messages)
            if most is None or len(ids) <= most:
                return ids, messages, kept
        return None


@runtime_checkable
class MessageModel(TextGenerator, Protocol):
    """Interface of a served text generator that takes several messages."""

    def generate_messages(
        self, prompts: Sequence[Sequence[Message]], keys: Sequence[str], decoding: Decoding
    ) -> Generations:
        """Reply to lists of messages. keys: n texts on which the random numbers depend."""
        ...

    def refuses_messages(self, messages: Sequence[Message]) -> str | None:
        """Return why the server refuses such messages, or None. Raises ServiceUnavailable if it does not respond."""
        ...


class ServiceTelling:
    """A served chat model that receives conversations as messages.

    A short conversation is sent once to find a message layout that the server accepts. Nothing is left out of a
    history; if it is too long for the server, the row is a TOO_LONG error. instruction: text that replaces the default
    instruction. label: see `DialogueOptions`.
    """

    def __init__(self, model: MessageModel, instruction: str | None = None, label: str | None = None):
        check_instruction(instruction or INSTRUCTION)
        self.model, self.instruction, self.label = model, instruction or INSTRUCTION, label

    @cached_property
    def chat(self) -> Chat:
        """Return the layout that the server accepts. Raise Unsupported if it accepts none."""
        way, reasons = chosen_way(self.model.refuses_messages)
        if way is None:
            raise Unsupported(
                f"The server does not accept a conversation between two speakers: {reasons[-1]}.",
                "If the server offers completions, remove chat=1 from the URL.",
            )
        return Chat(way, self.instruction)

    def facts(self) -> dict[str, Any]:
        """Return all texts that evenhand adds, and the layout."""
        return {"told_in": "messages", **self.chat.facts()}

    def work(self) -> dict[str, Any]:
        """Return an empty dict."""
        return {}

    def write(self, histories: Sequence[History], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Reply to each history (see `Telling.write`)."""
        prompts = [self.chat.messages(history, self.label) for history in histories]
        return self.model.generate_messages(prompts, keys, decoding)

    def window(self, history: History, max_new_tokens: int) -> bool:
        """Return True, because the server reads the whole history or refuses it."""
        return bool(history.utterances)

    def encoded(self, history: History, target: str, label: str | None) -> tuple[list[int], list[int]]:
        """Raise Unsupported, because the tokens of a server are unknown."""
        raise no_tokens(self.model)
