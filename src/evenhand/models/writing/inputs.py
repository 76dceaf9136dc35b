"""What generation starts from: encoded prompts, the tokens that end a text, what a token costs in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evenhand.models.writing.steering import Steering
from evenhand.schema import ModelError, ResponseError, UsageError


@dataclass(frozen=True)
class Prompts:
    """Encoded prompts; those with an error hold no tokens."""

    texts: Sequence[str]
    """What draws depend on: the prompts themselves, or the keys that were given with token ids."""
    ids: list[list[int]]
    errors: list[ResponseError | None]
    details: list[str | None]
    behind: list[list[list[int]]] = field(default_factory=list)
    """Where steered: of each prompt, the tokens of it behind each context, context and all."""

    def keyed(self, keys: Sequence[str]) -> "Prompts":
        """The same with draws that depend on these. Raises UsageError unless there is one key for each prompt."""
        if len(keys) != len(self.ids):
            raise UsageError(
                f"{len(self.ids)} prompts, but {len(keys)} keys.", "Give one key for each prompt."
            )
        return replace(self, texts=keys)

    def read(self, i: int) -> Any:
        """What a decoder state reads of prompt i: its tokens, or where steered a group of token sequences."""
        return [self.ids[i], *self.behind[i]] if self.behind else self.ids[i]

    def length(self, i: int) -> int:
        """Tokens of the longest row that prompt i is read in."""
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
    """Prompts as the model's own tokenizer would give them to it.

    What the tokenizer puts in front of a text stays; what it puts behind is left out, since the text goes on
    (keep_end: an encoder's text does not). longest: positions the model has. behind: positions the
    continuation takes of these. put_as: what is encoded in place of each text, special tokens and all (a chat
    model's prompt). Empty prompts and prompts that leave no room become errors. Raises ModelError if the
    tokenizer's special tokens change how a text is cut.
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
    """Prompts that are token ids already; nothing is put around them.

    keys: of each prompt, the text that its draws depend on. known: tokens that the model has an embedding for. longest,
    behind: as in `encode_prompts`. Prompts without tokens and those that leave no room become errors. Raises UsageError
    for ids that the model does not know, and where there are not as many keys as prompts.

    >>> prompts_of_ids([[5, 6], []], ["a", "b"], known=9, longest=None, behind=1).errors
    [None, <ResponseError.EMPTY_TEXT: 'empty_text'>]
    """
    if len(keys) != len(ids):
        raise UsageError(f"{len(ids)} prompts, but {len(keys)} keys.", "Give one key for each prompt.")
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
    """Prompts by themselves and behind each context, each as one text, so that all tokens are those the model knows.

    Samples depend on the prompts without the text before them.
    encode: how the model encodes prompts. A prompt that has an error by itself or behind any context has that error.
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
    """The special tokens that a tokenizer puts in front of any text and behind it.

    backend: of a fast tokenizer. Raises ModelError if they change how a text is cut.
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
    """Token ids that end a text, as the model's generation settings say, or else its tokenizer."""
    for config in (getattr(model, "generation_config", None), model.config, tokenizer):
        ends = getattr(config, "eos_token_id", None)
        if ends is not None:
            return [int(end) for end in (ends if isinstance(ends, list) else [ends])]
    return []


def cache_bytes(model: Any) -> int:
    """Bytes that keys and values of one token take in all layers, with one key per attention head at most."""
    config = model.config.get_text_config(decoder=True)
    width = int(getattr(config, "hidden_size", 0))
    heads = int(getattr(config, "num_attention_heads", 1))
    key_heads = int(getattr(config, "num_key_value_heads", None) or heads)
    layers = int(getattr(config, "num_hidden_layers", 1))
    return 2 * layers * width * key_heads // heads * int(next(model.parameters()).dtype.itemsize)
