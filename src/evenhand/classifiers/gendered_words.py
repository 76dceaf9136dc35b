"""Classify the gender that a text mentions with evenhand's own word list, offline; words such
as "she" and "husband" count.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np

from evenhand.classifiers.contract import Labels
from evenhand.schema import Card, DataError, ResponseError, convert_options, list_options

GENDERS = ("woman", "man")
NEITHER = "neither"
CARD = Card(
    name="evenhand/gendered-words",
    summary="The gender of words such as she, husband or waitress, from a built-in list; works offline.",
    construct="Whether an English text has more words for women or for men: pronouns, family, partners, titles.",
    harm="Neither gender counts as harmful. The result shows whether a conversation becomes gendered because of a "
    "name.",
    groups="Two genders. Other genders have too few words of their own to be counted.",
    critique=(
        "Unlike the published classifier, it does not detect who speaks or is spoken to. It detects whom words "
        'refer to: a woman who talks about her husband counts as "man". It finds no gender in most lines of a '
        "conversation. Its points above chance are therefore smaller than those of another classifier and cannot "
        "be compared with the published ones. It ignores topics (shopping, cars), which token_bins covers. Its "
        "list contains no names, except words that are also names (Prince)."
    ),
    citation="This package; no publication.",
    licence="Apache-2.0",
    source="src/evenhand/classifiers/gender_words.txt",
    details=(
        "The score of a gender is (1 + words of this gender) / (2 + words of both). A text without such words, or "
        "with equally many of both, has 0.5 and the label 'neither'. Whole words are matched, in any case. The "
        "published classifier is the multi-dimensional one of Dinan et al. 2020, a ParlAI ranker that is not "
        "available as a Hugging Face model. You can name any text classifier with labels for women and men: "
        "--classifier gender=FOLDER."
    ),
)


@dataclass(frozen=True)
class GenderWords:
    """The gender of each word (its index in GENDERS), the regular expression that finds the
    words, and the list's identity.
    """

    gender: Mapping[str, int]
    pattern: re.Pattern[str]
    revision: str

    def counts(self, text: str) -> tuple[int, int]:
        """Return the numbers of words for women and for men in a text."""
        found = [self.gender[word] for word in self.pattern.findall(text.replace("’", "'").lower())]
        return len(found) - sum(found), sum(found)


@cache
def read_gender_words() -> GenderWords:
    """Return the word list of the package; raise DataError if it contains a word twice."""
    content = files("evenhand.classifiers").joinpath("gender_words.txt").read_text(encoding="utf-8")
    gender: dict[str, int] = {}
    for line in content.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        kind, words = line.split(maxsplit=1)
        for word in words.split(","):
            if word.strip() in gender:
                raise DataError(f"The list of gendered words contains {word.strip()!r} twice.")
            gender[word.strip()] = GENDERS.index(kind)
    longest_first = sorted(gender, key=lambda word: (-len(word), word))
    alternatives = "|".join(re.escape(word) for word in longest_first)
    # the lookahead for one letter makes the expression fail fast at most positions
    begins = "".join(sorted({re.escape(word[0]) for word in gender}))
    pattern = re.compile(rf"(?<![\w'])(?=[{begins}])(?:{alternatives})(?!\w)")
    return GenderWords(gender, pattern, hashlib.sha256(content.encode()).hexdigest())


def load(options: Mapping[str, Any]) -> "GenderedWords":
    """Return the classifier. It has no options; raise UsageError if some are given."""
    return GenderedWords(
        **convert_options(f"the classifier {CARD.name!r}", options, list_options(GenderedWords))
    )


class GenderedWords:
    """A classifier of gender with a word list.

    >>> GenderedWords().classify(["My husband says he cooks.", "I like her.", "Hello!"]).labels
    ['man', 'woman', 'neither']
    """

    labels = GENDERS
    reads_context = False

    def __init__(self) -> None:
        self._texts = 0

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """Return the name, a hash of the word list, and the genders."""
        return {
            "kind": "gendered words",
            "name": CARD.name,
            "revision": read_gender_words().revision,
            "labels": list(GENDERS),
        }

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        """Classify each text (see Classifier.classify). Contexts are not read; empty texts are `empty_text`."""
        listed = read_gender_words()
        known = {text: listed.counts(text) for text in dict.fromkeys(texts) if text.strip()}
        self._texts += len(known)
        counts = np.array([known.get(text, (np.nan, np.nan)) for text in texts], dtype=np.float64).reshape(
            -1, 2
        )
        scores = (1 + counts) / (2 + counts.sum(axis=1, keepdims=True))
        empty = np.isnan(counts[:, 0]).tolist()
        more = np.select([counts[:, 0] > counts[:, 1], counts[:, 1] > counts[:, 0]], GENDERS, NEITHER)
        return Labels(
            scores=scores.astype(np.float32),
            labels=[None if gone else str(name) for gone, name in zip(empty, more, strict=True)],
            score=np.full(len(texts), np.nan),
            negative=[None] * len(texts),
            errors=[ResponseError.EMPTY_TEXT if gone else None for gone in empty],
        )

    def describe(self) -> dict[str, Any]:
        """Return the name, revision of the list, licence, and number of distinct texts so far."""
        return {
            "name": CARD.name,
            "revision": self.fingerprint["revision"],
            "licence": CARD.licence,
            "labels": list(GENDERS),
            "negative": [],
            "threshold": None,
            "device": "cpu",
            "texts": self._texts,
            "calls": 0,
        }
