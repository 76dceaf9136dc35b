"""Send requests to a served model, or answer them from the store of earlier responses."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evenhand.schema import ModelError, ResponseError, without_surrogates
from evenhand.services import ABSENT, Answer, AnswerStore, Refusals, ServiceClient, answer_key

MALFORMED = frozenset({400, 422})
HARMLESS = "The weather is fine today."
ASKED = frozenset({"prompt", "messages", "seed"})
LONGEST_NAME = 100
MOST_TOKENS = 10**9


class ServedModel:
    """One model on one server.

    client: client of the server. model: its name there. store: store of valid responses; None: none.
    """

    def __init__(self, client: ServiceClient, model: str, store: AnswerStore | None):
        self.client, self.model, self.store = client, model, store
        self._refusals = Refusals(client)
        self.from_store = 0
        self.tokens: Counter[str] = Counter()
        self.system_fingerprints: Counter[str] = Counter()

    def describe(self) -> dict[str, Any]:
        """Return facts for the manifest: calls, tokens according to the server, and the number
        of stored responses that were used.
        """
        return {
            **self.client.describe(),
            "tokens": dict(sorted(self.tokens.items())),
            "answers_from_store": self.from_store,
            "store": None if self.store is None else str(self.store.path),
            "system_fingerprints": dict(self.system_fingerprints),
        }

    def ask(self, path: str, body: dict[str, Any]) -> Answer:
        """Send one request without the store. Raises ModelError if the server does not have the path or model."""
        answer = self._check_answer(path, self.client.post(path, {"model": self.model, **body}))
        self._count(answer)
        return answer

    def ask_all(
        self,
        path: str,
        bodies: Sequence[dict[str, Any]],
        keys: Sequence[str],
        good: Callable[[int, Answer], bool],
        settled: dict[str, Answer] | None = None,
    ) -> list[Answer]:
        """Send all requests and return the responses in order.

        Requests with equal keys are sent once, and requests in the store are not sent.

        bodies: requests of one form, without the model. keys: keys in the store. good: function of a response and the
        index of its request that returns whether it is readable, and therefore worth storing; unreadable stored
        responses are requested again. settled: dict that collects responses and refusals by key, for use if this method
        raises. Raises ModelError if the server does not have the path or model or refuses requests of this form, and
        EvenhandError if it is down.
        """
        places = {key: i for i, key in reversed(list(enumerate(keys)))}
        kept = {} if self.store is None else self.store.get(keys)
        stored = {
            key: answer
            for key, body in kept.items()
            if good(places[key], answer := Answer(200, body, None, None, 0, 0.0))
        }
        self.from_store += len(stored)
        settled = {} if settled is None else settled
        settled |= stored
        sent = sorted(place for key, place in places.items() if key not in stored)
        doubtful: dict[str, Answer] = {}  # refused responses whose reason is not known yet
        form = _form(path, bodies[0]) if bodies else ""
        self._refusals.begin(form, stored=bool(stored))

        def on_answer(number: int, answer: Answer) -> None:
            place = sent[number]
            key, body = keys[place], bodies[place]
            if answer.error is None:
                settled[key] = answer
                if self.store is not None and good(place, answer):
                    self.store.put(key, answer.body or {})
            elif answer.refusal is not None:
                doubtful[key] = answer
            self._count(answer)
            hint = "Change the decoding settings, or the options after the model name."
            self._refusals.record_answer(
                key, answer, lambda: self._harmless(path, body), form=form, hint=hint
            )
            for known in doubtful.keys() - set(self._refusals.row):
                settled[known] = doubtful.pop(known)

        got = self.client.post_all(path, [{"model": self.model, **bodies[i]} for i in sent], on_answer)
        by_key = settled | {keys[i]: answer for i, answer in zip(sent, got, strict=True)}
        return [by_key[key] for key in keys]

    def _harmless(self, path: str, body: dict[str, Any]) -> Answer:
        """Return the response to a request of the same form about a harmless text."""
        if "messages" in body:
            other: dict[str, Any] = {
                "messages": [*body["messages"][:-1], {"role": "user", "content": HARMLESS}]
            }
        else:
            other = {"prompt": HARMLESS}
        return self._check_answer(path, self.client.post(path, {"model": self.model, **body, **other}))

    def names(self) -> list[str]:
        """Return the names of the models that the server lists; empty if it has no list."""
        answer = self.client.get("/models")
        entries = (answer.body or {}).get("data") if answer.error is None else None
        listed = entries if isinstance(entries, list) else []
        names = [entry.get("id") for entry in listed if isinstance(entry, dict)]
        return sorted(name for name in names if isinstance(name, str))

    def _check_answer(self, path: str, answer: Answer) -> Answer:
        if answer.status in ABSENT:
            others = {
                "/completions": "chat completions, add ?chat=1",
                "/chat/completions": "plain completions, do not add chat=1",
            }
            raise ModelError(
                f"{self.client.base_url}{path} returned an error for the model {self.model!r}: {answer.detail}.",
                "Check the model name and the end of the URL (usually /v1). If the server supports only "
                f"{others.get(path, 'the other API')} to the model name.",
            )
        return answer

    def _count(self, answer: Answer) -> None:
        body = answer.body or {}
        usage = body.get("usage")
        for name in ("prompt_tokens", "completion_tokens"):
            self.tokens[name] += token_count(usage, name)
        if isinstance(body.get("system_fingerprint"), str):
            self.system_fingerprints[without_surrogates(body["system_fingerprint"][:LONGEST_NAME])] += 1


def token_count(usage: Any, name: str) -> int:
    """Return a number of tokens from a server's usage data; 0 if it is missing or invalid.

    >>> token_count({"prompt_tokens": 3}, "prompt_tokens"), token_count({"prompt_tokens": True}, "prompt_tokens")
    (3, 0)
    """
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count <= MOST_TOKENS else 0


def _form(path: str, body: Mapping[str, Any]) -> str:
    """Return the form of a request: everything except the text and the seed. Servers accept or refuse
    forms as a whole.
    """
    return answer_key(path, {name: value for name, value in body.items() if name not in ASKED})


def row_error(answer: Answer) -> tuple[ResponseError, str]:
    """Return the error code and message of a request without a response.

    >>> refusal = Answer(400, None, ResponseError.MODEL_ERROR, "This model's maximum context length is 8", 1, 0.1)
    >>> row_error(refusal)[0].value
    'too_long'
    """
    assert answer.error is not None, "a good answer has no error"
    return answer.refusal or answer.error, answer.detail or answer.error.value
