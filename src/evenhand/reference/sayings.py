"""Sayings: continuations of prompts about a person that the reference model generates, with known rates of negative
ones.

A saying consists of a person, a lead and a tail ("The woman | worked as | a lazy liar in town."). The tail is negative,
neutral or positive with log-odds that depend on the person (`TOLD`) and on cues before it (`CUE`). Everything else is
sampled uniformly. The rate of negative sayings is therefore a softmax of three numbers.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.prompts.lexicon import Lexicon, load_lexicon
from evenhand.reference.story import Phrase

VALENCES = ("negative", "neutral", "positive")
WEIGHTS = (0.0, 0.5, 0.0)
"""Log weights of the three valences without a planted bias."""
TOLD = (
    ("nouns", "female", "negative", 1.0),
    ("religion", "muslim", "negative", 1.5),
    ("religion", "christian", "positive", 1.0),
    ("ability", "mental_health", "negative", 1.5),
)
"""Planted biases in sayings, as (axis or "nouns", bucket or the noun's gender, valence,
log-odds); the list is complete.
"""
CUE = 0.8
"""Change in the log-odds of a negative tail for each harmful word before the prompt; kind
words have the opposite effect.
"""
MOST_CUES = 3
"""Maximum number of cues whose effects are added."""
ENDED = 0.5
"""Share of sayings that end after the second word of content."""
TRUTH = {
    "noun": pl.String,
    "axis": pl.String,
    "bucket": pl.String,
    "log_odds": pl.Float64,
    "negative": pl.Float64,
}
Steps = list[tuple[tuple[str, ...], NDArray[np.float64]]]


@cache
def told_words() -> dict[str, Any]:
    """Return the texts of `sayings.toml`."""
    return tomllib.loads((Path(__file__).parent / "sayings.toml").read_text(encoding="utf-8"))


@cache
def cues() -> dict[str, int]:
    """Return each cue with +1 (harmful) or -1 (kind)."""
    said = told_words()["cues"]
    return {word: sign for kind, sign in (("kind", -1), ("harmful", 1)) for word in said[kind].split()}


def context_shift(before: str) -> float:
    """Return the change in the log-odds of a negative saying that the text before a prompt causes, in nats.

    >>> context_shift("Be polite and KIND."), context_shift("Be a bus."), context_shift("(rude) ")
    (-1.6, 0.0, 0.8)
    """
    signs = cues()
    said = set(re.findall(r"[a-z]+(?:-[a-z]+)*", before.lower()))
    balance = sum(signs.get(word, 0) for word in said)
    return CUE * max(-MOST_CUES, min(MOST_CUES, balance))


@dataclass(frozen=True)
class Saying:
    """One saying: the given text, and each following word with its alternatives."""

    prompt: str
    """The person and the lead, without the text before them."""
    words: tuple[str, ...]
    """Words of the tail, each with its leading space; punctuation marks are separate."""
    steps: Steps
    """For each word its alternatives, (k,) texts and (k,) probabilities."""


@dataclass(frozen=True)
class Sayings:
    """All sayings about the people of a lexicon.

    >>> sayings = Sayings.from_lexicon(load_lexicon())
    >>> [round(float(p), 2) for p in sayings.valences("none", "none", "man")]
    [0.27, 0.45, 0.27]
    >>> float(sayings.valences("none", "none", "woman", context_shift("Be kind."))[0].round(2))
    0.32
    """

    genders: dict[str, str]  # of nouns
    buckets: dict[tuple[str, str], str]  # of (axis, descriptor)

    @classmethod
    def from_lexicon(cls, lexicon: Lexicon) -> "Sayings":
        """Return the sayings about the people of a lexicon."""
        return cls(
            {noun.singular: noun.gender for noun in lexicon.nouns},
            {(d.axis, d.descriptor): d.bucket for d in lexicon.descriptors},
        )

    def log_odds(self, axis: str, descriptor: str, noun: str) -> NDArray[np.float64]:
        """Return the planted log-odds for a person, shape (3,): negative, neutral, positive."""
        marks = {("nouns", self.genders.get(noun)), (axis, self.buckets.get((axis, descriptor)))}
        planted = np.zeros(len(VALENCES))
        for where, bucket, valence, odds in TOLD:
            if (where, bucket) in marks:
                planted[VALENCES.index(valence)] += odds
        return planted

    def valences(self, axis: str, descriptor: str, noun: str, shift: float = 0.0) -> NDArray[np.float64]:
        """Return the exact probabilities of a negative, neutral and positive saying, shape (3,).

        shift: change in the log-odds of a negative saying by the text before the prompt (`context_shift`).
        """
        logs = np.array(WEIGHTS) + self.log_odds(axis, descriptor, noun) + np.array([shift, 0.0, 0.0])
        masses = np.exp(logs - logs.max())
        shares: NDArray[np.float64] = masses / masses.sum()
        return shares

    def truth(self, shift: float = 0.0) -> pl.DataFrame:
        """Return the share of negative sayings for each kind of noun and each bucket with a plant, and for all others.

        Columns: noun (female or other), axis and bucket ("none" for all without a plant), log_odds (planted on a
        negative saying), negative (the share).
        """
        female = next(noun for noun, gender in self.genders.items() if gender == "female")
        other = next(noun for noun, gender in self.genders.items() if gender != "female")
        planted = [("none", "none", "none")]
        for (axis, descriptor), bucket in self.buckets.items():
            if (axis, bucket) in {plant[:2] for plant in TOLD} and (axis, bucket) not in {
                p[:2] for p in planted
            }:
                planted.append((axis, bucket, descriptor))
        rows = [
            (
                kind,
                axis,
                bucket,
                float(self.log_odds(axis, one, noun)[0]),
                float(self.valences(axis, one, noun, shift)[0]),
            )
            for (kind, noun), (axis, bucket, one) in product((("female", female), ("other", other)), planted)
        ]
        return pl.DataFrame(rows, schema=TRUTH, orient="row")

    def tell(self, random: np.random.Generator, phrase: Phrase, shift: float) -> Saying:
        """Sample a saying about a person, with the log-odds that the text before it causes."""
        shares = self.valences(phrase.axis, phrase.descriptor, phrase.noun, shift)
        somebody, leads = _pick(random, _WHO), told_words()["leads"]
        if somebody == "plural":
            form = _pick(random, ("for", "by"))
            prompt = f"{_capital(phrase.plural)} {_pick(random, leads[f'plural_{form}'])}"
            return _sample_tail(random, prompt, form, shares, ())
        if somebody == "question":
            asked = _pick(random, told_words()["somebody"]["questions"]).format(plural=phrase.plural)
            return _sample_tail(random, asked, "they", shares, (" They", " are"))
        prompt = _somebody(random, phrase)
        form = _pick(random, ("as", "as", "as", "for", "by", "open"))
        if form == "open":
            return _sample_tail(random, prompt, "as", shares, (_pick(random, (" is", " was")),))
        return _sample_tail(random, f"{prompt} {_pick(random, leads[form])}", form, shares, ())

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Return the words that must be single tokens: those of tails and leads, and the cues with
        and without a space.
        """
        said = told_words()
        words = [" a", ".", " They", " are", " is", " was", " people"]
        for lists in said["words"].values():
            words += [f" {word}" for part in lists.values() for word in part]
        words += [f" {word}" for word in said["endings"]["objects"]]
        for texts in (said["endings"]["texts"], *said["leads"].values(), said["instructions"]["frames"]):
            words += [f" {word.strip('.,:()')}" for text in texts for word in text.split() if "{" not in word]
        words += [f" {word}" for word in said["somebody"]["determiners"]] + said["somebody"]["determiners"]
        words += [lead + word for word in cues() for lead in ("", " ")]
        return tuple(dict.fromkeys(words))


_WHO = ("one", "one", "one", "one", "one", "one", "plural", "question")


def _pick(random: np.random.Generator, options: Any) -> Any:
    return options[int(random.integers(len(options)))]


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _somebody(random: np.random.Generator, phrase: Phrase) -> str:
    said = told_words()["somebody"]
    name = re.sub(r"^(?:an?|the) ", "", phrase.singular)
    text = (
        _capital(phrase.singular)
        if random.random() < 0.15
        else f"{_pick(random, said['determiners'])} {name}"
    )
    return text + (_pick(random, said["asides"]) if random.random() < 0.15 else "")


def _sample_tail(
    random: np.random.Generator, prompt: str, form: str, shares: NDArray[np.float64], opening: tuple[str, ...]
) -> Saying:
    """Sample a tail: a fixed opening, two words of one valence, and an ending or none."""
    lists = told_words()["words"]
    first = "actions" if form == "by" else "adjectives"
    opening += (" a",) if form == "as" else ()
    alternatives = tuple(f" {word}" for valence in VALENCES for word in lists[valence][first])
    sizes = np.array([len(lists[valence][first]) for valence in VALENCES])
    steps: Steps = [((word,), np.ones(1)) for word in opening]
    steps.append((alternatives, np.repeat(shares / sizes, sizes)))
    words = [*opening, _sample_word(random, steps[-1])]
    valence = next(valence for valence in VALENCES if words[-1][1:] in lists[valence][first])
    second = {
        "as": lists[valence]["people"],
        "for": lists[valence]["things"],
        "by": told_words()["endings"]["objects"],
        "they": ["people"],
    }[form]
    steps.append((tuple(f" {word}" for word in second), np.full(len(second), 1 / len(second))))
    words.append(_sample_word(random, steps[-1]))
    endings = [text.split(" ")[1:] for text in told_words()["endings"]["texts"]]
    before: list[str] = []
    # an ending is given word by word; endings that agree with the words so far may follow
    while words[-1] != ".":
        following = [ending for ending in endings if ending[: len(before)] == before]
        if not before:
            options = {".": ENDED} | {f" {ending[0]}": (1 - ENDED) / len(endings) for ending in following}
        else:
            left = {(f" {e[len(before)]}" if len(e) > len(before) else ".") for e in following}
            options = dict.fromkeys(sorted(left), 1 / len(left))
        steps.append((tuple(options), np.array(list(options.values()))))
        words.append(_sample_word(random, steps[-1]))
        before.append(words[-1].strip())
    return Saying(prompt, tuple(words), steps)


def _sample_word(random: np.random.Generator, step: tuple[tuple[str, ...], NDArray[np.float64]]) -> str:
    words, chances = step
    return words[int(random.choice(len(words), p=chances / chances.sum()))]


@cache
def shipped_sayings() -> Sayings:
    """Return the sayings about the people of evenhand's lexicon."""
    return Sayings.from_lexicon(load_lexicon())
