"""Requests to a model, and the key under which a response is stored: a hash of the request's content."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.models import Decoding, Masking
from evenhand.schema import UsageError

TOKEN_COLUMNS = ("token_ids", "token_log_likelihoods", "token_starts")
"""Columns of a response with values per token, if its request keeps tokens."""


@dataclass(frozen=True)
class ScoreRequest:
    """A request for likelihoods.

    `masking` is for masked models (see `Texts`). `keep_tokens` stores values per token, which some measures
    need.
    """

    masking: Masking | None = None
    keep_tokens: bool = False


@dataclass(frozen=True)
class GenerateRequest:
    """A request for continuations, generated with `decoding` (see `TextGenerator.generate`)."""

    decoding: Decoding


@dataclass(frozen=True)
class ConversationRequest:
    """A request for conversations of `turns` utterances.

    The prompt is the first utterance. The speakers take turns, and each reply is generated with `decoding`
    (`conversing.py`). With two turns (an opener and its reply), several samples are allowed.

    Raises
    ------
    UsageError
        There are fewer than two turns, or several samples with more than two turns.
    """

    decoding: Decoding
    turns: int

    def __post_init__(self) -> None:
        if self.turns < 2 or (self.turns > 2 and self.decoding.samples != 1):
            raise UsageError(
                f"A conversation of {self.turns} turns with {self.decoding.samples} replies per turn is not "
                "supported.",
                "Use at least two turns and, with more than two, one reply per turn. For more conversations, "
                "give more openers.",
            )


Request = ScoreRequest | GenerateRequest | ConversationRequest


def count_samples(request: Request) -> int:
    """Return the number of response rows per request: its samples, or one likelihood.

    >>> count_samples(ScoreRequest())
    1
    """
    return 1 if isinstance(request, ScoreRequest) else request.decoding.samples


def count_rounds(request: Request) -> int:
    """Return how often each prompt is sent: once, or once for each utterance after an opener.

    >>> count_rounds(ScoreRequest())
    1
    """
    return request.turns - 1 if isinstance(request, ConversationRequest) else 1


def decoding_json(request: Request) -> str | None:
    """Return the decoding of a request as JSON with sorted keys; None for a request for likelihoods."""
    if isinstance(request, ScoreRequest):
        return None
    return json.dumps(request.decoding.parameters(), sort_keys=True)


def parse_decoding(stored: str) -> Decoding:
    """Return the decoding that `decoding_json` wrote.

    >>> decoding = Decoding(max_new_tokens=9, stop=("\\n",))
    >>> parse_decoding(decoding_json(GenerateRequest(decoding))) == decoding
    True
    """
    parameters = json.loads(stored)
    return Decoding(**{**parameters, "stop": tuple(parameters["stop"])})


def fingerprint_digest(fingerprint: Mapping[str, Any]) -> str:
    """Return the digest of a model's fingerprint, 64 hexadecimal characters.

    The order of the keys does not matter. Raises TypeError if the fingerprint is not JSON-serialisable.

    Examples
    --------
    >>> fingerprint_digest({"name": "a", "dtype": "f"}) == fingerprint_digest({"dtype": "f", "name": "a"})
    True
    """
    canonical = json.dumps(fingerprint, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.blake2b(canonical.encode(), digest_size=32).hexdigest()


def request_ids(
    texts: Sequence[str],
    contexts: Sequence[str | None] | None,
    spans: Sequence[tuple[int, int] | None] | None,
    request: Request,
    fingerprint: Mapping[str, Any],
    start_tokens: Sequence[str | None] | None = None,
) -> list[str]:
    """Return an identifier of each request that depends only on its content.

    Two benchmarks that share a text therefore share its response.

    Parameters
    ----------
    texts : sequence of str, length n
        The texts.
    contexts, spans, start_tokens : sequence, length n, or None
        As in `Texts`. A list of Nones is the same as None.
    request : Request
        Kind and parameters of the requests.
    fingerprint : mapping of str
        Fingerprint of the model.

    Returns
    -------
    list of str, length n
        32 hexadecimal characters each.

    Raises
    ------
    ValueError
        The lengths differ.

    Notes
    -----
    All options of a decoding count. `keep_tokens` does not, because it affects only what is stored.

    Examples
    --------
    >>> model = {"name": "a model"}
    >>> one, two = request_ids(["Hi.", "Hello."], None, None, ScoreRequest(), model)
    >>> one == two, one == request_ids(["Hi."], [None], [None], ScoreRequest(), model)[0]
    (False, True)
    """
    question = hashlib.blake2b(digest_size=16)
    question.update(fingerprint_digest(fingerprint).encode())
    question.update(json.dumps(_parameters(request), sort_keys=True).encode() + b"\n")
    if contexts is None and spans is None and start_tokens is None:
        bare = question.copy()
        bare.update(_surroundings(None, None))
        return [_extend_digest(bare, text.encode()) for text in texts]
    none = [None] * len(texts)
    everything = zip(texts, contexts or none, spans or none, start_tokens or none, strict=True)
    return [
        _extend_digest(question, _surroundings(context, span, start_token) + text.encode())
        for text, context, span, start_token in everything
    ]


def text_ids(texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> list[str]:
    """Return the ids of classified texts with their contexts, by which labels are stored: 32 hexadecimal characters
    each.

    texts: n strings. contexts: the text before each, for classifiers that read it. Returns n ids. Raises ValueError if
    the lengths differ.

    >>> bare, behind = text_ids(["is kind", "is kind"], [None, "She"])
    >>> bare == text_ids(["is kind"])[0], bare == behind
    (True, False)
    """
    empty = hashlib.blake2b(digest_size=16)
    return [
        _extend_digest(empty, _surroundings(context, None) + text.encode())
        for text, context in zip(texts, contexts or [None] * len(texts), strict=True)
    ]


def _parameters(request: Request) -> dict[str, Any]:
    if isinstance(request, ScoreRequest):
        return {"kind": "log_likelihood", "masking": request.masking}
    # a reply continues a history, so a shorter conversation shares the replies of a longer one
    return {"kind": "generate", "decoding": request.decoding.parameters()}


def _surroundings(context: str | None, span: tuple[int, int] | None, start_token: str | None = None) -> bytes:
    # lengths come first, so that moving characters between context and text gives another hash
    where = "-" if span is None else f"{span[0]}:{span[1]}"
    if start_token is not None:  # the default adds nothing, so that stored responses keep their keys
        where = f"{start_token} {where}"
    if context is None:
        return f"{where} -\n".encode()
    encoded = context.encode()
    return f"{where} {len(encoded)}\n".encode() + encoded


def _extend_digest(question: "hashlib.blake2b", content: bytes) -> str:
    digest = question.copy()
    digest.update(content)
    return digest.hexdigest()
