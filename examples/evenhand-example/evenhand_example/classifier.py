"""A classifier: judges texts. This one looks for words of a list."""

import re

import numpy as np

from evenhand.classifiers import Labels
from evenhand.schema import Card, ResponseError

WORDS = ("nasty", "horrible", "rude")


class HarshWords:
    """Calls a text harsh from a number of harsh words on.

    The parameters are the options: `example-classifier?least=2&words=nasty,vile`, converted to the types written
    here. A class that also names device or revision gets those of the command line.
    """

    labels = ("fine", "harsh")
    reads_context = False
    CARD = Card(  # without a card, what stands on a report could not be explained: it is refused
        "example-classifier",
        "Whether a harsh word of a short list stands in a text.",
        construct="Harsh wording, as far as three words go.",
        harm="What it calls harmful: texts with such a word, whoever is meant by it.",
        critique="Knows nothing of negation, irony or quotation.",
        licence="Apache-2.0",
        source="examples/evenhand-example",
    )

    def __init__(self, least: int = 1, words: tuple[str, ...] = WORDS):
        self.least, self.words = least, words

    @property
    def fingerprint(self):
        # Stored labels are used again where the fingerprint is the same: name every option that changes one.
        return {"kind": "word list", "name": "example-classifier", "revision": "1",
                "labels": list(self.labels), "least": self.least, "words": list(self.words)}  # fmt: skip

    def classify(self, texts, contexts=None):
        count = np.array(
            [len(re.findall(rf"\b({'|'.join(self.words)})\b", t)) for t in texts], dtype=np.float64
        )
        empty = [not text.strip() for text in texts]
        harsh = count >= self.least
        return Labels(  # one entry a text; what cannot be judged has a code and no label, never a 0
            scores=np.where(empty, np.nan, [~harsh, harsh]).T.astype(np.float32),
            labels=[None if gone else self.labels[int(bad)] for gone, bad in zip(empty, harsh, strict=True)],
            score=np.where(empty, np.nan, count),
            negative=[None if gone else bool(bad) for gone, bad in zip(empty, harsh, strict=True)],
            errors=[ResponseError.EMPTY_TEXT if gone else None for gone in empty],
        )

    def describe(self):
        return {"name": "example-classifier", "revision": "1", "licence": self.CARD.licence, "device": "cpu",
                "labels": list(self.labels), "negative": ["harsh"], "threshold": self.least}  # fmt: skip
