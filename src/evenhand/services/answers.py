"""Interpret a response of a service: a result, a refusal, or a failure that may be retried."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.schema import ResponseError, parse_json, without_surrogates
from evenhand.services.pace import seconds_asked_for
from evenhand.services.redaction import Redaction

PASSING = frozenset({408, 409, 425, 429})
"""Status codes of refusals that a retry may remove, in addition to all codes from 500 on."""
OUT_OF_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
KEY_REFUSED = frozenset({401, 403})
ABSENT = frozenset({404, 405, 501})
LENGTH_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
LENGTH_WORDS = ("maximum context length", "context window", "exceeds the available context size")
FILTER_CODES = frozenset({"content_filter", "content_policy_violation"})
DEEPEST = 64
"""Maximum depth of nested lists and objects in a response; deeper ones could not be stored or displayed."""

# for an unreadable response: characters in a message, and bytes that are searched for keys
SHOWN, READ = 200, 1 << 14
NO_SECRETS = Redaction({})


@dataclass(frozen=True)
class Answer:
    """The outcome of one request to a service, after all attempts."""

    status: int | None
    """Status of the last attempt; None if no response came."""
    body: dict[str, Any] | None
    """JSON object of a successful response, or of a refusal that has one. It has at most DEEPEST levels."""
    error: ResponseError | None
    """None if the response is successful; otherwise TIMED_OUT, QUOTA or MODEL_ERROR."""
    detail: str | None
    """Message for the error, in the service's own words if it gave any."""
    attempts: int
    seconds: float
    """Duration of the last attempt, without pauses."""

    @property
    def reason(self) -> str:
        """Return what failed in two words, for counts.

        Examples
        --------
        >>> Answer(503, None, ResponseError.MODEL_ERROR, "status 503: busy", 1, 0.1).reason
        'status 503'
        """
        if self.error is ResponseError.TIMED_OUT:
            return "timed out"
        if self.status is None:
            return "connection"
        return "broken JSON" if 200 <= self.status < 300 else f"status {self.status}"

    @property
    def code(self) -> str | None:
        """Return the service's own error code, such as "context_length_exceeded"; None if it gives none."""
        error = (self.body or {}).get("error")
        code = (error.get("code") or error.get("type")) if isinstance(error, dict) else None
        return None if code is None else str(code)

    @property
    def refusal(self) -> ResponseError | None:
        """Return the reason why the service refused this particular request; None for a response and for other
        failures.

        >>> Answer(413, None, ResponseError.MODEL_ERROR, "status 413: too large", 1, 0.1).refusal.value
        'request_refused'
        >>> Answer(404, None, ResponseError.MODEL_ERROR, "status 404: no such model", 1, 0.1).refusal is None
        True
        """
        if self.error is None or self.error is ResponseError.QUOTA or self.status is None:
            return None
        if self.code in FILTER_CODES:
            return ResponseError.REFUSED
        if not 400 <= self.status < 500 or self.status in PASSING | ABSENT:
            return None
        words = (self.detail or "").lower()
        long = self.code in LENGTH_CODES or any(phrase in words for phrase in LENGTH_WORDS)
        return ResponseError.TOO_LONG if long else ResponseError.REQUEST_REFUSED


@dataclass(frozen=True)
class Attempt:
    """One attempt, and whether a retry may help."""

    answer: Answer
    passing: bool = False
    retry_after: float | None = None
    """Seconds to wait that the service requests."""
    connected: bool = True
    """Whether a connection was established."""


def read_response(
    status: int,
    headers: Mapping[str, str],
    content: bytes,
    attempts: int,
    seconds: float,
    redaction: Redaction = NO_SECRETS,
) -> Attempt:
    """Interpret a complete response.

    headers: with lower-case names. attempts, seconds: for the Answer. redaction: of the secrets that were sent.

    >>> attempt = read_response(429, {"retry-after": "2"}, b'{"error": {"message": "slow down"}}', 1, 0.1)
    >>> attempt.answer.error.value, attempt.answer.detail, attempt.passing, attempt.retry_after
    ('quota', 'status 429: slow down', True, 2.0)
    """
    try:
        value, readable = parse_json(content), True
    except ValueError:  # also raised for invalid UTF-8
        value, readable = None, False
    shallow = _is_shallow(value)
    body = redaction.value(value) if isinstance(value, dict) and shallow else None
    if 200 <= status < 300:
        if body is not None:
            return Attempt(Answer(status, body, None, None, attempts, seconds))
        what = "that is not a JSON object" if shallow else f"nested in more than {DEEPEST} levels"
        detail = f"answered {status} with content {what}: {_quote_content(content, redaction)}"
        return Attempt(
            Answer(status, None, ResponseError.MODEL_ERROR, detail, attempts, seconds), passing=not readable
        )
    # on one line, because a separate line could look like one of our log, or like a command to the log of a job
    message = " ".join(_message(body, content, headers, redaction).split())
    detail = without_surrogates(f"status {status}: {message}")
    refusal = Answer(status, body, ResponseError.MODEL_ERROR, detail, attempts, seconds)
    if status == 402 or refusal.code in OUT_OF_CREDIT:  # waiting does not add credit to an account
        return Attempt(Answer(status, body, ResponseError.QUOTA, detail, attempts, seconds))
    if status == 429:
        refusal = Answer(status, body, ResponseError.QUOTA, detail, attempts, seconds)
    return Attempt(refusal, status in PASSING or status >= 500, seconds_asked_for(headers))


def first_choice(body: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the choice with index 0 of a response in OpenAI's form, wherever it is in the list.

    If no choice has an index, there is only one, and it is returned. Returns None if there is no such choice.

    Examples
    --------
    >>> first_choice({"choices": [{"index": 1, "text": "b"}, {"index": 0, "text": "a"}]})
    {'index': 0, 'text': 'a'}
    >>> first_choice({"choices": [{"text": "a"}]}), first_choice({"choices": [{"index": 1, "text": "b"}]})
    ({'text': 'a'}, None)
    """
    choices = (body or {}).get("choices")
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        return None
    if all(choice.get("index") is None for choice in choices):
        return choices[0] if choices else None
    return next((choice for choice in choices if type(i := choice.get("index")) is int and i == 0), None)


def _message(
    body: dict[str, Any] | None, content: bytes, headers: Mapping[str, str], redaction: Redaction
) -> str:
    """Return the service's own message; OpenAI, Google and FastAPI have it in different fields."""
    place: Any = body or {}
    for name in ("error", "message", "detail"):
        if isinstance(place, dict) and place.get(name):
            place = place[name]
    if isinstance(place, str):
        return place[:500]
    if "location" in headers:
        return f"moved to {redaction.text(headers['location'])[:500]}"
    return _quote_content(content, redaction)


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [inner for item in level if isinstance(item, dict | list) for inner in _list_elements(item)]
    return not level


def _list_elements(item: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return item.values() if isinstance(item, dict) else item


def _quote_content(content: bytes, redaction: Redaction) -> str:
    return " ".join(redaction.text(content[:READ].decode(errors="replace"))[:SHOWN].split()) or "nothing"
