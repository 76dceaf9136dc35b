"""Moderation services in OpenAI's format: categories of harm with a score each, several texts a request."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from evenhand.classifiers.contract import Judgements
from evenhand.classifiers.services.asking import (
    AskedOnce,
    Row,
    Told,
    failure_code,
    judgements,
    key_from_environment,
    telling_the_rest,
)
from evenhand.schema import Card, Number, ResponseError, Whole, options_of, typed_options, unknown_name
from evenhand.services import Answer, AnswerStore, ServiceClient, answer_key, answer_store_path

CARD = Card(
    name="moderation",
    summary="A moderation service that speaks OpenAI's format: harmful categories with scores.",
    construct="Whether a text breaks the rules of the service's owner (hate, harassment, violence, ...).",
    harm="What it calls harmful: any category flagged by the service, unless you name categories.",
    groups="Some categories name protected groups; none is told apart.",
    direction="A higher score is more harmful.",
    critique="Unpublished training data, and rules and models that change; what is pinned is only a name.",
    citation="Markov et al. 2023, A Holistic Approach to Undesired Content Detection, arXiv:2208.03274.",
    licence="Terms of the service; needs a key.",
    source="https://platform.openai.com/docs/guides/moderation",
)

OPENAI = "https://api.openai.com/v1"
PATH = "moderations"
MODEL = "omni-moderation-latest"
CATEGORIES = (
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/intent",
    "self-harm/instructions",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
)


def load(options: Mapping[str, Any]) -> "Moderation":
    """The classifier. Options, all optional:

    url (https://api.openai.com/v1), model (omni-moderation-latest: give a dated one to pin it), categories (with
    commas; OpenAI's thirteen), harmful (categories that count; all), threshold (a score; without it the service's own
    flags decide), texts_per_request (16), concurrency, per_minute, timeout, attempts, key_variable
    (OPENAI_API_KEY), revision (of the model behind your own address), store (file of kept answers).
    Raises UsageError for wrong options, EvenhandError without a key where OpenAI is asked.
    """
    return _load(**typed_options("the classifier 'moderation'", options, options_of(_load)))


def _load(
    *,
    url: str = "",
    model: str = MODEL,
    categories: tuple[str, ...] = CATEGORIES,
    harmful: tuple[str, ...] = (),
    threshold: Number | None = None,
    texts_per_request: Whole = 16,
    concurrency: Whole = 8,
    per_minute: Number | None = None,
    attempts: Whole = 6,
    timeout: Number = 60.0,
    pause: Number = 1.0,
    key_variable: str = "OPENAI_API_KEY",
    revision: str | None = None,
    store: str | None = None,
) -> "Moderation":
    url, model = (url or OPENAI).rstrip("/").removesuffix(f"/{PATH}"), model or MODEL
    for name in harmful:
        if name not in categories:
            raise unknown_name("moderation category", name, categories)
    key = key_from_environment(
        key_variable, urlsplit(url).hostname == urlsplit(OPENAI).hostname, "moderation"
    )
    client = ServiceClient(
        url,
        headers={"Authorization": f"Bearer {key}"} if key else None,
        concurrency=concurrency,
        attempts=attempts,
        timeout=timeout,
        pause=pause,
        per_minute=per_minute,
        key_variable=key_variable,
    )
    kept = AnswerStore(store or answer_store_path("moderation"))
    return Moderation(
        client,
        kept,
        model,
        categories,
        harmful=harmful,
        threshold=threshold,
        at_once=texts_per_request,
        revision=revision,
    )


class Moderation:
    """A moderation service behind the Classifier contract; made by `load`.

    score: the largest among the categories that count. negative: any of them flagged by the service, or scored at
    least `threshold`. label: the highest of them, where negative.
    """

    reads_context = False

    def __init__(
        self,
        client: ServiceClient,
        store: AnswerStore,
        model: str = MODEL,
        categories: Sequence[str] = CATEGORIES,
        *,
        harmful: Sequence[str] = (),
        threshold: float | None = None,
        at_once: int = 16,
        revision: str | None = None,
    ):
        self.labels = tuple(dict.fromkeys(categories))
        self.model, self.harmful, self.threshold, self.revision = model, tuple(harmful), threshold, revision
        self._service: AskedOnce[str] = AskedOnce(
            client,
            store,
            PATH,
            body=self._body,
            read=self._read,
            at_once=at_once,
            harmless="Good morning.",
        )
        self._texts = 0
        self._answered: Counter[str] = Counter()

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """Address, model, categories and the rule of the verdict."""
        return {
            "kind": "moderation",
            "name": "moderation",
            "revision": self.revision or self.model,
            "model": self.model,
            "url": self._address,
            "labels": list(self.labels),
            "harmful": list(self.harmful),
            "threshold": self.threshold,
        }

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Judgements:
        """Judge each text; see Classifier.classify. Contexts are not read.

        Error rows: empty_text, unparsable (an answer without known categories), quota, timed_out,
        refused, too_long, request_refused, classifier_error. Raises EvenhandError if the key or every request is
        refused or nothing can be reached.
        """
        questions = {self._key(text): text for text in texts if text.strip()}
        self._texts += len(set(texts))
        told: dict[str, Told] = {}
        keys = [[self._key(text)] if text.strip() else [] for text in texts]
        with telling_the_rest(self, keys, told, lambda i: self._row(texts[i], told)):
            self._service.tell(questions, told)
        for answer in told.values():
            self._answered[str((answer.body or {}).get("model"))] += answer.body is not None
        return judgements([self._row(text, told) for text in texts], len(self.labels))

    def describe(self) -> dict[str, Any]:
        """Model (as asked for, and as the service names it), rule, what was asked and found in the store."""
        return {
            "name": "moderation",
            "revision": self.fingerprint["revision"],
            "licence": "terms of the service",
            "url": self._address,
            "models_answered": dict(+self._answered),
            "labels": list(self.labels),
            "negative": list(self.harmful or self.labels),
            "threshold": "the service's own flags" if self.threshold is None else self.threshold,
            "device": "service",
            "texts": self._texts,
            "store": str(self._service.store.path),
            **self._service.describe(),
        }

    @property
    def _address(self) -> str:
        return self._service.client.base_url

    def _key(self, text: str) -> str:
        return answer_key(f"{self._address}/{PATH}", self.model, self.revision, text)

    def _body(self, texts: Sequence[str]) -> dict[str, Any]:
        return {"model": self.model, "input": list(texts)}

    def _read(self, answer: Answer, texts: Sequence[str]) -> list[Told] | None:
        if answer.error is ResponseError.QUOTA or answer.error is ResponseError.TIMED_OUT:
            return [Told(None, answer.error, answer.detail)] * len(texts)
        if answer.error is not None:  # too long, or a server that takes one text at a time
            return None if len(texts) > 1 else [Told(None, failure_code(answer), answer.detail)]
        results = (answer.body or {}).get("results")
        if not isinstance(results, list) or len(results) != len(texts):
            return None
        model = (answer.body or {}).get("model")
        return [self._told(result, model) for result in results]

    def _told(self, result: Any, model: Any) -> Told:
        scores = result.get("category_scores") if isinstance(result, dict) else None
        known = [name for name in self.labels if isinstance(scores, dict) and _is_number(scores.get(name))]
        if lacking := [name for name in self.harmful if name not in known] or (
            [] if known else list(self.labels)
        ):
            has = ", ".join(scores) if isinstance(scores, dict) and scores else str(result)[:200]
            return Told(
                None, ResponseError.UNPARSABLE, f"no score for {', '.join(lacking)}; the answer has {has}"
            )
        return Told({**result, "model": model})

    def _row(self, text: str, told: Mapping[str, Told]) -> Row:
        if not text.strip():
            return Row(error=ResponseError.EMPTY_TEXT)
        answer = told[self._key(text)]
        if answer.body is None:
            return Row(error=answer.error, detail=answer.detail)
        # read again: another choice of categories may have kept this answer
        again = self._told(answer.body, answer.body.get("model"))
        if again.body is None:
            return Row(error=again.error, detail=again.detail)
        found = answer.body["category_scores"]
        flags = answer.body.get("categories")
        scores = {name: float(found[name]) for name in self.labels if _is_number(found.get(name))}
        counting = {name: scores[name] for name in self.harmful or scores}
        highest = max(counting, key=lambda name: counting[name])
        if self.threshold is not None:
            negative = counting[highest] >= self.threshold
        elif not self.harmful and isinstance(answer.body.get("flagged"), bool):
            negative = answer.body["flagged"]
        elif isinstance(flags, dict) and any(isinstance(flags.get(name), bool) for name in counting):
            negative = any(flags.get(name) is True for name in counting)
        else:
            return Row(
                error=ResponseError.UNPARSABLE,
                detail="no flags in the answer; give threshold=, a score that counts",
            )
        return Row(
            scores=[scores.get(name, float("nan")) for name in self.labels],
            label=highest if negative else None,
            score=counting[highest],
            negative=negative,
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
