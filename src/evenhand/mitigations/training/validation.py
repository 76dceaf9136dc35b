"""What is watched while a model is trained: how large the bias is and how well it still reads, on texts kept apart."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from evenhand.mitigations.training.examples import Examples, Ints, encode_texts
from evenhand.mitigations.training.material import Encoding

Floats = NDArray[np.float64]
BIAS, PERPLEXITY = "bias", "perplexity"
"""Names of the two that are weighed against each other; both are better small."""


class BiasCheck(Protocol):
    """Texts whose likelihoods say how large a bias is."""

    @property
    def texts(self) -> tuple[str, ...]:
        """What is scored."""
        ...

    def values(self, sums: Floats, counts: Ints) -> dict[str, float]:
        """`bias`, 0 for none, and whatever else is worth a curve.

        sums, counts: (n,) log likelihoods in nats and scored tokens of the texts.
        """
        ...


@dataclass(frozen=True)
class PairedTexts:
    """Texts about one group and the same about the other, as RedditBias has them.

    `bias` is the mean difference of log perplexities, nats a token, its sign left out; `difference` has the sign,
    below 0 where texts about the first group come more easily. `t` and `p` are of the published test: paired, on
    perplexities.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """The first group's, then the second's."""
        return (*self.first, *self.second)

    def values(self, sums: Floats, counts: Ints) -> dict[str, float]:
        """See the class."""
        first, second = np.split(-sums / counts, 2)
        difference = float((first - second).mean())
        test = stats.ttest_rel(np.exp(first), np.exp(second))
        return {
            BIAS: abs(difference),
            "difference": difference,
            "t": float(test.statistic),
            "p": float(test.pvalue),
        }


@dataclass(frozen=True)
class MatchedOpinions:
    """Hostile and kind halves of sentence pairs about all descriptors of an axis.

    hostile, kind: (descriptors x sentences), descriptor by descriptor. `bias` is the standard deviation between
    descriptors of the mean difference of log likelihoods, nats a sentence: 0 where hostility comes as easily about all.
    """

    descriptors: tuple[str, ...]
    hostile: tuple[str, ...]
    kind: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Hostile ones, then kind ones."""
        return (*self.hostile, *self.kind)

    def values(self, sums: Floats, counts: Ints) -> dict[str, float]:
        """See the class."""
        hostile, kind = np.split(sums, 2)
        shift = (hostile - kind).reshape(len(self.descriptors), -1).mean(axis=1)
        return {BIAS: float(shift.std(ddof=1)), "largest_shift": float(np.abs(shift - shift.mean()).max())}


@dataclass(frozen=True)
class Validation:
    """check: of the bias. neutral: texts that should remain as likely as they are."""

    check: BiasCheck
    neutral: tuple[str, ...]

    def values(self, sums: Floats, counts: Ints) -> dict[str, float]:
        """Of all texts, the check's first: what it says, and the perplexity of the neutral ones by token."""
        n = len(self.check.texts)
        found = self.check.values(sums[:n], counts[:n])
        if self.neutral:
            found[PERPLEXITY] = math.exp(min(700.0, -float(sums[n:].sum()) / float(counts[n:].sum())))
        return found


def evaluator(
    validation: Validation, tokenizer: Any, encoding: Encoding, pad: int, rows: int = 64
) -> Callable[[Any], Mapping[str, float]]:
    """What a training calls to evaluate its model: texts are tokenised once, and read in batches of like length."""
    texts = [*validation.check.texts, *validation.neutral]
    examples = encode_texts(tokenizer, texts, longest=encoding.longest, start=encoding.start)

    def evaluate(model: Any) -> Mapping[str, float]:
        return validation.values(*scored(model, examples, pad, rows))

    return evaluate


def scored(model: Any, examples: Examples, pad: int, rows: int = 64) -> tuple[Floats, Ints]:
    """Log likelihoods of examples, nats, and how many tokens of each were scored: all but the first."""
    import torch

    order = sorted(range(len(examples)), key=lambda row: len(examples.ids[row]))
    sums, device = np.zeros(len(examples)), next(model.parameters()).device
    with torch.no_grad():
        for first in range(0, len(order), rows):
            chosen = order[first : first + rows]
            batch = examples.batch(chosen, pad).to(device)
            logits = model(
                input_ids=batch.input_ids, attention_mask=batch.attention_mask, use_cache=False
            ).logits
            labels = batch.labels[:, 1:]
            found = logits[:, :-1].float().log_softmax(-1).gather(2, labels.clamp(min=0)[..., None])[..., 0]
            sums[chosen] = (found * (labels >= 0)).sum(1).double().cpu().numpy()
    return sums, np.array([len(ids) - 1 for ids in examples.ids], dtype=np.int64)


def log_likelihoods(model: Any, tokenizer: Any, texts: Sequence[str], encoding: Encoding, pad: int) -> Floats:
    """Log likelihoods of texts, nats, as a training sees them."""
    examples = encode_texts(tokenizer, list(texts), longest=encoding.longest, start=encoding.start)
    return scored(model.eval(), examples, pad)[0]
