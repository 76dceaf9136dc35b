"""The inputs of generation: encoded prompts, end tokens, and the memory that a token needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evenhand.models.writing.steering import Steering
from evenhand.schema import ModelError, ResponseError, UsageError


@dataclass(frozen=True)
class Prompts:
    """Encoded prompts. Those with an error have no tokens."""

    texts: Sequence[str]
    """Texts on which random numbers depend: the prompts, or the keys of prompts that are token ids."""
    ids: list[list[int]]
    errors: list[ResponseError | None]
    details: list[str | None]
    behind: list[list[list[int]]] = field(default_factory=list)
    """With steering: for each prompt, its tokens after each context, including the context."""

    def with_keys(self, keys: Sequence[str]) -> "Prompts":
        """Return the prompts with random numbers that depend on keys. Raise a UsageError unless there is one key per
        prompt.
        """
        if len(keys) != len(self.ids):
            raise UsageError(
                f"keys must contain one key for each prompt, got {len(keys)} keys for {len(self.ids)} prompts.",
                "Give one text per prompt: its random numbers depend on it.",
            )
        return replace(self, texts=keys)

    def read(self, i: int) -> Any:
        """Return what a decoder state reads of prompt i: its tokens, or, with steering, a group of token sequences."""
        return [self.ids[i], *self.behind[i]] if self.behind else self.ids[i]

    def length(self, i: int) -> int:
        """Return the number of tokens of the longest row in which prompt i is read."""
        return max(map(len, [self.ids[i], *self.behind[i]])) if self.behind else len(self.ids[i])


def encode_prompts(
    tokenizer: Any,
    texts: Sequence[str],
    *,
    longest: int | None,
    behind: int,
    keep_end: bool = False,
    put_as: Sequence[str] | None = None,
) -> Prompts:
    """Encode prompts as the model's own tokenizer does.

    Special tokens before a text are kept. Those after it are removed, because the text continues, unless `keep_end` is
    True (for encoders). `longest` is the model's number of positions, of which the continuation takes `behind`.
    `put_as` are texts to encode in place of the prompts, with special tokens (a chat model's prompts). Empty and too
    long prompts become errors. Raises a ModelError if special tokens change the tokens of a text.
    """
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    front, end = ([], []) if put_as is not None else tokens_around(backend)
    inner = backend.encode_batch_fast(list(texts if put_as is None else put_as), add_special_tokens=False)
    ids = [[*front, *encoding.ids, *(end if keep_end else [])] for encoding in inner]
    errors: list[ResponseError | None] = [None] * len(ids)
    details: list[str | None] = [None] * len(ids)
    for i, text in enumerate(texts):
        if not text.strip():
            errors[i], details[i] = ResponseError.EMPTY_TEXT, "the prompt is empty or white space"
        elif longest is not None and len(ids[i]) + behind > longest:
            errors[i], details[i] = ResponseError.TOO_LONG, _no_room(len(ids[i]), behind, longest)
        if errors[i] is not None:
            ids[i] = []
    return Prompts(texts, ids, errors, details)


def room_within(longest: int | None, encoded: Prompts) -> list[int] | None:
    """Return how many tokens fit behind each prompt within a context, or None if the context is not limited.

    Parameters
    ----------
    longest
        Positions that the model has.
    encoded
        The prompts, encoded without a limit.

    Examples
    --------
    >>> room_within(8, Prompts(["a", "b"], [[5, 6], [1] * 9], [None, None], [None, None]))
    [6, -1]
    """
    return None if longest is None else [longest - len(ids) for ids in encoded.ids]


def prompts_of_ids(
    ids: Sequence[Sequence[int]],
    keys: Sequence[str],
    *,
    known: int,
    longest: int | None,
    behind: int,
) -> Prompts:
    """Return prompts that are given as token ids, without adding special tokens.

    `keys` are texts on which random numbers depend. `known` is the number of tokens with an embedding. `longest` and
    `behind` are as in `encode_prompts`. Empty and too long prompts become errors. Raises a UsageError for unknown ids,
    or if the numbers of keys and prompts differ.

    >>> prompts_of_ids([[5, 6], []], ["a", "b"], known=9, longest=None, behind=1).errors
    [None, <ResponseError.EMPTY_TEXT: 'empty_text'>]
    """
    if len(keys) != len(ids):
        raise UsageError(
            f"keys must contain one key for each prompt, got {len(keys)} keys for {len(ids)} prompts.",
            "Give one text per prompt: its random numbers depend on it.",
        )
    rows: list[list[int]] = []
    errors: list[ResponseError | None] = []
    details: list[str | None] = []
    for i, given in enumerate(ids):
        row, error, detail = list(map(int, given)), None, None
        if not row:
            error, detail = ResponseError.EMPTY_TEXT, "the prompt has no tokens"
        elif not 0 <= min(row) <= max(row) < known:
            raise UsageError(
                f"Prompt {i} contains token ids from {min(row)} to {max(row)}, but the model knows only 0 to "
                f"{known - 1}.",
                "Encode prompts with the tokenizer of the model.",
            )
        elif longest is not None and len(row) + behind > longest:
            error, detail = ResponseError.TOO_LONG, _no_room(len(row), behind, longest)
        rows.append(row if error is None else [])
        errors.append(error)
        details.append(detail)
    return Prompts(keys, rows, errors, details)


def _no_room(tokens: int, behind: int, longest: int) -> str:
    room = f" and up to {behind} new ones" if behind else ""
    return f"{tokens} tokens{room}; the model takes at most {longest}"


def encode_steered(
    encode: Callable[[Sequence[str]], Prompts], prompts: Sequence[str], steering: Steering
) -> Prompts:
    """Encode prompts alone and after each context. Context and prompt are encoded as one text, as the model knows it.

    `encode` is the function that encodes prompts. A prompt with an error, alone or after any context, has that error.
    Random numbers depend on the prompts without contexts.
    """
    texts = [steering.front + prompt for prompt in prompts]
    alone = encode(texts)
    behind = [
        encode([steering.front + context + prompt for prompt in prompts]) for context in steering.contexts
    ]
    errors, details = list(alone.errors), list(alone.details)
    for k, (context, encoded) in enumerate(zip(steering.contexts, behind, strict=True), start=1):
        for i, error in enumerate(encoded.errors):
            if errors[i] is None and error is not None:
                errors[i] = error
                details[i] = f"behind context {k} ({context.strip()[:40]!r}): {encoded.details[i]}"
    groups = [
        [[] if error is not None else encoded.ids[i] for encoded in (alone, *behind)]
        for i, error in enumerate(errors)
    ]
    return Prompts(prompts, [group[0] for group in groups], errors, details, [group[1:] for group in groups])


def tokens_around(backend: Any) -> tuple[list[int], list[int]]:
    """Return the special tokens that a tokenizer puts before and after any text.

    `backend` is the backend of a fast tokenizer. Raises a ModelError if they change the tokens of a text.
    """
    around, inner = (backend.encode("a", add_special_tokens=special).ids for special in (True, False))
    first = next((k for k in range(len(around)) if around[k : k + len(inner)] == inner), None)
    if first is None:
        raise ModelError(
            "The tokenizer splits a text differently when it adds its special tokens, so the tokens before a "
            "prompt cannot be determined.",
            "Save the tokenizer with a template post-processor (`$A` between its special tokens).",
        )
    return around[:first], around[first + len(inner) :]


def end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """Return the token ids that end a text, from the model's generation settings or its tokenizer."""
    for config in (getattr(model, "generation_config", None), model.config, tokenizer):
        ends = getattr(config, "eos_token_id", None)
        if ends is not None:
            return [int(end) for end in (ends if isinstance(ends, list) else [ends])]
    return []


def cache_bytes(model: Any) -> int:
    """Return the memory in bytes of one token's keys and values in all layers (at most one key per attention head)."""
    config = model.config.get_text_config(decoder=True)
    width = int(getattr(config, "hidden_size", 0))
    heads = int(getattr(config, "num_attention_heads", 1))
    key_heads = int(getattr(config, "num_key_value_heads", None) or heads)
    layers = int(getattr(config, "num_hidden_layers", 1))
    return 2 * layers * width * key_heads // heads * int(next(model.parameters()).dtype.itemsize)
