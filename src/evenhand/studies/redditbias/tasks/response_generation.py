"""Conversational response generation: train a language model on conversations from Reddit, and generate replies.

The published program has two quirks. In training it gives a token type of 0, which in GPT-2 adds the embedding of token
0 ("!") to every position, but not when it generates. It also keeps the oldest 64 tokens of a context, and leaves them
in the reply. Without `as_published`, turns are separated by the model's own end token, the newest tokens of a context
are kept, and no token type is given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from evenhand.mitigations.training import (
    IGNORED,
    Batch,
    Examples,
    TrainingOptions,
    pad_token,
    prepared_model,
    token_losses,
)
from evenhand.models import Decoding, as_language_model, text_generator
from evenhand.models.writing import tokens_around
from evenhand.prompts.dialogue_tasks import DialogueContext, Exchange
from evenhand.schema import DataError, ModelError, ResponseError
from evenhand.studies.redditbias.tasks.state_tracking import most_tokens

if TYPE_CHECKING:
    from torch import Tensor

LONGEST = 128
TURN, START = " EOS ", "START EOS "
"""Separator between turns of a context in DSTC7's files, and marker before a conversation's first turn."""
MOST_FAILED = 0.05
"""Largest share of replies that may fail; with more, the task raises an error."""


@dataclass(frozen=True, kw_only=True)
class ResponseOptions:
    """Options of training and testing response generation: one epoch in batches of 80 exchanges.

    Attributes
    ----------
    as_published : bool
        Reproduce the quirks of the published program.
    longest : int
        Maximum number of tokens of context and response together. When generating, each may have half of these
        tokens. The number is reduced to the model's context length.
    top_k, top_p, seed
        Sampling of a reply.

    References
    ----------
    - Barikeri et al. 2021, section 5.1. The published program uses batches of 16, accumulated over 5 steps.
    """

    as_published: bool = False
    longest: int = LONGEST
    top_k: int | None = 50
    top_p: float | None = 0.95
    seed: int = 42
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(epochs=1, batch_size=16, accumulation=5)
    )


class Responses:
    """Loss of responses given their contexts, in nats per token (see `Objective`).

    as_published: use the mean over batches, and a token type of 0 if the model has token types.
    """

    def __init__(self, as_published: bool):
        self.pooled, self.typed = not as_published, as_published

    def weights(self, batch: Batch) -> Mapping[str, float]:
        """Return the weight of the only term, `response`."""
        return {"response": 1.0}

    def sizes(self, batch: Batch) -> Mapping[str, float]:
        """Return the number of tokens of responses, including their end tokens."""
        return {"response": batch.n_learned}

    def sums(self, model: Any, batch: Batch) -> Mapping[str, "Tensor"]:
        """Return the sum of the losses of the responses' tokens, in nats, under the key `response`."""
        from torch import zeros_like

        types = {}
        if self.typed and "token_type_ids" in signature(model.forward).parameters:
            types = {"token_type_ids": zeros_like(batch.input_ids)}
        output = model(
            input_ids=batch.input_ids, attention_mask=batch.attention_mask, use_cache=False, **types
        )
        return {"response": token_losses(output.logits, batch.labels)}


def generate_responses(
    language_model: Any,
    exchanges: Sequence[Exchange],
    asked: Sequence[DialogueContext],
    options: ResponseOptions,
    folder: Path | str,
    *,
    device: str = "auto",
) -> pl.DataFrame:
    """Train a model to respond in dialogues, and generate its replies to other contexts.

    Parameters
    ----------
    language_model : LanguageModel
        A causal model with ``model``, ``tokenizer`` and ``identity``, in 32 bits. Its weights are changed.
    exchanges : sequence
        Training exchanges.
    asked : sequence
        Contexts of the test set.
    folder : path
        Folder of the training. An existing training is resumed.

    Returns
    -------
    polars.DataFrame
        One row per context: key, conversation, reply (null: failed), references.

    Raises
    ------
    DataError
        No exchange is short enough.
    ModelError
        The tokenizer has no end token, or more than 5% of the replies failed.
    """
    from evenhand.mitigations.training import train

    causal, tokenizer = language_model.model, language_model.tokenizer
    if tokenizer.eos_token_id is None:
        raise ModelError(
            f"The tokenizer of {language_model.identity.get('name', 'this model')} has no end-of-sequence token, "
            "which contexts and responses need.",
            "Set eos_token in its tokenizer_config.json.",
        )
    longest = most_tokens(causal, options.longest)
    prepared_model(causal, options.training)
    start = tokens_around(tokenizer.backend_tokenizer)[0]  # replies are generated after the same start tokens
    examples = encoded_exchanges(
        tokenizer, exchanges, longest, as_published=options.as_published, start=start
    )
    decided = {"task": "response generation", "as_published": options.as_published, "longest": longest}
    objective = Responses(options.as_published)
    train(
        causal, examples, objective, options.training, folder,
        pad=pad_token(tokenizer), device=device, decided=decided,
    )  # fmt: skip
    causal.config.use_cache = True
    identity = {**language_model.identity, "task": "response generation"}
    writer = text_generator(as_language_model(causal, tokenizer, "causal", identity))
    decoding = Decoding(
        max_new_tokens=longest // 2,
        temperature=1.0,
        top_k=options.top_k,
        top_p=options.top_p,
        seed=options.seed,
    )
    room = longest // 2 - len(start)
    fronts = [front(tokenizer, one.context, room, options.as_published) for one in asked]
    written = writer.generate([text for text, _ in fronts], decoding)
    replies = [
        None if text is None and error is not ResponseError.EMPTY_TEXT else prefix + (text or "")
        for (_, prefix), text, error in zip(fronts, written.texts, written.errors, strict=True)
    ]
    if (failed := sum(reply is None for reply in replies)) > MOST_FAILED * len(replies):
        reason = next(detail for detail, reply in zip(written.details, replies, strict=True) if reply is None)
        raise ModelError(
            f"The model could not generate {failed} of {len(replies)} replies. The first failed because: {reason}.",
            "Use a model with a longer context, or more memory.",
        )
    return pl.DataFrame(
        {
            "key": [one.key for one in asked],
            "conversation": [one.conversation for one in asked],
            "reply": replies,
            "references": [list(one.references) for one in asked],
        },
        schema_overrides={"reply": pl.String, "references": pl.List(pl.String)},
    )


def encoded_exchanges(
    tokenizer: Any,
    exchanges: Sequence[Exchange],
    longest: int,
    *,
    as_published: bool,
    start: Sequence[int] = (),
) -> Examples:
    """Return exchanges as tokens: start tokens, context, end token, response, end token.

    The loss is computed on the response and the end token after it.

    As published, a longer exchange loses the beginning of its context if at least one token of it remains, otherwise
    the end of its response, otherwise it is left out. Here the response gets up to half of the tokens, the end of the
    context gets the rest, and no exchange is left out.

    Raises DataError if no exchange remains.

    Parameters
    ----------
    longest
        Maximum number of tokens of an exchange.
    start
        Tokens that the tokenizer puts before a text, and therefore before a context (LLaMA's <s>; none for GPT-2).
    """
    contexts = _encode_contexts(tokenizer, [one.context for one in exchanges], as_published)
    responses = tokenizer([one.response for one in exchanges], add_special_tokens=False, verbose=False)[
        "input_ids"
    ]
    end, ids, labels = [tokenizer.eos_token_id], [], []
    for context, response in zip(contexts, responses, strict=True):
        room = longest - 2 - len(start)
        if as_published:
            if len(context) + len(response) > room > len(response):
                context = context[len(response) - room :]
            elif len(context) + len(response) > room:
                response = response[: max(0, room - len(context))]
        else:
            response = response[: max(room - len(context), room // 2)]
            context = context[max(0, len(context) + len(response) - room) :]
        if response:
            ids.append(np.array([*start, *context, *end, *response, *end], dtype=np.int64))
            unlearned = np.full(len(start) + len(context) + 1, IGNORED, dtype=np.int64)
            labels.append(np.concatenate([unlearned, ids[-1][len(unlearned) :]]))
    if not ids:
        raise DataError(
            "No DSTC7 exchange fits into the context of the model.",
            f"The model reads at most {longest} tokens.",
        )
    return Examples(ids, labels)


def front(tokenizer: Any, context: str, room: int, as_published: bool) -> tuple[str, str]:
    """Return the prompt from which a reply is generated, and text that is put before the generated reply.

    The second text is empty except as published.

    The end token follows the context. If the context is too long, its newest tokens are kept. As published, its oldest
    tokens are kept instead, and they also remain at the beginning of the reply.

    Parameters
    ----------
    room
        Maximum number of tokens of the prompt.
    """
    [ids] = _encode_contexts(tokenizer, [context], as_published)
    ids = [*ids, tokenizer.eos_token_id]
    if as_published:
        text = tokenizer.decode(ids[:room])
        return text, text if len(ids) > room else ""
    return tokenizer.decode(ids[-room:]), ""


def _encode_contexts(tokenizer: Any, contexts: Sequence[str], as_published: bool) -> list[list[int]]:
    if not as_published:
        turns = [text.removeprefix(START.strip()).strip().split(TURN) for text in contexts]
        contexts = [tokenizer.eos_token.join(turn.strip() for turn in one) for one in turns]
    found: list[list[int]] = tokenizer(list(contexts), add_special_tokens=False, verbose=False)["input_ids"]
    return found
