"""What is asked of a model, and the name by which an answer is found again: a hash of its content."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.models.contract import Masking
from evenhand.models.decoding import Decoding


@dataclass(frozen=True)
class ScoreRequest:
    """Ask for likelihoods. `masking` for masked models (see LanguageModel.log_likelihoods);
    `keep_tokens` stores per-token values, which some measures need."""

    masking: Masking | None = None
    keep_tokens: bool = False


@dataclass(frozen=True)
class GenerateRequest:
    """Ask for continuations, written as `decoding` says (see TextGenerator.generate)."""

    decoding: Decoding


Request = ScoreRequest | GenerateRequest


def fingerprint_digest(fingerprint: Mapping[str, Any]) -> str:
    """A model's fingerprint as 64 hex characters, the same whatever the order of its keys.

    Arguments: fingerprint: what `LanguageModel.fingerprint` gives; must be JSON-serialisable.
    Raises TypeError if it is not. Source: DESIGN.md, "The engine".

    >>> fingerprint_digest({"name": "a", "dtype": "f"}) == fingerprint_digest({"dtype": "f", "name": "a"})
    True
    """
    canonical = json.dumps(fingerprint, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.blake2b(canonical.encode(), digest_size=32).hexdigest()


def request_ids(
    texts: Sequence[str],
    contexts: Sequence[str | None] | None,
    spans: Sequence[tuple[int, int] | None] | None,
    request: ScoreRequest,
    fingerprint: Mapping[str, Any],
) -> list[str]:
    """The identity of each request: 32 hex characters of its content, never of its position or path.

    `keep_tokens` is left out: it says what is stored of an answer, not what is asked, so two
    benchmarks that share a text share its answer.

    Arguments: texts: n strings. contexts, spans: n values (or None) as for
    LanguageModel.log_likelihoods; a list of Nones is the same as None. request: kind and parameters.
    fingerprint: of the model that answers.
    Returns: n identifiers. Raises ValueError if the lengths differ.
    Source: DESIGN.md, "The engine".

    >>> model = {"name": "a model"}
    >>> one, two = request_ids(["Hi.", "Hello."], None, None, ScoreRequest(), model)
    >>> one == two, one == request_ids(["Hi."], [None], [None], ScoreRequest(), model)[0]
    (False, True)
    """
    parameters = {"kind": "log_likelihood", "masking": request.masking}
    question = hashlib.blake2b(digest_size=16)
    question.update(fingerprint_digest(fingerprint).encode())
    question.update(json.dumps(parameters, sort_keys=True).encode() + b"\n")
    if contexts is None and spans is None:
        bare = question.copy()
        bare.update(_surroundings(None, None))
        return [_extended(bare, text.encode()) for text in texts]
    everything = zip(texts, contexts or [None] * len(texts), spans or [None] * len(texts), strict=True)
    return [
        _extended(question, _surroundings(context, span) + text.encode())
        for text, context, span in everything
    ]


def _surroundings(context: str | None, span: tuple[int, int] | None) -> bytes:
    # Lengths first: a context that ends like a text begins must not be mistaken for another pair.
    where = "-" if span is None else f"{span[0]}:{span[1]}"
    if context is None:
        return f"{where} -\n".encode()
    encoded = context.encode()
    return f"{where} {len(encoded)}\n".encode() + encoded


def _extended(question: "hashlib.blake2b", content: bytes) -> str:
    digest = question.copy()
    digest.update(content)
    return digest.hexdigest()
