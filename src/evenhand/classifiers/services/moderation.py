"""Moderation services in OpenAI's format: one score per category of harm, several texts per request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar
from urllib.parse import urlsplit

from evenhand.classifiers.services.asking import Reply, ServiceClassifier, ServiceOptions, TextLabel, failure
from evenhand.schema import Card, Number, ResponseError, Whole, unknown_name
from evenhand.services import Answer, address_parts, answer_key

CARD = Card(
    name="moderation",
    summary="A moderation service with OpenAI's API: harmful categories with scores.",
    construct="Whether a text violates the rules of the service's owner (hate, harassment, violence, ...).",
    harm="A text counts as harmful if the service flags any category, or any of those that you name.",
    groups="Some categories are about protected groups, but groups are not distinguished.",
    direction="A higher score is more harmful.",
    critique="The training data are not published, and rules and models change. Only the name of the model can "
    "be pinned.",
    citation="Markov et al. 2023, A Holistic Approach to Undesired Content Detection, arXiv:2208.03274.",
    licence="Terms of the service; requires an API key.",
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
    """Return the classifier.

    Options, all optional, with defaults in parentheses:

    - url (https://api.openai.com/v1);
    - model (omni-moderation-latest): a name with a date pins the version;
    - categories (OpenAI's thirteen): separated by commas;
    - harmful (all): categories that count for the verdict;
    - threshold: a score; without it, the service's own flags decide;
    - texts_per_request (16), concurrency, per_minute, timeout, attempts, key_variable (OPENAI_API_KEY);
    - revision: version of a model at your own URL;
    - store: file for stored responses.

    Raises UsageError for invalid options, and EvenhandError if OpenAI is used without a key.
    """
    return Moderation(ModerationOptions.read(options))


@dataclass(frozen=True, kw_only=True)
class ModerationOptions(ServiceOptions):
    """The options of `load`."""

    service: ClassVar[str] = "moderation"
    url: str = ""
    model: str = MODEL
    categories: tuple[str, ...] = CATEGORIES
    harmful: tuple[str, ...] = ()
    threshold: Number | None = None
    texts_per_request: Whole = 16
    key_variable: str = "OPENAI_API_KEY"
    revision: str | None = None


class Moderation(ServiceClassifier[str]):
    """A moderation service as a classifier; `load` creates it.

    score: the largest score of the harmful categories. negative: True if the service flags one of them or, with
    `threshold`, if the score is at least `threshold`. label: the category with the largest score, if negative. Contexts
    are not read.
    """

    def __init__(self, options: ModerationOptions):
        self.labels = tuple(dict.fromkeys(options.categories))
        self.model, self.revision = options.model or MODEL, options.revision
        self.harmful, self.threshold = options.harmful, options.threshold
        for name in self.harmful:
            if name not in self.labels:
                raise unknown_name("moderation category", name, options.categories)
        url = (options.url or OPENAI).rstrip("/").removesuffix(f"/{PATH}")
        is_openai = address_parts(url).hostname == urlsplit(OPENAI).hostname
        super().__init__(
            options.client(url, needs_key=is_openai, key_variable=options.key_variable),
            options.answer_store(),
            PATH,
            at_once=options.texts_per_request,
            harmless="Good morning.",
        )

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """Return URL, model, categories and the rule of the verdict."""
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

    def describe(self) -> dict[str, Any]:
        """Return facts: model (as requested, and as the service names it), rule, and numbers
        of requests and stored responses.
        """
        return super().describe() | {
            "models_answered": dict(self._service.models),
            "negative": list(self.harmful or self.labels),
            "threshold": "the service's own flags" if self.threshold is None else self.threshold,
        }

    def _questions(self, text: str, context: str | None) -> list[str]:
        return [text]

    def _key(self, question: str) -> str:
        return answer_key(f"{self._address}/{PATH}", self.model, self.revision, question)

    def _body(self, questions: Sequence[str]) -> dict[str, Any]:
        return {"model": self.model, "input": list(questions)}

    def _read(self, answer: Answer, questions: Sequence[str]) -> list[Reply] | None:
        if answer.error is ResponseError.QUOTA or answer.error is ResponseError.TIMED_OUT:
            return [Reply(None, answer.error, answer.detail)] * len(questions)
        if answer.error is not None:  # the request is too long, or the server accepts only one text at a time
            return None if len(questions) > 1 else [failure(answer)]
        results = (answer.body or {}).get("results")
        if not isinstance(results, list) or len(results) != len(questions):
            return None
        model = (answer.body or {}).get("model")
        return [self._make_reply(result, model) for result in results]

    def _make_reply(self, result: Any, model: Any) -> Reply:
        """Return the reply for one text: its scores, or an error if none of the harmful categories has a score."""
        scores = result.get("category_scores") if isinstance(result, dict) else None
        known = [name for name in self.labels if isinstance(scores, dict) and _is_number(scores.get(name))]
        if lacking := [name for name in self.harmful if name not in known] or (
            [] if known else list(self.labels)
        ):
            has = ", ".join(scores) if isinstance(scores, dict) and scores else str(result)[:200]
            return Reply(
                None, ResponseError.UNPARSABLE, f"no score for {', '.join(lacking)}; the answer has {has}"
            )
        return Reply({**result, "model": model})

    def _row(self, text: str, context: str | None, replies: Sequence[Reply]) -> TextLabel:
        (reply,) = replies
        if reply.body is not None:
            # read again, because this response may have been stored for other categories
            reply = self._make_reply(reply.body, reply.body.get("model"))
        if reply.body is None:
            return TextLabel(error=reply.error, detail=reply.detail)
        category_scores = reply.body["category_scores"]
        flags = reply.body.get("categories")
        scores = {
            name: float(category_scores[name])
            for name in self.labels
            if _is_number(category_scores.get(name))
        }
        counting = {name: scores[name] for name in self.harmful or scores}
        highest = max(counting, key=lambda name: counting[name])
        if self.threshold is not None:
            negative = counting[highest] >= self.threshold
        elif not self.harmful and isinstance(reply.body.get("flagged"), bool):
            negative = reply.body["flagged"]
        elif isinstance(flags, dict) and any(isinstance(flags.get(name), bool) for name in counting):
            negative = any(flags.get(name) is True for name in counting)
        else:
            return TextLabel(
                error=ResponseError.UNPARSABLE,
                detail="no flags in the answer; give threshold=, a score that counts",
            )
        return TextLabel(
            scores=[scores.get(name, float("nan")) for name in self.labels],
            label=highest if negative else None,
            score=counting[highest],
            negative=negative,
        )


def _is_number(value: Any) -> bool:
    # NaN and infinity cannot be compared with a threshold, and a larger integer is not a score
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9
