"""A served model's requests: answered from the store where they were paid for before, else by the server."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from evenhand.schema import ModelError, ResponseError
from evenhand.services import ABSENT, Answer, AnswerStore, Refusals, ServiceClient

MALFORMED = frozenset({400, 422})
HARMLESS = "The weather is fine today."


class ServedModel:
    """One model of one server.

    client: the way to the server. model: its name there. store: where good answers are kept; None: nowhere.
    """

    def __init__(self, client: ServiceClient, model: str, store: AnswerStore | None):
        self.client, self.model, self.store = client, model, store
        self._refusals = Refusals(client)
        self.from_store = 0
        self.tokens: Counter[str] = Counter()
        self.system_fingerprints: Counter[str] = Counter()

    def describe(self) -> dict[str, Any]:
        """Facts for the manifest: calls, tokens as the server counts them, answers that were there before."""
        return {
            **self.client.describe(),
            "tokens": dict(sorted(self.tokens.items())),
            "answers_from_store": self.from_store,
            "store": None if self.store is None else str(self.store.path),
            "system_fingerprints": dict(self.system_fingerprints),
        }

    def ask(self, path: str, body: dict[str, Any]) -> Answer:
        """One request, never from the store. Raises ModelError where the server has no such thing."""
        answer = self._checked(path, self.client.post(path, {"model": self.model, **body}))
        self._count(answer)
        return answer

    def ask_all(
        self,
        path: str,
        bodies: Sequence[dict[str, Any]],
        keys: Sequence[str],
        good: Callable[[Answer], bool],
        settled: dict[str, Answer] | None = None,
    ) -> list[Answer]:
        """All requests, in order; those with equal keys are asked once, those in the store not at all.

        bodies: without the model. keys: what answers are stored under. good: whether an answer is worth storing.
        settled: filled, by key, with what was answered and what was refused for its own sake; of use where this
        raises. Raises ModelError if the server has no such path or model, or takes no request of this form.
        """
        stored = {} if self.store is None else self.store.get(keys)
        self.from_store += len(stored)
        settled = {} if settled is None else settled
        settled |= {key: Answer(200, body, None, None, 0, 0.0) for key, body in stored.items()}
        places = {key: i for i, key in reversed(list(enumerate(keys))) if key not in stored}
        sent = sorted(places.values())
        doubtful: dict[str, Answer] = {}  # refused, and nobody knows yet whether for its own sake

        def on_answer(number: int, answer: Answer) -> None:
            key, body = keys[sent[number]], bodies[sent[number]]
            self._checked(path, answer)
            if good(answer):
                settled[key] = answer
                if self.store is not None:
                    self.store.put(key, answer.body or {})
            elif answer.refusal is not None:
                doubtful[key] = answer
            self._count(answer)
            hint = "Change the decoding, or the options behind the model's name, to what it takes."
            self._refusals.hear(key, answer, lambda: self._harmless(path, body), hint=hint)
            for known in doubtful.keys() - set(self._refusals.row):
                settled[known] = doubtful.pop(known)

        got = self.client.post_all(path, [{"model": self.model, **bodies[i]} for i in sent], on_answer)
        by_key = settled | {keys[i]: answer for i, answer in zip(sent, got, strict=True)}
        return [by_key[key] for key in keys]

    def _harmless(self, path: str, body: dict[str, Any]) -> Answer:
        """The answer to a request of the same form about a text that nobody refuses."""
        if "messages" in body:
            other: dict[str, Any] = {
                "messages": [*body["messages"][:-1], {"role": "user", "content": HARMLESS}]
            }
        else:
            other = {"prompt": HARMLESS}
        return self.client.post(path, {"model": self.model, **body, **other})

    def names(self) -> list[str]:
        """Models the server says it has; empty where it does not say."""
        answer = self.client.get("/models")
        entries = (answer.body or {}).get("data") if answer.error is None else None
        names = [entry.get("id") for entry in entries or [] if isinstance(entry, dict)]
        return sorted(name for name in names if isinstance(name, str))

    def _checked(self, path: str, answer: Answer) -> Answer:
        if answer.status in ABSENT:
            others = {"/completions": "?chat=1", "/chat/completions": "no chat=1"}
            raise ModelError(
                f"{self.client.base_url}{path} answers {answer.detail} for the model {self.model!r}.",
                f"Is the model's name right, and does the address end as the server's does (mostly in /v1)? If it "
                f"offers only the other way of asking, write {others.get(path, 'it')} behind the name.",
            )
        return answer

    def _count(self, answer: Answer) -> None:
        body = answer.body or {}
        usage = body.get("usage")
        for name in ("prompt_tokens", "completion_tokens"):
            if isinstance(usage, dict) and isinstance(usage.get(name), int):
                self.tokens[name] += usage[name]
        if isinstance(body.get("system_fingerprint"), str):
            self.system_fingerprints[body["system_fingerprint"]] += 1


def row_error(answer: Answer) -> tuple[ResponseError, str]:
    """The code and message of a request that got no answer.

    >>> refusal = Answer(400, None, ResponseError.MODEL_ERROR, "This model's maximum context length is 8", 1, 0.1)
    >>> row_error(refusal)[0].value
    'too_long'
    """
    assert answer.error is not None, "a good answer has no error"
    return answer.refusal or answer.error, answer.detail or answer.error.value
