"""What judges over a network share: asking only what the store does not know, and stopping when the quota is spent."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from evenhand.classifiers.contract import Classifier, Judgements
from evenhand.schema import AnsweredBefore, EvenhandError, ModelError, ResponseError
from evenhand.services import ABSENT, Answer, AnswerStore, Refusals, ServiceClient

Q = TypeVar("Q")

REST = 60.0  # seconds after which a service that had enough for now is asked again
BLOCK = 8  # requests a connection between two looks at the quota
PASSING_ERRORS = frozenset(
    {
        ResponseError.QUOTA,
        ResponseError.TIMED_OUT,
        ResponseError.MODEL_ERROR,
        ResponseError.CLASSIFIER_ERROR,
    }
)
"""Codes that say nothing of the text: they settle nothing when an error ends the work."""
NOT_ASKED = "not asked: the quota of the service was spent; run again to go on"


@dataclass(frozen=True)
class Told:
    """What a service says of one text: a JSON object, or why there is none."""

    body: dict[str, Any] | None
    error: ResponseError | None = None
    detail: str | None = None


class AskedOnce(Generic[Q]):
    """Questions to one path of a service; what it has told once is never asked again, by any process.

    client, store: whom to ask and where answers are kept. path: behind the client's address. body: the JSON
    of one request for some questions. read: what an answer tells of each of its questions; Told with a body
    and Told of a lasting refusal (`lasting`) are kept. at_once: questions a request; a request of several that
    is refused or told of in part is asked again one by one. harmless: a question that no service refuses, by which
    one that takes no question at all is known.
    """

    def __init__(
        self,
        client: ServiceClient,
        store: AnswerStore,
        path: str,
        *,
        body: Callable[[Sequence[Q]], Mapping[str, Any]],
        read: Callable[[Answer, Sequence[Q]], Sequence[Told] | None],
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

    def tell(self, questions: Mapping[str, Q], told: dict[str, Told] | None = None) -> dict[str, Told]:
        """What the service says of each question, by its key.

        questions: by the key under which their answers are kept. Every answer is kept as it arrives, so that
        a process that dies has nothing to ask twice. told: filled with what is returned; where this raises, with
        what is settled. Raises EvenhandError where no question can be answered.
        """
        told = {} if told is None else told
        try:
            return self._told(questions, told)
        except EvenhandError:
            for key in [key for key, one in told.items() if one.error in PASSING_ERRORS] + self._refusals.row:
                told.pop(key, None)
            raise

    def _told(self, questions: Mapping[str, Q], told: dict[str, Told]) -> dict[str, Told]:
        told |= {key: _unpacked(value) for key, value in self.store.get(list(questions)).items()}
        self.kept += len(told)
        missing = [key for key in questions if key not in told]
        alone: list[str] = []
        self._ask(missing, self._at_once, questions, told, alone)
        self._ask(alone, 1, questions, told, [])
        return told

    def describe(self) -> dict[str, Any]:
        """Texts asked and found in the store, and the client's account of its requests."""
        return {"asked": self.asked, "from_store": self.kept, "service": self.client.describe()}

    def _ask(
        self,
        keys: Sequence[str],
        at_once: int,
        questions: Mapping[str, Q],
        told: dict[str, Told],
        alone: list[str],
    ) -> None:
        groups = [list(keys[i : i + at_once]) for i in range(0, len(keys), at_once)]
        step = BLOCK * self.client.concurrency
        for start in range(0, len(groups), step):
            block = groups[start : start + step]
            if time.monotonic() < self._spent_until:
                told.update(
                    (key, Told(None, ResponseError.QUOTA, NOT_ASKED)) for group in block for key in group
                )
                continue
            bodies = [self._body([questions[key] for key in group]) for group in block]

            def arrived(i: int, answer: Answer, block: Sequence[list[str]] = block) -> None:
                self._take(block[i], answer, questions, told, alone)

            self.client.post_all(self.path, bodies, arrived)

    def _take(
        self,
        keys: list[str],
        answer: Answer,
        questions: Mapping[str, Q],
        told: dict[str, Told],
        alone: list[str],
    ) -> None:
        if answer.error is ResponseError.QUOTA:
            self._spent_until = float("inf") if _for_today(answer.detail) else time.monotonic() + REST
        if answer.status in ABSENT and not self._client_answered():
            raise ModelError(
                f"{self.client.base_url}/{self.path} answers {answer.detail}.",
                "Are the address and the model's name right? What was answered before is kept.",
            )
        rows = self._read(answer, [questions[key] for key in keys])
        hint = "Are the address, the model's name and the classifier's options what the service takes?"
        self._refusals.hear(keys[0], answer, self._ask_harmless, hint=hint)
        if rows is None or len(rows) != len(keys):
            if len(keys) > 1:  # one text may have spoilt it for all
                alone.extend(keys)
                return
            code = answer.refusal or answer.error or ResponseError.UNPARSABLE
            rows = [Told(None, code, answer.detail or _beginning(answer.body))]
        self.asked += len(keys)
        fresh = dict(zip(keys, rows, strict=True))
        told.update(fresh)
        kept = {
            key: _packed(row) for key, row in fresh.items() if row.error is None or row.error in self._lasting
        }
        if kept:
            self.store.put_all(kept)

    def _ask_harmless(self) -> Answer:
        return self.client.post(self.path, self._body([self._harmless]))

    def _client_answered(self) -> bool:
        return self.kept > 0 or int(self.client.describe()["answered"]) > 0


def failure_code(answer: Answer) -> ResponseError:
    """The code of a text whose question got no answer: why it was refused, or that the classifier failed."""
    if answer.refusal is not None:
        return answer.refusal
    if answer.error is None or answer.error is ResponseError.MODEL_ERROR:
        return ResponseError.CLASSIFIER_ERROR
    return answer.error


@contextmanager
def telling_the_rest(
    classifier: Classifier,
    asked: Sequence[Iterable[str]],
    told: Mapping[str, Told],
    row: Callable[[int], "Row"],
) -> Iterator[None]:
    """While entered, an EvenhandError is told which texts are settled, so that they are not judged again.

    asked: the keys of each text's questions. told: as far as it came. row: makes the row of a text by its place.
    """
    try:
        yield
    except EvenhandError as error:
        places = [i for i, keys in enumerate(asked) if (needed := set(keys)) and needed <= told.keys()]
        found = judgements([row(i) for i in places], len(classifier.labels))
        error.before = AnsweredBefore(classifier, places, found)
        raise


@dataclass(frozen=True)
class Row:
    """The judgement of one text, before it becomes part of a table."""

    scores: Sequence[float] | None = None
    label: str | None = None
    score: float = float("nan")
    negative: bool | None = None
    error: ResponseError | None = None
    detail: str | None = None


def judgements(rows: Sequence[Row], labels: int) -> Judgements:
    """The table of some rows; labels: how many scores each has."""
    nothing = (float("nan"),) * labels
    scores = np.array([nothing if row.scores is None else row.scores for row in rows], dtype=np.float32)
    return Judgements(
        scores=scores.reshape(len(rows), labels),
        labels=[row.label for row in rows],
        score=np.array([row.score for row in rows], dtype=np.float64),
        negative=[row.negative for row in rows],
        errors=[row.error for row in rows],
        details=[row.detail for row in rows],
    )


def key_from_environment(variable: str, needed: bool, owner: str) -> str | None:
    """A service's key. Raises EvenhandError if it is needed and the variable is not set."""
    import os

    key = os.environ.get(variable, "").strip()
    if needed and not key:
        raise EvenhandError(
            f"The classifier {owner!r} needs a key, and the environment variable {variable} is not set.",
            f"Set it (export {variable}=...), or give the address of a service of your own: {owner}?url=http://...",
        )
    return key or None


def _packed(told: Told) -> dict[str, Any]:
    return {"body": told.body, "error": told.error and told.error.value, "detail": told.detail}


def _unpacked(value: Mapping[str, Any]) -> Told:
    error = value.get("error")
    return Told(value.get("body"), ResponseError(error) if error else None, value.get("detail"))


def _for_today(detail: str | None) -> bool:
    said = (detail or "").lower()
    return any(word in said for word in ("per day", "daily", "insufficient_quota", "billing", "status 402"))


def _beginning(body: Any) -> str:
    return f"unexpected answer: {str(body)[:200]}"
