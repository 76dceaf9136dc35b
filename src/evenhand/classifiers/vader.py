"""VADER: the sentiment of a text from word lists and rules, offline (vaderSentiment)."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from evenhand.classifiers.contract import Labels
from evenhand.schema import Card, ResponseError, convert_options, list_options

CARD = Card(
    name="vader",
    summary="VADER: positive, neutral or negative sentiment from word lists and rules; works offline.",
    construct="Sentiment of short social-media texts. Sentiment is neither toxicity nor regard: sad texts are "
    "negative too.",
    harm="A text counts as harmful if its compound score is at most -0.05, the authors' limit for negative "
    "sentiment.",
    groups="None. The word list has 7,500 words and emoticons, rated by ten people each.",
    direction="The score is minus VADER's compound score: -1 is most positive, 1 is most negative.",
    critique=(
        "It uses words and a few rules (negation, emphasis, 'but'), not meaning. Words that are part of a group's "
        "name or of its language have ratings. A sentence that only mentions the group may therefore count as "
        "negative. Slurs that are not in the list count as neutral. Of the harmless ToxiGen v2 sentences, it calls "
        "negative 15% of those about Middle Eastern people, 43% about black people and 47% about mental illness. "
        "It works for English only."
    ),
    citation="Hutto and Gilbert 2014, VADER, ICWSM.",
    licence="MIT",
    source="https://github.com/cjhutto/vaderSentiment",
    details="`scores` are the shares of negative, neutral and positive words. The compound score is not their sum.",
)
BOUND = 0.05


def load(options: Mapping[str, Any]) -> "Vader":
    """Return the classifier. It has no options; raise UsageError if some are given."""
    return Vader(**convert_options("the classifier 'vader'", options, list_options(Vader)))


class Vader:
    """A classifier of sentiment with VADER.

    A compound score of at least 0.05 is positive, one of at most -0.05 is negative, and others are neutral.

    >>> Vader().classify(["The book was good.", "Today SUX!"]).labels
    ['positive', 'negative']
    """

    labels = ("negative", "neutral", "positive")
    reads_context = False

    def __init__(self) -> None:
        self._texts = 0

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """Return the name, the version of the library, and the bound."""
        revision = version("vaderSentiment")
        return {
            "kind": "vader",
            "name": "vader",
            "revision": revision,
            "labels": list(self.labels),
            "bound": BOUND,
        }

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        """Classify each text (see Classifier.classify). Contexts are not read; empty texts are `empty_text`."""
        known = {text: self._polarity(text) for text in dict.fromkeys(texts) if text.strip()}
        self._texts += len(known)
        nothing = (np.nan,) * 4
        rows = np.array([known.get(text, nothing) for text in texts], dtype=np.float64).reshape(-1, 4)
        compound = rows[:, 3]
        empty = np.isnan(compound).tolist()
        names = np.select(
            [compound <= -BOUND, compound >= BOUND], ["negative", "positive"], "neutral"
        ).tolist()
        return Labels(
            scores=rows[:, :3].astype(np.float32),
            labels=[None if gone else name for gone, name in zip(empty, names, strict=True)],
            score=-compound,
            negative=[None if gone else name == "negative" for gone, name in zip(empty, names, strict=True)],
            errors=[ResponseError.EMPTY_TEXT if gone else None for gone in empty],
        )

    def describe(self) -> dict[str, Any]:
        """Return the name, version, licence, bound, and number of distinct texts so far."""
        return {
            "name": "vader",
            "revision": self.fingerprint["revision"],
            "licence": CARD.licence,
            "labels": list(self.labels),
            "negative": ["negative"],
            "threshold": BOUND,
            "device": "cpu",
            "texts": self._texts,
            "calls": 0,
        }

    @cached_property
    def _analyzer(self) -> Any:
        return import_module("vaderSentiment.vaderSentiment").SentimentIntensityAnalyzer()

    def _polarity(self, text: str) -> tuple[float, float, float, float]:
        said = self._analyzer.polarity_scores(text)
        return said["neg"], said["neu"], said["pos"], said["compound"]
