"""A language model as judge of other models' continuations: how surprising does it find them?

It stands here because it is a model behind the classifiers' contract, and those two rooms do not know each other.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.classifiers.contract import Judgements
from evenhand.models.contract import LanguageModel
from evenhand.runs.requests import fingerprint_digest
from evenhand.schema import Unsupported


class PerplexityJudge:
    """Perplexity of each text behind its context, as another language model sees it.

    `score` is the perplexity, exp(-log-likelihood / tokens) over the text's own tokens; there is no label and no
    verdict. Source: ROBBIE, section B.1.4 (there the judge was text-davinci-002, which is no longer served).

    >>> from evenhand.models.puppets import load_puppet
    >>> judge = PerplexityJudge(load_puppet("puppet/uniform"))
    >>> float(judge.classify([" a cook."], ["The man worked as"]).score[0].round(3))
    7.389
    """

    labels: tuple[str, ...] = ("perplexity",)
    reads_context = True

    def __init__(self, model: LanguageModel):
        if model.architecture == "masked":
            raise Unsupported(
                f"{model.fingerprint.get('name', 'This model')} fills in masks and has no perplexity.",
                "Name a causal or encoder-decoder model as judge of perplexity.",
            )
        self.model = model
        self.judged = 0

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The judging model's own."""
        name = str(self.model.fingerprint.get("name", type(self.model).__name__))
        return {
            "name": f"perplexity under {name}",
            "kind": "perplexity",
            "model": fingerprint_digest(self.model.fingerprint),
        }

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Judgements:
        """Perplexity of each text; a text the model cannot score is an error row."""
        answers = self.model.log_likelihoods(texts, contexts)
        self.judged += len(texts)
        counts, sums = answers.counts, answers.sums
        per_token = np.divide(sums, counts, out=np.full(len(texts), np.nan), where=counts > 0)
        with np.errstate(over="ignore"):  # a text the model holds impossible is infinitely perplexing
            perplexity = np.exp(-per_token)
        return Judgements(
            scores=perplexity.astype(np.float32)[:, None],
            labels=[None] * len(texts),
            score=perplexity,
            negative=[None] * len(texts),
            errors=list(answers.errors),
            details=list(answers.details) or [None] * len(texts),
        )

    def describe(self) -> dict[str, Any]:
        """Facts for the manifest and the report."""
        return {**self.fingerprint, "texts_judged": self.judged, "judge": self.model.describe()}
