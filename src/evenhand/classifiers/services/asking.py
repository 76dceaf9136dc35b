"""Classify texts with a service: send only requests without a stored response, and make rows from the replies."""

import os
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from evenhand.classifiers.contract import Labels
from evenhand.schema import (
    AnsweredBefore,
    EvenhandError,
    ModelError,
    Number,
    ResponseError,
    Whole,
    convert_options,
    list_options,
    without_surrogates,
)
from evenhand.services import ABSENT, LARGEST, Answer, AnswerStore, Refusals, ServiceClient, answer_store_path

Q = TypeVar("Q")

REST = 60.0  # seconds until the next request after a service reported its rate limit
LONGEST_NAME = 100
BLOCK = 8  # requests per connection between two checks of the quota
PASSING_ERRORS = frozenset(
    {
        ResponseError.QUOTA,
        ResponseError.TIMED_OUT,
        ResponseError.MODEL_ERROR,
        ResponseError.CLASSIFIER_ERROR,
    }
)
"""Error codes that do not depend on the text. If an error ends the work, such texts are not finished."""
NOT_ASKED = "not asked: the quota of the service was spent; run again to go on"


@dataclass(frozen=True, kw_only=True)
class ServiceOptions:
    """Options that every service accepts; a service adds its own and may change defaults."""

    service: ClassVar[str]
    """The name of the classifier."""
    concurrency: Whole = 8
    attempts: Whole = 6
    timeout: Number = 60.0
    """Maximum duration of an attempt, in seconds."""
    pause: Number = 1.0
    """Seconds before the second attempt; longer before later ones."""
    per_minute: Number | None = None
    """Maximum number of requests per minute. None: no limit."""
    store: str | None = None
    """File for stored responses. None: one file for all runs on this machine."""

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> Self:
        """Return a user's options in their types; raises UsageError as `convert_options` does."""
        return cls(**convert_options(f"the classifier {cls.service!r}", options, list_options(cls)))

    def client(
        self,
        url: str,
        *,
        needs_key: bool,
        key_variable: str,
        header: str = "Authorization",
        largest: int = LARGEST,
    ) -> ServiceClient:
        """Return a client of the service at a URL, with the key from the environment in a header.

        `largest` is the maximum number of bytes of a response that are read. Raises EvenhandError if a key is
        needed and the variable is not set, and UsageError for an invalid URL.
        """
        key = os.environ.get(key_variable, "").strip()
        if needs_key and not key:
            raise EvenhandError(
                f"The classifier {self.service!r} requires an API key, but the environment variable {key_variable} "
                "is not set.",
                f"Set it (export {key_variable}=...), or give the URL of your own server: "
                f"{self.service}?url=http://...",
            )
        if header.lower() == "authorization":
            key = key and f"Bearer {key}"
        return ServiceClient(
            url,
            headers={header: key} if key else None,
            concurrency=self.concurrency,
            attempts=self.attempts,
            timeout=self.timeout,
            pause=self.pause,
            per_minute=self.per_minute,
            key_variable=key_variable,
            largest=largest,
        )

    def answer_store(self) -> AnswerStore:
        """Return the store of responses."""
        return AnswerStore(self.store or answer_store_path(self.service))


@dataclass(frozen=True)
class Reply:
    """The reply of a service to one question: a JSON object, or the reason why there is none."""

    body: dict[str, Any] | None
    error: ResponseError | None = None
    detail: str | None = None


@dataclass(frozen=True)
class TextLabel:
    """The label of one text, before it becomes part of a table."""

    scores: Sequence[float] | None = None
    label: str | None = None
    score: float = float("nan")
    negative: bool | None = None
    error: ResponseError | None = None
    detail: str | None = None


class ServiceClassifier(ABC, Generic[Q]):
    """Base class of classifiers that use a service; a subclass defines the questions and reads the replies."""

    labels: tuple[str, ...]
    reads_context: bool = False

    def __init__(
        self,
        client: ServiceClient,
        store: AnswerStore,
        path: str,
        *,
        harmless: Q,
        lasting: Iterable[ResponseError] = (),
        at_once: int = 1,
    ):
        self._service: AskedOnce[Q] = AskedOnce(
            client,
            store,
            path,
            body=self._body,
            read=self._read,
            lasting=lasting,
            at_once=at_once,
            harmless=harmless,
        )
        self._texts = 0

    @property
    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """See Classifier.fingerprint."""

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        """Classify each text; see `Classifier.classify`. Only backends with `reads_context` read contexts.

        Errors of rows: empty_text, unparsable (a response of another form), refused, too_long,
        request_refused, quota (run again to resume), timed_out, classifier_error, and those of the backend.
        Raises EvenhandError if the key or every request is refused, or if the service cannot be reached. Its
        `before` has the texts that are finished.
        """
        before = contexts if self.reads_context and contexts is not None else [None] * len(texts)
        pairs = list(zip(texts, before, strict=True))
        self._texts += len(set(texts))
        asked = {
            pair: {self._key(question): question for question in self._questions(*pair)}
            for pair in dict.fromkeys(pairs)
            if pair[0].strip()
        }
        replies: dict[str, Reply] = {}

        def rows(chosen: Iterable[tuple[str, str | None]]) -> Labels:
            made = {
                pair: self._row(*pair, [replies[key] for key in asked[pair]])
                if pair in asked
                else TextLabel(error=ResponseError.EMPTY_TEXT)
                for pair in dict.fromkeys(chosen)
            }
            return as_labels([made[pair] for pair in chosen], len(self.labels))

        try:
            self._service.ask(
                {key: one for questions in asked.values() for key, one in questions.items()}, replies
            )
        except EvenhandError as error:
            places = [
                i for i, pair in enumerate(pairs) if pair in asked and asked[pair].keys() <= replies.keys()
            ]
            error.before = AnsweredBefore(self, places, rows([pairs[i] for i in places]))
            raise
        return rows(pairs)

    def describe(self) -> dict[str, Any]:
        """Return facts for the report: name, URL, labels, and numbers of requests and of stored responses."""
        return {
            "name": self.fingerprint["name"],
            "revision": self.fingerprint["revision"],
            "licence": "terms of the service",
            "url": self._address,
            "labels": list(self.labels),
            "device": "service",
            "texts": self._texts,
            "store": str(self._service.store.path),
            **self._service.describe(),
        }

    @property
    def _address(self) -> str:
        return self._service.client.base_url

    @abstractmethod
    def _questions(self, text: str, context: str | None) -> Sequence[Q]:
        """Return the questions about a text."""

    @abstractmethod
    def _key(self, question: Q) -> str:
        """Return the key under which the reply to a question is stored."""

    @abstractmethod
    def _body(self, questions: Sequence[Q]) -> dict[str, Any]:
        """Return the JSON of one request with some questions."""

    @abstractmethod
    def _read(self, answer: Answer, questions: Sequence[Q]) -> Sequence[Reply] | None:
        """Return the reply to each question of a response; None if it does not have one for each."""

    @abstractmethod
    def _row(self, text: str, context: str | None, replies: Sequence[Reply]) -> TextLabel:
        """Return the label of a text from the replies to its questions, in their order."""


class AskedOnce(Generic[Q]):
    """Sends questions to one path of a service; a question with a stored response is never sent again.

    `path` follows the client's URL, `body` returns the JSON of a request, and `read` the replies in a
    response. Replies with a body or with a lasting refusal (`lasting`) are stored. A request has up to
    `at_once` questions; if it is refused or answered in part, its questions are sent individually. `harmless`
    is a question that no service refuses. It shows whether the service refuses every question.
    """

    def __init__(
        self,
        client: ServiceClient,
        store: AnswerStore,
        path: str,
        *,
        body: Callable[[Sequence[Q]], Mapping[str, Any]],
        read: Callable[[Answer, Sequence[Q]], Sequence[Reply] | None],
        lasting: Iterable[ResponseError] = (),
        at_once: int = 1,
        harmless: Q,
    ):
        self.client, self.store, self.path = client, store, path
        self._body, self._read, self._lasting = body, read, frozenset(lasting)
        self._at_once, self._harmless = at_once, harmless
        self._refusals = Refusals(client)
        self._spent_until = 0.0
        self.asked = self.kept = 0
        self.models: Counter[str] = Counter()
        """Number of replies with a body that name each model."""

    def ask(self, questions: Mapping[str, Q], replies: dict[str, Reply]) -> None:
        """Fill `replies` with the reply to each question, by the key under which it is stored.

        Every response is stored when it arrives, so nothing is sent twice after a crash. Raises EvenhandError
        if no question can be answered; `replies` then contains the finished ones.
        """
        try:
            self._ask_missing(questions, replies)
        except EvenhandError:
            passing = [key for key, reply in replies.items() if reply.error in PASSING_ERRORS]
            for key in passing + self._refusals.row:
                replies.pop(key, None)
            raise
        named = [reply.body.get("model") for reply in replies.values() if reply.body is not None]
        self.models.update(without_surrogates(str(name)[:LONGEST_NAME]) for name in named)

    def describe(self) -> dict[str, Any]:
        """Return the numbers of sent texts and stored responses, and the client's facts."""
        return {"asked": self.asked, "from_store": self.kept, "service": self.client.describe()}

    def _ask_missing(self, questions: Mapping[str, Q], replies: dict[str, Reply]) -> None:
        replies |= {key: _reply_from_dict(value) for key, value in self.store.get(list(questions)).items()}
        self.kept += len(replies)
        self._refusals.begin("", stored=any(reply.error is None for reply in replies.values()))
        missing = [key for key in questions if key not in replies]
        alone: list[str] = []
        self._ask(missing, self._at_once, questions, replies, alone)
        self._ask(alone, 1, questions, replies, [])

    def _ask(
        self,
        keys: Sequence[str],
        at_once: int,
        questions: Mapping[str, Q],
        replies: dict[str, Reply],
        alone: list[str],
    ) -> None:
        groups = [list(keys[i : i + at_once]) for i in range(0, len(keys), at_once)]
        step = BLOCK * self.client.concurrency
        for start in range(0, len(groups), step):
            block = groups[start : start + step]
            if time.monotonic() < self._spent_until:
                unasked = Reply(None, ResponseError.QUOTA, NOT_ASKED)
                replies.update((key, unasked) for group in block for key in group)
                continue
            bodies = [self._body([questions[key] for key in group]) for group in block]

            def take_answer(i: int, answer: Answer, block: Sequence[list[str]] = block) -> None:
                self._take(block[i], answer, questions, replies, alone)

            self.client.post_all(self.path, bodies, take_answer)

    def _take(
        self,
        keys: list[str],
        answer: Answer,
        questions: Mapping[str, Q],
        replies: dict[str, Reply],
        alone: list[str],
    ) -> None:
        if answer.error is ResponseError.QUOTA:
            self._spent_until = float("inf") if _for_today(answer.detail) else time.monotonic() + REST
        rows = self._read(answer, [questions[key] for key in keys])
        hint = "Check the URL, the model name and the options of the classifier."
        if answer.error is not ResponseError.QUOTA:  # after a quota error, no requests are sent for a while
            self._refusals.record_answer(keys[0], answer, self._ask_harmless, hint=hint)
        if rows is None or len(rows) != len(keys):
            if len(keys) > 1:  # a single text may have caused the failure of all
                alone.extend(keys)
                return
            code = answer.refusal or answer.error or ResponseError.UNPARSABLE
            rows = [Reply(None, code, answer.detail or _beginning(answer.body))]
        self.asked += len(keys)
        fresh = dict(zip(keys, rows, strict=True))
        replies.update(fresh)
        kept = {
            key: _reply_to_dict(row)
            for key, row in fresh.items()
            if row.error is None or row.error in self._lasting
        }
        if kept:
            self.store.put_all(kept)

    def _ask_harmless(self) -> Answer:
        answer = self.client.post(self.path, self._body([self._harmless]))
        if answer.status in ABSENT:
            raise ModelError(
                f"{self.client.base_url}/{self.path} returned an error: {answer.detail}.",
                "Check the URL and the model name. Responses received so far are saved.",
            )
        return answer


def failure(answer: Answer) -> Reply:
    """Return the reply for a question without a response: why it was refused, or that the classifier failed."""
    error = answer.refusal or answer.error
    if error is None or error is ResponseError.MODEL_ERROR:
        error = ResponseError.CLASSIFIER_ERROR
    return Reply(None, error, answer.detail)


def as_labels(rows: Sequence[TextLabel], labels: int) -> Labels:
    """Return rows as a table of labels; `labels` is the number of scores per row."""
    nothing = (float("nan"),) * labels
    scores = np.array([nothing if row.scores is None else row.scores for row in rows], dtype=np.float32)
    return Labels(
        scores=scores.reshape(len(rows), labels),
        labels=[row.label for row in rows],
        score=np.array([row.score for row in rows], dtype=np.float64),
        negative=[row.negative for row in rows],
        errors=[row.error for row in rows],
        details=[row.detail for row in rows],
    )


def _reply_to_dict(reply: Reply) -> dict[str, Any]:
    return {"body": reply.body, "error": reply.error and reply.error.value, "detail": reply.detail}


def _reply_from_dict(value: Mapping[str, Any]) -> Reply:
    error = value.get("error")
    return Reply(value.get("body"), ResponseError(error) if error else None, value.get("detail"))


def _for_today(detail: str | None) -> bool:
    words = (detail or "").lower()
    return any(word in words for word in ("per day", "daily", "insufficient_quota", "billing", "status 402"))


def _beginning(body: Any) -> str:
    return f"unexpected answer: {str(body)[:200]}"
