"""A model that takes part in conversations: it replies to histories in the format of its training."""

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
from evenhand.models.dialogue.gathering import error_generations, join_generations, trim_texts
from evenhand.models.dialogue.history import History
from evenhand.models.dialogue.options import DialogueOptions
from evenhand.schema import DataError, ResponseError, checked

AT_ONCE = 128
"""Number of parallel conversations if states are kept between turns: enough for a batch, few enough for the memory."""


class Dialogue:
    """A model that replies in conversations. Its prompts are lines that `History.prompt` wrote.

    `dialogue_model` creates it. ``model`` generates the text, ``telling`` is the conversation format, and ``facts``
    describe the format and why it was chosen.
    """

    def __init__(self, model: LanguageModel, telling: Telling, facts: dict[str, Any]):
        self.model, self.telling = model, telling
        self._facts = facts
        self.architecture: Architecture = model.architecture

    @property
    def facts(self) -> dict[str, Any]:
        """Return the format, the reason for it, and all its settings that affect what the model reads."""
        return {**self._facts, **self.telling.facts()}

    @property
    def conversations_at_once(self) -> int | None:
        """Return the best number of conversations to run in parallel. None: any, because no states are stored between
        turns.
        """
        return None if getattr(self.telling, "kept", None) is None else AT_ONCE

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return the model's fingerprint, with the facts of the format under "dialogue"."""
        return {**self.model.fingerprint, "dialogue": self.facts}

    def describe(self) -> dict[str, Any]:
        """Return facts for the manifest and the report."""
        return {**self.model.describe(), "dialogue": {**self.facts, **self.telling.work()}}

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Return the model's log-likelihoods of texts, without a conversation format (see
        LanguageModel.log_likelihoods).
        """
        return self.model.log_likelihoods(texts)

    def reply(self, histories: Sequence[History], decoding: Decoding) -> Generations:
        """Generate `decoding.samples` replies of the next speaker to each history; see `generate`."""
        return self.generate([history.prompt() for history in histories], decoding)

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Reply to each history (see TextGenerator.generate).

        `prompts` are lines that `History.prompt` wrote. Random numbers depend on the line if the model receives tokens,
        otherwise on the text that it receives. Replies have no white space around them and may be empty. A line that is
        not a history becomes an UNPARSABLE row. A conversation whose last turn is too long becomes a TOO_LONG row.
        """
        histories: dict[int, History] = {}
        bad: dict[int, tuple[ResponseError, str]] = {}
        for i, line in enumerate(prompts):
            try:
                histories[i] = History.from_prompt(line)
            except DataError as error:
                bad[i] = ResponseError.UNPARSABLE, error.message
        good = list(histories)
        parts = [(list(bad), error_generations(list(bad.values()), decoding.samples))] if bad else []
        if good:
            lines = [prompts[i] for i in good]
            written = self.telling.write(list(histories.values()), lines, decoding)
            parts.append((good, trim_texts(written)))
        return join_generations(parts)

    def window(self, history: History, max_new_tokens: int = 0) -> bool:
        """Return True if the model reads the whole first utterance, which contains the name; False for an empty
        history.

        `max_new_tokens` is that of the decoding: in a causal model, the reply reduces the room for the history. Models
        of unknown context length read texts completely, or fail.
        """
        return self.telling.window(history, max_new_tokens)

    def encoded(self, history: History, target: str, label: str | None = None) -> tuple[list[int], list[int]]:
        """Return token ids for training: the history as the model reads it, and the reply with its end token.

        For an encoder-decoder model, these are the encoder's input and the decoder's labels. For a causal model, they
        are the two parts of one sequence. The reply is complete; the history gets the remaining room, but at least half
        of the model's context. `label` replaces the label of the dialogue; "" is none.

        Raises Unsupported for models with unknown tokens, and a DataError for a history that is too long.
        """
        return self.telling.encoded(history, target, label)


@checked
def dialogue_model(model: LanguageModel, options: DialogueOptions | None = None) -> Dialogue:
    """Return a model that replies in conversations.

    Parameters
    ----------
    model : LanguageModel
        Any model that generates text.
    options : DialogueOptions
        Conversation format and its options.

    Returns
    -------
    Dialogue
        The model with a conversation format.

    Raises
    ------
    Unsupported
        The model generates no text (masked models), cannot use the format, or its tokenizer cannot encode a label.

    References
    ----------
    - Formats: ParlAI's BlenderBot (Roller et al. 2021, Smith and Williams 2021), DialoGPT (Zhang et al. 2020), and chat
      templates. See docs/explanation/dialogue_formats.md.

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
