"""A model that converses: histories go in, replies come out, in the format its family was trained on."""

from collections.abc import Sequence
from typing import Any

from evenhand.models.contract import (
    Architecture,
    Generations,
    LanguageModel,
    Likelihoods,
    Texts,
    text_generator,
)
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue.contract import Telling
from evenhand.models.dialogue.family import chosen_telling
from evenhand.models.dialogue.gathering import joined, trimmed, unanswered
from evenhand.models.dialogue.history import History
from evenhand.models.dialogue.options import DialogueOptions
from evenhand.schema import DataError, ResponseError, checked

AT_ONCE = 128
"""Conversations that are held together where what was read is kept: enough for a batch, few enough for the memory."""


class Dialogue:
    """A `TextGenerator` whose prompts are histories, each a line that `History.prompt` wrote.

    model: what writes. telling: the format of conversations. facts: the format, and why it was chosen;
    `dialogue_model` makes all of it.
    """

    def __init__(self, model: LanguageModel, telling: Telling, facts: dict[str, Any]):
        self.model, self.telling = model, telling
        self._facts = facts
        self.architecture: Architecture = model.architecture

    @property
    def facts(self) -> dict[str, Any]:
        """The format, why it was chosen, and all of it that decides what the model reads."""
        return {**self._facts, **self.telling.facts()}

    @property
    def conversations_at_once(self) -> int | None:
        """How many are best held side by side to their end; None: any number, because nothing read is kept."""
        return None if getattr(self.telling, "kept", None) is None else AT_ONCE

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The model's, and under "dialogue" the facts of the format."""
        return {**self.model.fingerprint, "dialogue": self.facts}

    def describe(self) -> dict[str, Any]:
        """Facts for the manifest and the report."""
        return {**self.model.describe(), "dialogue": {**self.facts, **self.telling.work()}}

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Those of the model, of texts as they are (see LanguageModel.log_likelihoods)."""
        return self.model.log_likelihoods(texts)

    def reply(self, histories: Sequence[History], decoding: Decoding) -> Generations:
        """What whose turn it is says next, `decoding.samples` times a history; see `generate`."""
        return self.generate([history.prompt() for history in histories], decoding)

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Reply to each history (see TextGenerator.generate).

        prompts: lines that `History.prompt` wrote. Samples depend on the line if the model receives tokens, else on
        the text that it receives. A reply is without white space around it and may be empty. A line that is not a
        history becomes an UNPARSABLE row; a conversation whose last turn the model has no room for is a TOO_LONG row.
        """
        histories: dict[int, History] = {}
        bad: dict[int, tuple[ResponseError, str]] = {}
        for i, line in enumerate(prompts):
            try:
                histories[i] = History.of(line)
            except DataError as error:
                bad[i] = ResponseError.UNPARSABLE, error.message
        good = list(histories)
        parts = [(list(bad), unanswered(list(bad.values()), decoding.samples))] if bad else []
        if good:
            lines = [prompts[i] for i in good]
            written = self.telling.write(list(histories.values()), lines, decoding)
            parts.append((good, trimmed(written)))
        return joined(parts)

    def window(self, history: History, max_new_tokens: int = 0) -> bool:
        """Whether the first utterance, with the name in it, stands wholly in what the model reads.

        max_new_tokens: of the decoding; in models of one sequence the reply takes room from the history. Where texts
        go to a model that is not known more closely they are read whole, or fail. False for an empty history.
        """
        return self.telling.window(history, max_new_tokens)

    def encoded(self, history: History, target: str, label: str | None = None) -> tuple[list[int], list[int]]:
        """Token ids to train on: of the history as the model reads it, and of the reply behind it with its end.

        For an encoder-decoder model these are the encoder's text and the decoder's labels, for a causal model one
        sequence in two parts. label: in place of the dialogue's own, "" for none. The reply is whole, and what room it
        leaves is the history's, but half of what the model takes at least: too long a reply is the trainer's to cut.
        Raises Unsupported for models with unknown tokens, DataError for a history that does not fit at all.
        """
        return self.telling.encoded(history, target, label)


@checked
def dialogue_model(model: LanguageModel, options: DialogueOptions | None = None) -> Dialogue:
    """A model made to converse.

    model: any that writes. Raises Unsupported for models that do not (masked ones), for a format that the model
    cannot use, and for labels that its tokenizer cannot encode.
    Source: the formats are those of ParlAI's BlenderBot (Roller et al. 2021, Smith and Williams 2021), DialoGPT (Zhang
    et al. 2020), and chat templates; docs/explanation/dialogue_formats.md.

    >>> from evenhand.models.puppets import writes
    >>> puppet = writes(lambda prompt, sample: " Hello Martha!\\nA: Bye.")
    >>> dialogue = dialogue_model(puppet)
    >>> dialogue.reply([History(("i like tea.",), ("Hi! My name is Martha.",))], Decoding(max_new_tokens=9)).texts
    ['Hello Martha!']
    >>> dialogue.facts["format"]
    'transcript'
    """
    telling, facts = chosen_telling(text_generator(model), options or DialogueOptions())
    return Dialogue(model, telling, facts)
