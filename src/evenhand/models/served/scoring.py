"""Score texts with a server that echoes a prompt with the log probabilities of its tokens, and check these values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from evenhand.models.served.requests import MALFORMED, row_error
from evenhand.models.served.spelling import PART, Token, align
from evenhand.models.served.writing import listed_tokens, token_number, without_choice
from evenhand.schema import ModelError, ResponseError, Unsupported
from evenhand.services import Answer, first_choice

Ask = Callable[[dict[str, Any]], Answer]
PROBES = (
    "The capital of France is",
    "She opened the door and",
    "One, two, three,",
    "My favourite colour is",
    "When it rains, most people",
)
PROBE_TOKENS = 4
FEWEST = 4
"""Minimum number of compared tokens for the check of a server."""
TOLERANCE = 0.1
"""Largest accepted difference, in nats, between a token's log probability when generated and
when echoed (16-bit noise).
"""


def echo_body(prompt: str, written: int) -> dict[str, Any]:
    """Return the request that scores a text. written: number of tokens to generate after it; some servers require 1."""
    return {"prompt": prompt, "max_tokens": written, "temperature": 0, "echo": True, "logprobs": 1}


def read_echo(choice: Mapping[str, Any], prompt: str) -> list[Token] | str:
    """Return the tokens of the prompt in a response, or a text that states why it is invalid."""
    listed = listed_tokens(choice)
    if listed is None:
        return "the answer lists no tokens with log probabilities"
    return listed if isinstance(listed, str) else align(listed, prompt)


@dataclass(frozen=True)
class ScoredText:
    """The scored tokens of one text, or the reason why there are none."""

    log_probs: tuple[float, ...] = ()
    numbers: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    error: ResponseError | None = None
    detail: str | None = None


READABLE = (None, ResponseError.NO_SCORED_TOKEN)
"""Result of `read_scored` for responses that are worth storing."""


def read_scored(answer: Answer, prompt: str, boundary: int, span: tuple[int, int] | None) -> ScoredText:
    """Return the scored tokens of the text that begins at character `boundary` of a prompt.

    A token that crosses the boundary belongs to the text. span: characters of the text; only tokens that overlap it are
    scored.
    """
    if answer.error is not None:
        code, detail = row_error(answer)
        return ScoredText(error=code, detail=detail)
    choice = first_choice(answer.body)
    if choice is None:
        code, detail = without_choice(answer)
        return ScoredText(error=code, detail=detail)
    tokens = read_echo(choice, prompt)
    if isinstance(tokens, str):
        return ScoredText(error=ResponseError.UNPARSABLE, detail=tokens)
    low, high = (boundary, len(prompt)) if span is None else (boundary + span[0], boundary + span[1])
    scored = [token for token in tokens if token.end > low and token.start < high]
    # servers give no value for the first token, because nothing precedes it
    scored = [token for token in scored if not (token is tokens[0] and np.isnan(token.log_prob))]
    if not scored:
        why = "no token has anything before it to be predicted from"
        return ScoredText(error=ResponseError.NO_SCORED_TOKEN, detail=f"{why} (see the option `start`)")
    values = tuple(token.log_prob for token in scored)
    untold = [token.text for token in scored if np.isnan(token.log_prob)]
    if untold:
        lacking = f"the server gave no log probability of the token {untold[0][:50]!r} that can be one"
        return ScoredText(error=ResponseError.NOT_FINITE, detail=lacking)
    starts = tuple(max(0, token.start - boundary) for token in scored)
    return ScoredText(values, tuple(token_number(token.text) for token in scored), starts)


def check_echo(ask: Ask, name: str) -> int:
    """Check whether a server's echoed log probabilities are correct.

    A short text is generated with log probabilities. It is then appended to its prompt and echoed, and the same tokens
    must get the same values. ask: function that sends one request to /completions. name: of the model, for messages.
    Returns the number of tokens that must be generated after an echo (0 or 1). Raises Unsupported, with the reason, if
    the server cannot score, or gives wrong values (for example each token the value of its neighbour). Source: the
    documented `echo` and `logprobs` of the completions interface.
    """
    written = _least_written(ask, name)
    compared: list[tuple[str, float, float]] = []
    for prompt in PROBES:
        body = {"prompt": prompt, "max_tokens": PROBE_TOKENS, "temperature": 0, "logprobs": 1}
        choice = _first_choice_or_error(ask(body), name)
        listed = listed_tokens(choice)
        if not isinstance(listed, list):
            raise _unsupported_error(
                name,
                _impossible(listed) or "does not return log-probabilities of the tokens that it generates",
            )
        written_tokens = list(takewhile(_is_whole, listed))
        continuation = "".join(token for token, _ in written_tokens)
        if not continuation or not str(choice.get("text")).startswith(continuation):
            continue  # the text ended at once, or the listed tokens do not spell it
        again = _read_echo(ask(echo_body(prompt + continuation, written)), prompt + continuation, name)
        behind = [token for token in again if token.start >= len(prompt)]
        # while the text is split into the generated tokens, each token has the same context as when it was generated
        for (token, value), echoed in zip(written_tokens, behind, strict=False):
            if token != echoed.text:
                break
            compared.append((token, value, echoed.log_prob))
    if len(compared) < FEWEST:
        raise _unsupported_error(
            name, "splits a text into other tokens than it generates, so it could not be checked"
        )
    for token, once, later in compared:
        if not abs(once - later) <= TOLERANCE:
            raise _unsupported_error(
                name,
                f"gave the token {token!r} {once:.3f} nats when it generated it and {later:.3f} when it echoed it "
                "(some servers are off by one token)",
            )
    return written


def _least_written(ask: Ask, name: str) -> int:
    answer, written = ask(echo_body(PROBES[0], 0)), 0
    if answer.status in MALFORMED:
        answer, written = ask(echo_body(PROBES[0], 1)), 1
    _read_echo(answer, PROBES[0], name)
    return written


def _read_echo(answer: Answer, text: str, name: str) -> list[Token]:
    listed = listed_tokens(_first_choice_or_error(answer, name))
    if not isinstance(listed, list):
        raise _unsupported_error(name, _impossible(listed) or "does not return log-probabilities")
    tokens = align(listed, text)
    if isinstance(tokens, str):
        raise _unsupported_error(name, f"does not echo the tokens of the prompt: {tokens}")
    return tokens


def _is_whole(listed: tuple[str, float]) -> bool:
    return bool(listed[0]) and PART not in listed[0] and not listed[0].startswith("bytes:")


def _first_choice_or_error(answer: Answer, name: str) -> Mapping[str, Any]:
    if answer.error is not None:
        if answer.status in MALFORMED:
            raise _unsupported_error(name, f"refuses to score: {answer.detail}")
        raise ModelError(
            f"The server of {name!r} could not be tested: {answer.detail}.", "Run the command again later."
        )
    choice = first_choice(answer.body)
    if choice is None:
        raise _unsupported_error(name, "returned no choice")
    return choice


def _impossible(listed: str | None) -> str | None:
    return listed and f"returns impossible log-probabilities: {listed}"


def _unsupported_error(name: str, reason: str) -> Unsupported:
    return Unsupported(
        f"The likelihoods of the server of {name!r} cannot be used: it {reason}.",
        "Use vLLM's /v1/completions, or load the model's weights locally. Benchmarks of generated text need no "
        "likelihoods.",
    )
