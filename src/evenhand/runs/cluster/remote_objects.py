"""A model or classifier on the workers of a cluster, with the interface of a local one.

The caller need not divide or repair anything: a batch is sent in pieces and returned in order.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from evenhand.classifiers import Classifier, Labels
from evenhand.models import (
    Architecture,
    Decoding,
    Generations,
    LanguageModel,
    Likelihoods,
    TextGenerator,
    Texts,
    concatenate,
    reads_start_apart,
    room_for,
)
from evenhand.models.dialogue import error_generations, join_generations
from evenhand.runs.cluster.placement import RemoteObject
from evenhand.runs.cluster.pool import Pool
from evenhand.runs.cluster.worker import Recipe
from evenhand.schema import ResponseError, is_a


class RemoteModel(RemoteObject):
    """A language model that runs on workers of a cluster; see `load_remote_model`."""

    def __init__(self, pool: Pool, recipe: Recipe):
        super().__init__(pool, recipe, _model_facts)
        self.architecture: Architecture = self.facts["architecture"]
        self.reads_start_apart = bool(self.facts["reads_start_apart"])

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Score each text (see LanguageModel.log_likelihoods). A text on which workers crash becomes an error row."""
        asked = Texts.of(texts)
        n = len(asked.texts)
        if not n:
            return cast(Likelihoods, self.pool.apply(self.recipe, _score, asked))
        return cast(
            Likelihoods,
            self._divide_work(
                _score,
                lambda first, last: (asked.part(first, last),),
                n,
                _make_failed_likelihoods,
                lambda spans: concatenate([answer for *_, answer in spans], asked.want_starts),
            ),
        )


class RemoteGenerator(RemoteModel):
    """A text generator on the workers of a cluster (see `load_remote_model`)."""

    @property
    def conversations_at_once(self) -> int | None:
        """Return the sum across all copies of the best number of parallel conversations; None: any number."""
        each = self.facts["conversations_at_once"]
        return None if each is None else each * self.pool.number

    def room_for(self, prompts: Sequence[str]) -> list[int] | None:
        """Return how many tokens fit after each prompt, according to one of the workers."""
        return cast(list[int] | None, self.pool.apply(self.recipe, room_for, prompts))

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Continue each prompt (see TextGenerator.generate). A text on which workers crash becomes an error row."""
        n = len(prompts)
        if not n:
            return cast(Generations, self.pool.apply(self.recipe, _generate, prompts, decoding))
        return cast(
            Generations,
            self._divide_work(
                _generate,
                lambda first, last: (prompts[first:last], decoding),
                n,
                lambda why: error_generations([(ResponseError.MODEL_ERROR, why)], decoding.samples),
                lambda spans: join_generations(
                    [(range(first, last), answer) for first, last, answer in spans]
                ),
            ),
        )


class RemoteClassifier(RemoteObject):
    """A classifier that runs on workers of a cluster."""

    def __init__(self, pool: Pool, recipe: Recipe):
        super().__init__(pool, recipe, _classifier_facts)
        self.labels: tuple[str, ...] = tuple(self.facts["labels"])
        self.reads_context = bool(self.facts["reads_context"])

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        """Classify each text (see Classifier.classify). A text on which workers crash becomes an error row."""

        def piece(first: int, last: int) -> tuple[Any, ...]:
            return texts[first:last], None if contexts is None else contexts[first:last]

        if not texts:
            return cast(Labels, self.pool.apply(self.recipe, _classify, texts, contexts))
        width = len(self.labels)
        return cast(
            Labels,
            self._divide_work(
                _classify,
                piece,
                len(texts),
                lambda why: _make_failed_labels(why, width),
                lambda spans: _join_labels([answer for *_, answer in spans]),
            ),
        )


def load_remote_model(pool: Pool, recipe: Recipe) -> LanguageModel:
    """Return a model that a recipe creates on the workers of a pool. It generates text if the original does.

    Raises the errors of its creation on a worker.
    """
    model = RemoteModel(pool, recipe)
    return RemoteGenerator(pool, recipe) if model.facts["writes"] else model


def _model_facts(model: LanguageModel) -> dict[str, Any]:
    return {
        "architecture": model.architecture,
        "reads_start_apart": reads_start_apart(model),
        "writes": is_a(model, TextGenerator),
        "conversations_at_once": getattr(model, "conversations_at_once", None),
    }


def _classifier_facts(classifier: Classifier) -> dict[str, Any]:
    return {"labels": classifier.labels, "reads_context": classifier.reads_context}


def _score(model: LanguageModel, texts: Texts) -> Likelihoods:
    return model.log_likelihoods(texts)


def _generate(model: TextGenerator, prompts: Sequence[str], decoding: Decoding) -> Generations:
    return model.generate(prompts, decoding)


def _classify(classifier: Classifier, texts: Sequence[str], contexts: Sequence[str | None] | None) -> Labels:
    return classifier.classify(texts, contexts)


def _make_failed_likelihoods(why: str) -> Likelihoods:
    empty = np.zeros(0)
    return Likelihoods(
        offsets=np.zeros(2, np.int64),
        log_probs=empty.astype(np.float32),
        token_ids=empty.astype(np.int32),
        starts=empty.astype(np.uint32),
        errors=[ResponseError.MODEL_ERROR],
        details=[why],
    )


def _make_failed_labels(why: str, width: int) -> Labels:
    return Labels(
        scores=np.full((1, width), np.nan, np.float32),
        labels=[None],
        score=np.full(1, np.nan),
        negative=[None],
        errors=[ResponseError.CLASSIFIER_ERROR],
        details=[why],
    )


def _join_labels(parts: Sequence[Labels]) -> Labels:
    return Labels(
        scores=np.concatenate([part.scores for part in parts]),
        labels=[label for part in parts for label in part.labels],
        score=np.concatenate([part.score for part in parts]),
        negative=[verdict for part in parts for verdict in part.negative],
        errors=[error for part in parts for error in part.errors],
        details=[detail for part in parts for detail in part.details or [None] * len(part)],
    )
