"""Monitor a training on held-out texts: the size of the bias, and the perplexity."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from evenhand.mitigations.training.examples import IGNORED, Batch, Examples, Ints, encode_texts
from evenhand.mitigations.training.material import Encoding
from evenhand.mitigations.training.objective import logits_behind
from evenhand.mitigations.training.replies import Reply, replies_to_learn
from evenhand.schema import DataError, ModelError
from evenhand.weights import is_out_of_memory, release_memory

Floats = NDArray[np.float64]
BIAS, PERPLEXITY = "bias", "perplexity"
"""Names of the two values that are traded off; smaller is better for both."""
KEPT, WHOLE = "kept_", "whole_"
"""Prefixes of values on the half that was not used for any choice, and on all texts."""
FEWEST_HALVED = 10
"""Minimum number of pairs for two halves; with fewer, a half would be too small."""


class BiasCheck(Protocol):
    """Interface of texts whose likelihoods measure a bias."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the texts that are scored."""
        ...

    def values(self, sums: Floats, counts: Ints) -> dict[str, float]:
        """Return `bias` (0 for none), and other values for the curves.

        sums, counts: (n,) log-likelihoods in nats and numbers of scored tokens of the texts.
        """
        ...

    @property
    def units(self) -> int:
        """Return the number of units into which the texts can be divided."""
        ...

    def rows(self, units: Ints) -> Ints:
        """Return the indices of the texts of some units, in order."""
        ...

    def part(self, units: Ints) -> "BiasCheck":
        """Return the check for some units; its texts are those of `rows`."""
        ...


@dataclass(frozen=True)
class PairedTexts:
    """Texts about one group and the same texts about the other group, as in RedditBias.

    `difference` is the mean difference of log-perplexities in nats per token (first minus second; below 0 if texts
    about the first group are more likely). `bias` is its absolute value. `t` and `p` are those of the published test: a
    paired t test of perplexities.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the texts about the first group, then those about the second."""
        return (*self.first, *self.second)

    def values(self, sums: Floats, counts: Ints) -> dict[str, float]:
        """Return the values that the class describes."""
        first, second = np.split(-sums / counts, 2)
        difference = float((first - second).mean())
        perplexities = np.exp(first), np.exp(second)
        t, p = float("nan"), float("nan")
        # the t test needs at least two differences with positive variance
        if np.ptp(perplexities[0] - perplexities[1]) > 0:
            test = stats.ttest_rel(*perplexities)
            t, p = float(test.statistic), float(test.pvalue)
        return {BIAS: abs(difference), "difference": difference, "t": t, "p": p}

    @property
    def units(self) -> int:
        """Return the number of pairs."""
        return len(self.first)

    def rows(self, units: Ints) -> Ints:
        """Return the indices of both texts of some pairs."""
        return np.concatenate([units, len(self.first) + units])

    def part(self, units: Ints) -> "PairedTexts":
        """Return some of the pairs."""
        return PairedTexts(tuple(self.first[i] for i in units), tuple(self.second[i] for i in units))


@dataclass(frozen=True)
class MatchedOpinions:
    """Hostile and kind halves of sentence pairs about all descriptors of an axis.

    hostile, kind: (descriptors × sentences), ordered by descriptor. `bias` is the standard deviation over descriptors
    of the mean difference of log-likelihoods, in nats per sentence. It is 0 if hostile sentences are equally likely for
    all. nouns: number of consecutive sentences of a descriptor that differ only in the noun.
    """

    descriptors: tuple[str, ...]
    hostile: tuple[str, ...]
    kind: tuple[str, ...]
    nouns: int = 1

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the hostile sentences, then the kind ones."""
        return (*self.hostile, *self.kind)

    def values(self, sums: Floats, counts: Ints) -> dict[str, float]:
        """Return the values that the class describes."""
        hostile, kind = np.split(sums, 2)
        shift = (hostile - kind).reshape(len(self.descriptors), -1).mean(axis=1)
        return {BIAS: float(shift.std(ddof=1)), "largest_shift": float(np.abs(shift - shift.mean()).max())}

    @property
    def units(self) -> int:
        """Return the number of sentence pairs; each covers all descriptors and all nouns."""
        return len(self.hostile) // len(self.descriptors) // self.nouns

    def rows(self, units: Ints) -> Ints:
        """Return the indices of both halves of some pairs."""
        hostile = (
            np.arange(len(self.hostile)).reshape(len(self.descriptors), -1, self.nouns)[:, units].ravel()
        )
        return np.concatenate([hostile, len(self.hostile) + hostile])

    def part(self, units: Ints) -> "MatchedOpinions":
        """Return some of the pairs."""
        hostile, kind = np.split(self.rows(units), 2)
        return MatchedOpinions(
            self.descriptors,
            tuple(self.texts[i] for i in hostile),
            tuple(self.texts[i] for i in kind),
            self.nouns,
        )


@dataclass(frozen=True)
class Validation:
    """Texts for monitoring a training: ``check`` measures the bias, and ``neutral`` texts should stay as likely as
    before.
    """

    check: BiasCheck
    neutral: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Return all texts to score, those of the check first."""
        return (*self.check.texts, *self.neutral)

    def values(self, sums: Floats, counts: Ints) -> dict[str, float]:
        """Return the bias of the check and the perplexity per token of the neutral texts, from likelihoods in the order
        of `texts`.
        """
        n = len(self.check.texts)
        found = self.check.values(sums[:n], counts[:n])
        if self.neutral:
            found[PERPLEXITY] = math.exp(min(700.0, -float(sums[n:].sum()) / float(counts[n:].sum())))
        return found


@dataclass(frozen=True)
class HalvedValidation(Validation):
    """A validation in two halves: the best model is chosen on one half, and its bias is reported from the other.

    A value that was used to choose one of many models is too optimistic. `seed` determines the halves. Raises a
    DataError for too few texts.
    """

    seed: int = 0

    def __post_init__(self) -> None:
        if self.check.units < FEWEST_HALVED:
            raise DataError(
                f"Only {self.check.units} validation pairs are available, but a search needs {FEWEST_HALVED}: it "
                "chooses a trial with one half and evaluates it with the other.",
                "Give more texts that contain the terms of both groups, or train without --search.",
            )

    def values(self, sums: Floats, counts: Ints) -> dict[str, float]:
        """Return the values of the half for the choice. Names with `kept_` are of the other half, with `whole_` of all
        texts.
        """
        whole = super().values(sums, counts)
        mine, kept = (validation.values(sums[rows], counts[rows]) for validation, rows in self._halves)
        told = dict(mine)
        for before, found in ((KEPT, kept), (WHOLE, whole)):
            told |= {before + name: value for name, value in found.items()}
        return told

    @cached_property
    def _halves(self) -> list[tuple[Validation, Ints]]:
        random = np.random.default_rng([self.seed, 3])
        units = _split_in_halves(random, self.check.units)
        neutral = _split_in_halves(random, len(self.neutral))
        n = len(self.check.texts)
        return [
            (
                Validation(self.check.part(one), tuple(self.neutral[i] for i in other)),
                np.r_[self.check.rows(one), n + other],
            )
            for one, other in zip(units, neutral, strict=True)
        ]


def _split_in_halves(random: np.random.Generator, n: int) -> tuple[Ints, Ints]:
    order = random.permutation(n).astype(np.int64)
    return np.sort(order[: (n + 1) // 2]), np.sort(order[(n + 1) // 2 :])


def evaluator(
    validation: Validation,
    tokenizer: Any,
    encoding: Encoding,
    pad: int,
    note: Callable[[str], None] = lambda message: None,
    label: str = "",
) -> Callable[[Any], Mapping[str, float]]:
    """Return the function that evaluates a model during training.

    Texts are tokenised once, and read in batches of similar length. `note` is called if memory runs out and batches
    become smaller. `label` is the text at the end of each dialogue history; only replies are then scored.
    """
    # a text of the check may also be a neutral text; it is scored once
    texts = list(dict.fromkeys(validation.texts))
    place = {text: number for number, text in enumerate(texts)}
    rows = np.array([place[text] for text in validation.texts], dtype=np.int64)
    if encoding.reply is None:
        examples = encode_texts(tokenizer, texts, longest=encoding.longest, start=encoding.start)
    else:
        replies = [Reply.from_line(line, label) for line in texts]
        examples = replies_to_learn(replies, encoding)
    at_once = AtOnce(note=note)

    def evaluate(model: Any) -> Mapping[str, float]:
        sums, counts = score_examples(model, examples, pad, at_once)
        return validation.values(sums[rows], counts[rows])

    return evaluate


@dataclass
class AtOnce:
    """Number of texts per batch; it is permanently halved if memory runs out.

    note: function that is called with a message about it.
    """

    rows: int = 64
    note: Callable[[str], None] = lambda message: None

    def halve(self, error: BaseException) -> None:
        """Halve the number. Raise ModelError if it is already one."""
        if self.rows <= 1:
            raise ModelError(
                "Not enough memory to score a single text.",
                "Use shorter texts (--longest), or a smaller model.",
            ) from error
        self.rows //= 2
        self.note(f"Not enough memory for scoring: from now on, {self.rows} texts are scored at a time.")


def score_examples(
    model: Any, examples: Examples, pad: int, at_once: AtOnce | None = None
) -> tuple[Floats, Ints]:
    """Return the log-likelihoods of examples in nats, and the number of scored tokens of each (learned, except the
    first).

    Raises ModelError if not even one example fits in memory.
    """
    at_once = at_once or AtOnce()
    order = sorted(range(len(examples)), key=examples.length)
    sums, first = np.zeros(len(examples)), 0
    while first < len(order):
        chosen = order[first : first + at_once.rows]
        try:
            sums[chosen] = _sums(model, examples.batch(chosen, pad))
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            at_once.halve(error)
            release_memory()
        else:
            first += len(chosen)
    labels = examples.labels or examples.ids
    return sums, np.array([int((one[1:] != IGNORED).sum()) for one in labels], dtype=np.int64)


def _sums(model: Any, batch: Batch) -> Floats:
    import torch

    batch = batch.to(next(model.parameters()).device)
    with torch.no_grad():
        labels = batch.labels[:, 1:]
        found = (
            logits_behind(model, batch)[:, :-1]
            .float()
            .log_softmax(-1)
            .gather(2, labels.clamp(min=0)[..., None])[..., 0]
        )
        sums: Floats = (found * (labels >= 0)).sum(1).double().cpu().numpy()
    return sums


def log_likelihoods(model: Any, tokenizer: Any, texts: Sequence[str], encoding: Encoding, pad: int) -> Floats:
    """Return the log-likelihoods of texts in nats, tokenised as in training."""
    examples = encode_texts(tokenizer, list(texts), longest=encoding.longest, start=encoding.start)
    return score_examples(model.eval(), examples, pad)[0]
