"""`World`: a synthetic model about groups of people, with known bias and exact probabilities."""

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.models import Architecture, Decoding, Generations, Likelihoods, Texts
from evenhand.reference.automaton import Automaton, Walk, split_words, word_pattern
from evenhand.reference.story import FREQUENCY, Frame, Joint, Phrase, Plant
from evenhand.schema import ResponseError

TRUTH = {
    "axis": pl.String,
    "descriptor": pl.String,
    "target": pl.String,
    "planted": pl.Float64,
    "log_ratio": pl.Float64,
}
Indices = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class World:
    """A synthetic language model with known bias: a mixture of sentence frames and noun phrases, without torch.

    Use it to check that a measure finds a planted bias. Probabilities are exact: for each prefix, all
    derivations that are consistent with its words are summed.

    Notes
    -----
    An utterance is sampled in three steps. First comes a descriptor, with equal probabilities except for
    planted frequencies. Then comes a frame, with its weight times exp(planted log odds) for that descriptor.
    Then comes a noun. Utterances are independent of each other. A text is scored word by word, as the first
    text of the speaker, or as the text after `contexts`, joined by a space. Punctuation marks count as words.

    Examples
    --------
    >>> phrases = (Phrase("age", "old", "man", "an old man", "old men"),
    ...            Phrase("age", "new", "man", "a new man", "new men"))
    >>> world = World("tiny", phrases, (Frame("like", "I like {noun_phrase}."),))
    >>> np.exp(world.log_likelihoods(["I like an old man."]).row(0)).tolist()
    [1.0, 1.0, 0.5, 1.0, 1.0, 1.0]
    """

    name: str
    phrases: tuple[Phrase, ...]
    frames: tuple[Frame, ...]
    plants: tuple[Plant, ...] = ()
    names: tuple[str, ...] = ()
    """Names of several words that count as one word ("New Zealand"). Otherwise length would look like bias."""
    architecture: Architecture = "causal"

    def __repr__(self) -> str:
        return f"World({self.name!r}, {len(self.phrases)} phrases, {len(self.frames)} frames, {self.plants})"

    @cached_property
    def joint(self) -> Joint:
        """Return the joint distribution of descriptors, frames and phrases."""
        return Joint.build(self.phrases, self.frames, self.plants)

    @cached_property
    def automaton(self) -> Automaton:
        """Return the automaton that sums across all derivations that are consistent with a prefix."""
        return self.joint.automaton(self.phrases, self.frames, self._pattern)

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """Return the token id of each word (with its leading space)."""
        words: set[str] = set()
        for track in self.automaton.tracks:
            words.update(track.left, track.right, *track.slots.children)
        words.update([" " + word for word in words if word[0] not in " .,!?;:"])
        return {word: i for i, word in enumerate(sorted(words))}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return word_pattern(self.names)

    @cached_property
    def _needs_noun(self) -> NDArray[np.bool_]:
        return np.array([frame.needs_noun for frame in self.frames])

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        content: list[Any] = [[asdict(x) for x in part] for part in (self.phrases, self.frames, self.plants)]
        content.append(list(self.names))
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return {"name": self.name, "kind": "world", "sha256": digest, "scoring": "exact prefix probabilities"}

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "family": "world",
            "scoring": "exact: sums over all derivations, no network",
            "descriptors": len(self.joint.descriptors),
            "phrases": len(self.phrases),
            "frames": len(self.frames),
            "plants": [asdict(plant) for plant in self.plants],
        }

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Return exact log probabilities word by word; see `LanguageModel.log_likelihoods`.

        Texts with probability zero are OUTSIDE_WORLD rows; the detail names the first impossible word. Raises
        Unsupported for any `masking`.
        """
        batch = Texts.of(texts)
        batch.refuse_masking(
            f"A World reads from left to right and has no masking {batch.masking!r}.",
            "Ask for plain likelihoods, or use a masked model.",
        )
        strings, n = batch.texts, len(batch.texts)
        utterances, _ = batch.joined()
        rows: list[tuple[list[float], list[int], list[int]]] = [([], [], [])] * n
        errors: list[ResponseError | None] = [None] * n
        details: list[str | None] = [None] * n
        walk, spans = Walk(self.automaton), batch.all_spans
        for i in sorted(range(n), key=utterances.__getitem__):  # neighbours share prefixes
            if not strings[i].strip():
                errors[i], details[i] = ResponseError.EMPTY_TEXT, "the text is empty or white space"
                continue
            words = split_words(utterances[i], self._pattern)
            if words is None:
                errors[i] = ResponseError.OUTSIDE_WORLD
                details[i] = "this World puts exactly one space between words"
                continue
            log_probs = walk.along([word for word, _ in words])
            if len(log_probs) < len(words):
                errors[i] = ResponseError.OUTSIDE_WORLD
                details[i] = f"this World never says {words[len(log_probs)][0].strip()!r} there"
                continue
            first = len(utterances[i]) - len(strings[i])
            low, high = spans[i] or (0, len(strings[i]))
            scored = [
                (value, self.vocabulary[word], start - first)
                for value, (word, start) in zip(log_probs, words, strict=True)
                if start - first < high and start - first + len(word.strip()) > low and start >= first
            ]
            if not scored:
                errors[i], details[i] = ResponseError.NO_SCORED_TOKEN, "no word overlaps the span"
                continue
            values, ids, starts = zip(*scored, strict=True)
            rows[i] = (list(values), list(ids), list(starts))
        return Likelihoods(
            offsets=np.concatenate([[0], np.cumsum([len(row[0]) for row in rows], dtype=np.int64)]),
            log_probs=np.array([v for row in rows for v in row[0]], dtype=np.float32),
            token_ids=np.array([v for row in rows for v in row[1]], dtype=np.int32),
            starts=np.array([v for row in rows for v in row[2]], dtype=np.uint32),
            errors=errors,
            details=details,
        )

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Continue each prompt word by word with exact probabilities; see `TextGenerator.generate`.

        A token is a word. A World has no end token: after an utterance it continues with the next one, until
        `max_new_tokens` or a stop string. `min_new_tokens` is therefore always met. Prompts with probability
        zero are OUTSIDE_WORLD rows. Raises Unsupported for beams and for blocked n-grams.

        >>> people = (Phrase("age", "old", "man", "an old man", "old men"),)
        >>> world = World("tiny", people, (Frame("x", "{noun_phrase} sings."),))
        >>> world.generate(["An old"], Decoding(max_new_tokens=3)).texts
        [' man sings.']
        """
        from evenhand.reference.speaking import Speaker

        speaker = Speaker(self.automaton, self.vocabulary, lambda text: split_words(text, self._pattern))
        return speaker.write(prompts, decoding)

    def next_words(self, prefix: str = "") -> dict[str, float]:
        """Return the exact distribution of the word after `prefix`; empty for an impossible prefix.

        >>> people = (Phrase("age", "old", "man", "an old man", "old men"),)
        >>> World("tiny", people, (Frame("x", "{noun_phrase} sings."),)).next_words("An old")
        {' man': 1.0}
        """
        state = self.automaton.start
        for word, _ in split_words(prefix, self._pattern) or ():
            state = self.automaton.advance(state, word)
        if not state.total:
            return {}
        return self.automaton.next_words(state)

    def draw(self, n: int, seed: int) -> tuple[Indices, Indices]:
        """Sample n independent utterances as indices of phrases and frames, each of shape (n,)."""
        joint, random = self.joint, np.random.default_rng(seed)
        cell = random.choice(joint.frames.size, size=n, p=(joint.prior[:, None] * joint.frames).ravel())
        descriptor, frame = np.divmod(cell, len(self.frames))
        phrase = np.empty(n, dtype=np.int64)
        for d, needs in product(range(len(joint.prior)), (False, True)):
            mine = np.flatnonzero((descriptor == d) & (self._needs_noun[frame] == needs))
            if len(mine):
                members = np.flatnonzero(joint.of_phrase == d)
                phrase[mine] = random.choice(members, size=len(mine), p=joint.share[int(needs), members])
        return phrase, frame

    def draw_balanced(self, n: int, seed: int) -> tuple[Indices, Indices]:
        """Sample about n utterances whose counts per descriptor and frame are as close to expectation as possible.

        The method is systematic sampling. Each cell gets the floor or ceiling of its expected count, and so
        does each descriptor. Within a descriptor, the nouns take turns in proportion to their weights. The
        order is random.
        """
        joint, random = self.joint, np.random.default_rng(seed)
        cells = np.arange(joint.frames.size)
        # the frame order differs between descriptors so that rounding favours no frame
        order = random.permuted(np.tile(np.arange(len(self.frames)), (len(joint.prior), 1)), axis=1)
        expected = np.take_along_axis(n * joint.prior[:, None] * joint.frames, order, axis=1).ravel()
        edges = np.floor(np.concatenate([[0.0], np.cumsum(expected)]) + random.random())
        counts = np.diff(edges).astype(np.int64)
        descriptor = np.repeat(cells // len(self.frames), counts)
        frame = np.repeat(order.ravel(), counts)
        phrase = np.empty(len(descriptor), dtype=np.int64)
        for d, needs in product(range(len(joint.prior)), (False, True)):
            mine = np.flatnonzero((descriptor == d) & (self._needs_noun[frame] == needs))
            members = np.flatnonzero((joint.of_phrase == d) & (joint.share[int(needs)] > 0))
            if not len(mine):
                continue
            members = random.permutation(members)
            running = np.cumsum(joint.share[int(needs), members])
            # a low-discrepancy sequence: consecutive draws fall far apart, so each frame sees all nouns
            points = (np.arange(len(mine)) * 0.6180339887498949 + random.random()) % running[-1]
            phrase[mine] = members[np.searchsorted(running, points, side="right")]
        shuffle = random.permutation(len(phrase))
        return phrase[shuffle], frame[shuffle]

    def render(self, phrase: Indices, frame: Indices) -> list[str]:
        """Return the utterances of pairs of phrase and frame indices."""
        return [self.frames[f].fill(self.phrases[p]) for p, f in zip(phrase, frame, strict=True)]

    def sample(self, n: int, seed: int = 0) -> list[str]:
        """Return n independent utterances."""
        return self.render(*self.draw(n, seed))

    def entropy(self, n: int = 20_000, seed: int = 0) -> tuple[float, float]:
        """Estimate the entropy of an utterance in nats, with its standard error, from n samples with exact scores."""
        surprise = -self.log_likelihoods(self.sample(n, seed)).sums
        return float(surprise.mean()), float(surprise.std(ddof=1) / math.sqrt(n))

    def truth(self) -> pl.DataFrame:
        """Return the planted biases and their exact effects, with one row per descriptor and target.

        `planted` is the planted log odds. `log_ratio` is its effect in nats, compared with a descriptor
        without plants. For "frequency" it is log P(descriptor) at equal numbers of nouns. For a label it is
        log P(frames with the label | descriptor).
        """
        joint = self.joint
        weight = np.array([frame.weight for frame in self.frames])
        neutral = weight / weight.sum()
        totals = np.bincount(joint.of_phrase, [p.weight for p in self.phrases])
        rows: list[tuple[str, str, str, float, float]] = []
        labels = sorted({label for frame in self.frames for label in frame.labels})
        untouched = joint.prior / totals
        reference = self._log_unplanted_prior()
        for target in [FREQUENCY, *labels]:
            labelled = np.array([target in frame.labels for frame in self.frames])
            for d, (axis, descriptor) in enumerate(joint.descriptors):
                planted = sum(
                    p.log_odds for p in self.plants if p.target == target and p.concerns(axis, descriptor)
                )
                if target == FREQUENCY:
                    log_ratio = math.log(untouched[d]) - reference
                else:
                    log_ratio = math.log(joint.frames[d, labelled].sum() / neutral[labelled].sum())
                rows.append((axis, descriptor, target, planted, log_ratio))
        return pl.DataFrame(rows, schema=TRUTH, orient="row")

    def _log_unplanted_prior(self) -> float:
        """Return log P of a descriptor without planted frequency, per unit of phrase weight."""
        shifts = [
            sum(p.log_odds for p in self.plants if p.target == FREQUENCY and p.concerns(*key))
            for key in self.joint.descriptors
        ]
        totals = np.bincount(self.joint.of_phrase, [p.weight for p in self.phrases])
        return float(-np.log((totals * np.exp(shifts)).sum()))
