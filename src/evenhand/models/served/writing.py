"""Create the request for a sample, and read the continuation in the response."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import ceil, nan
from typing import Any

from evenhand.models.contract import Finish
from evenhand.models.decoding import Decoding
from evenhand.models.served.lengths import HINT, WHOLE, excess, shorten_response
from evenhand.models.served.options import HttpOptions
from evenhand.models.served.requests import row_error, token_count
from evenhand.models.served.spelling import spells
from evenhand.models.writing import continuation_key
from evenhand.schema import ResponseError, Unsupported
from evenhand.services import Answer, first_choice

Messages = Sequence[Mapping[str, str]]
"""The messages of one chat, each with its role and content."""
SENT = frozenset(
    {"max_new_tokens", "min_new_tokens", "temperature", "top_k", "top_p", "stop", "samples", "seed"}
)
UNSET = Decoding(max_new_tokens=1)
SEEDS = 2**31  # what every server takes
LEAST = -745.0
"""Logarithm of the smallest positive number, in nats."""
ROUNDING = 1e-3
"""Largest log probability above 0 that is accepted as rounding, in nats."""
ENDS = frozenset({"stop", "eos", "eos_token", "end_turn"})
FILTERED = "content_filter"
LIMITED = frozenset({"length", "max_tokens"})
FINISHES = ENDS | LIMITED | {"stop_sequence", None}
NO_TEXT_AT_LIMIT = (
    " and ended at the token limit. If the model reasons before it responds, increase --max-new-tokens"
)


@dataclass(frozen=True)
class ServedText:
    """One continuation, or the reason why there is none."""

    text: str | None = None
    finish: Finish | None = None
    count: int = 0  # number of tokens; 0 if the server does not give it
    tokens: tuple[tuple[str, float], ...] = ()  # tokens with their log probabilities, if requested
    error: ResponseError | None = None
    detail: str | None = None


def decoding_body(decoding: Decoding, options: HttpOptions) -> dict[str, Any]:
    """Return the decoding options as fields of a request. Every option that can be sent is sent.

    A minimum of one token can be requested only from `extended` servers; other servers may generate nothing. Raises
    Unsupported for options that the server would not apply, because it may silently ignore unknown fields.

    >>> decoding_body(Decoding(max_new_tokens=5, temperature=0.7), HttpOptions())
    {'max_tokens': 5, 'temperature': 0.7, 'top_p': 1.0}
    """
    takes = "temperature, top_p, stop, max_new_tokens, samples and seed"
    # start from all options of the class, so that an option added there is never ignored here
    beyond = [part.name for part in fields(Decoding) if part.name not in SENT]
    beyond = [name for name in beyond if getattr(decoding, name) != getattr(UNSET, name)]
    if not decoding.searches and "num_beams" in beyond:
        beyond.remove("num_beams")  # a single beam is no beam search
    if beyond:
        raise Unsupported(
            f"A served model does not support {' and '.join(beyond)}.",
            "Remove it (for a benchmark of conversations, use --decoding greedy or sampling), or load the model's "
            f"weights. A server supports {takes}.",
        )
    wanted = {"top_k": decoding.top_k is not None, "min_new_tokens": decoding.min_new_tokens > 1}
    lacking = [name for name, is_wanted in wanted.items() if is_wanted]
    if lacking and not options.extended:
        raise Unsupported(
            f"{' and '.join(lacking)}: not part of the OpenAI API, which supports {takes}.",
            "If the server is vLLM, llama.cpp or SGLang, add extended=1 after the model name: it then supports "
            "top_k and, except for llama.cpp, min_new_tokens. Otherwise choose other decoding settings, such as "
            "--decoding greedy.",
        )
    body: dict[str, Any] = {options.limit: decoding.max_new_tokens, "temperature": decoding.temperature or 0}
    if not decoding.is_greedy:
        body["top_p"] = 1.0 if decoding.top_p is None else decoding.top_p
    if decoding.stop:
        body["stop"] = list(decoding.stop)
    if options.extended:
        body |= {
            "top_k": decoding.top_k or -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "repeat_penalty": 1.0,
        }
        if decoding.min_new_tokens:
            body["min_tokens"] = decoding.min_new_tokens
    return body


def sample_body(
    prompt: str,
    sample: int,
    decoding: Decoding,
    decided: Mapping[str, Any],
    options: HttpOptions,
    messages: Messages | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Return the request for one sample of one prompt. decided: result of `decoding_body`.

    messages: of a chat, instead of the prompt. key: text on which the seed depends, if it is not the prompt.
    """
    body = dict(decided)
    if messages is not None:
        body["messages"] = [dict(message) for message in messages]
        if options.logprobs:
            body["logprobs"] = True
    elif options.chat:
        system = [] if options.system is None else [{"role": "system", "content": options.system}]
        body["messages"] = [*system, {"role": "user", "content": prompt}]
        if options.logprobs:
            body["logprobs"] = True
    else:
        body["prompt"] = prompt
        if options.logprobs:
            body["logprobs"] = 1
    if options.seeded and not decoding.is_greedy:
        body["seed"] = continuation_key(decoding.seed, prompt if key is None else key, sample) % SEEDS
    return body


def is_written(answer: Answer, decoding: Decoding, allow_longer: str = "") -> bool:
    """Return whether a response contains a continuation or a reason for none, so that it is worth storing."""
    return read_written(answer, decoding, allow_longer).error in (None, ResponseError.REFUSED)


def read_written(answer: Answer, decoding: Decoding, allow_longer: str = "") -> ServedText:
    """Return the continuation in a response.

    A stop by a filter and a refusal of a chat are REFUSED rows. A chat message without text (`content: null`, or a list
    without a text part) is an UNPARSABLE row, because an empty text would be classified as a response. If the server
    does not state whether the end token or a stop string ended the text, the stop strings of the decoding decide.
    allow_longer: how to treat a text above the token limit (`HttpOptions.allow_longer`); its finish is "cut" or
    "longer".
    """
    if answer.error is not None:
        code, detail = row_error(answer)
        return ServedText(error=code, detail=detail)
    choice = first_choice(answer.body)
    if choice is None:
        code, detail = without_choice(answer)
        return ServedText(error=code, detail=detail)
    message = choice.get("message")
    text = choice.get("text") if message is None else _content(message)
    why = choice.get("finish_reason") or None
    if not isinstance(why, str | None) or (why not in FINISHES and why != FILTERED):
        return _unparsable(f"the server stopped for a reason that is not known: {str(why)[:100]}")
    if why == FILTERED:
        return ServedText(error=ResponseError.REFUSED, detail="stopped by the server's content filter")
    if isinstance(message, dict) and message.get("refusal"):
        return ServedText(error=ResponseError.REFUSED, detail=str(message["refusal"])[:500])
    if not isinstance(text, str):
        return _unparsable(f"the answer contains no text{NO_TEXT_AT_LIMIT if why in LIMITED else ''}")
    listed = listed_tokens(choice)
    if isinstance(listed, str):
        return _unparsable(listed)
    tokens = tuple(listed or ())
    count = len(tokens) or token_count((answer.body or {}).get("usage"), "completion_tokens")
    too_much = excess(text, count, decoding.max_new_tokens)
    if too_much and not allow_longer:
        detail = f"the server wrote {too_much} ({HINT})"
        return ServedText(error=ResponseError.MODEL_ERROR, detail=detail)
    if tokens and not spells([token for token, _ in tokens], text, decoding.stop):
        return _unparsable("the tokens that it lists with log probabilities do not spell its text")
    finish = _finish(choice, why, count, decoding)
    places = [place for place in map(text.find, decoding.stop) if place >= 0]
    if places:
        text, finish = text[: min(places)], "stop"
    if too_much and allow_longer == WHOLE:
        return ServedText(text, "stop" if finish == "stop" else "longer", count, tokens)
    if too_much:
        limit, shown = decoding.max_new_tokens, count if tokens else _shown_tokens(answer, count, len(text))
        kept, first = shorten_response(text, tokens, shown, limit)
        return ServedText(kept, finish if kept == text else "cut", len(first) or min(shown, limit), first)
    return ServedText(text, finish, count, tokens)


def _shown_tokens(answer: Answer, count: int, length: int) -> int:
    """Return how many of the server's tokens are in the first `length` characters, without hidden reasoning."""
    body = answer.body or {}
    usage, choice = body.get("usage"), first_choice(body) or {}
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    shown = max(count - token_count(details, "reasoning_tokens"), 0)
    message = choice.get("message")
    whole = choice.get("text") if message is None else _content(message)
    return ceil(shown * length / max(len(str(whole or "")), 1))


def listed_tokens(choice: Mapping[str, Any]) -> list[tuple[str, float]] | str | None:
    """Return the tokens of a response with their log probabilities, in either of the two formats; None if missing.

    Returns the reason as text if the values cannot be log probabilities of tokens. A token without a value (such as the
    first of an echoed text) gets NaN. So does a value below LEAST: some servers write -9999 for unknown values.

    >>> listed_tokens({"logprobs": {"tokens": ["He", " is"], "token_logprobs": [None, 0.5]}})
    "it gives the token ' is' the log probability 0.5"
    """
    listed = choice.get("logprobs")
    listed = {} if listed is None else listed
    if not isinstance(listed, dict):
        return "its log probabilities are no object"
    if listed.get("content") is not None:
        entries = listed["content"]
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            return "its log probabilities are not a list of tokens"
        pairs = [(entry.get("token"), entry.get("logprob")) for entry in entries]
    elif listed.get("tokens") is not None and listed.get("token_logprobs") is not None:
        tokens, values = listed["tokens"], listed["token_logprobs"]
        if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
            return "its tokens and their log probabilities are not as many"
        pairs = list(zip(tokens, values, strict=True))
    else:
        return None
    read: list[tuple[str, float]] = []
    for token, value in pairs:
        if not isinstance(token, str):
            return f"it lists the token {str(token)[:50]}"
        number = _log_probability(value, first=not read)
        if number is None:
            return f"it gives the token {token[:50]!r} the log probability {str(value)[:50]}"
        read.append((token, number))
    return read


def _log_probability(value: Any, *, first: bool) -> float | None:
    """Return a value as a number, NaN if it is missing; None if it cannot be a log probability."""
    # the first token of an echoed text has no context, so it has no value
    if value is None or (first and value != value):
        return nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not value <= ROUNDING:
        return None
    return nan if value < LEAST else min(float(value), 0.0)


def token_number(token: str) -> int:
    """Return an integer for a token of a server that gives no ids; equal tokens get equal integers.

    >>> token_number(" she") == token_number(" she") != token_number(" he")
    True
    """
    return zlib.crc32(token.encode(errors="surrogatepass")) & 0x7FFFFFFF


def without_choice(answer: Answer) -> tuple[ResponseError, str]:
    """Return the error code and message of a response without a choice."""
    error = (answer.body or {}).get("error")
    if error:  # some routers report failures in a response with status 200
        return ResponseError.MODEL_ERROR, f"the server answered the error {error}"[:500]
    return ResponseError.UNPARSABLE, "the answer holds no choice, or none of index 0"


def _content(message: Any) -> str | None:
    if not isinstance(message, dict) or message.get("tool_calls") or message.get("function_call"):
        return None
    content = message.get("content")
    if isinstance(content, list):
        parts = [
            part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"
        ]
        texts = [part for part in parts if isinstance(part, str)]
        return "".join(texts) if texts else None
    return content if isinstance(content, str) else None


def _finish(choice: Mapping[str, Any], why: str | None, count: int, decoding: Decoding) -> Finish:
    if why in LIMITED or (why is None and count >= decoding.max_new_tokens):
        return "length"
    if why == "stop_sequence":
        return "stop"
    if why == "stop" and decoding.stop:
        # vLLM and SGLang name the stop string here; null or the id of the end token then mean the end
        for name in ("stop_reason", "matched_stop"):
            if name in choice:
                return "stop" if choice[name] in decoding.stop else "end"
        return "stop"
    return "end"


def _unparsable(detail: str) -> ServedText:
    return ServedText(error=ResponseError.UNPARSABLE, detail=detail)
