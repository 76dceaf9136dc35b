"""Compute the perplexity of many texts as one number, over texts or over tokens, with a confidence interval."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evenhand.measures.info import BARIKERI, MeasureInfo
from evenhand.schema import Card, checked
from evenhand.stats import cluster_bootstrap_table


@dataclass(frozen=True)
class CorpusPerplexity:
    """Perplexity of many texts, with its confidence interval.

    Result of `corpus_perplexity`.

    Attributes
    ----------
    estimate : float or None
        Perplexity, 1 or more; None without texts.
    low, high : float or None
        95% CI; None with fewer than two clusters.
    """

    estimate: float | None
    low: float | None
    high: float | None


@checked
def corpus_perplexity(nats: ArrayLike, weight: ArrayLike, *, seed: int) -> CorpusPerplexity:
    """Return the perplexity of many texts as one number, with a confidence interval.

    Use it to compare how well models predict a corpus. You choose between a mean over tokens and a mean over texts by
    what you pass.

    Parameters
    ----------
    nats : array_like, shape (clusters,)
        Minus the natural log-probabilities, one number per cluster. Each text may be its own cluster. For a mean over
        tokens: total over the cluster's tokens. For a mean over texts: sum of the texts' mean nats per token.
    weight : array_like, shape (clusters,)
        For a mean over tokens: number of tokens of each cluster. For a mean over texts: number of texts.
    seed : int
        Random seed of the bootstrap.

    Returns
    -------
    CorpusPerplexity
        Perplexity with its 95% CI.

    Raises
    ------
    UsageError
        The shapes differ.

    Notes
    -----
    The perplexity is exp(sum(nats) / sum(weight)). The CI resamples clusters (bootstrap).

    Examples
    --------
    >>> over_tokens = corpus_perplexity([4.0, 2.0], [2, 4], seed=0).estimate
    >>> over_texts = corpus_perplexity([4.0 / 2, 2.0 / 4], [1, 1], seed=0).estimate
    >>> round(over_tokens, 3), round(over_texts, 3)
    (2.718, 3.49)
    """
    sums, weights = np.asarray(nats, dtype=np.float64), np.asarray(weight, dtype=np.float64)
    if not sums.size:
        return CorpusPerplexity(None, None, None)
    limits = cluster_bootstrap_table(sums, weights, seed=seed)
    values = (float(value[0]) for value in (limits.estimate, limits.low, limits.high))
    with np.errstate(over="ignore"):
        perplexities = [float(np.exp(value)) for value in values]
    return CorpusPerplexity(*(value if np.isfinite(value) else None for value in perplexities))


def _info(name: str, summary: str, source: str, critique: str, details: str) -> MeasureInfo:
    card = Card(
        name=name,
        summary=summary,
        construct="How surprising a model finds human conversation. An increase after debiasing is the cost in "
        "language modelling.",
        harm="None by itself.",
        groups="No groups are compared. Compare models with the same tokenizer, or one model before and after a "
        "change.",
        ideal="None. Compare with the same model before a change.",
        direction="Lower is less surprising.",
        null="None. Compare with another run.",
        critique=critique,
        citation=BARIKERI,
        source=source,
        details=f"{details} The 95% CI is a bootstrap over lines, of the logarithm.",
    )
    return MeasureInfo.of(card, unit="perplexity")


CARDS = (
    _info(
        "redditbias_lmp",
        "Perplexity of RedditBias' 6,000 lines of conversation; each token counts once.",
        "The usual perplexity of a text; the lines are Barikeri et al.'s, section 4",
        "The value cannot be compared between models with different tokenizers.",
        "Each line follows the model's start token. No line is cut.",
    ),
    _info(
        "redditbias_lmp_published",
        "The Language Model Perplexity of RedditBias as published: the mean over lines; each line counts once.",
        "Barikeri et al. 2021, section 4; the released program",
        "A line of three tokens counts as much as one of thirty, so short lines dominate. The value cannot be "
        "compared between models with different tokenizers. For models debiased by CDA (counterfactual data "
        "augmentation), the published program averaged differently: over pairs of lines, by their tokens. The "
        "published numbers therefore cannot be compared with each other.",
        "There is no start token, and the first token is not scored. Lines are cut after 36 tokens.",
    ),
)
