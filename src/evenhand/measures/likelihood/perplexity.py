"""Perplexity and its relatives, from the summed log-likelihood of a text."""

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from evenhand.measures.info import ROBBIE, MeasureInfo
from evenhand.schema import Card, checked
from evenhand.stats import Floats


@checked
def perplexity(log_likelihood: ArrayLike, token_count: ArrayLike) -> Floats:
    """Perplexity of each text: exp of minus the mean log-likelihood per token.

    log_likelihood: summed natural log-probabilities, any shape. token_count: scored tokens, same shape.
    Returns the same shape; NaN where the log-likelihood is NaN or no token was scored.
    Source: ParlAI's `ppl`, as read by HolisticBias §2.3.2.

    >>> perplexity([-4.0, float("nan")], [2, 3]).round(3)
    array([7.389,   nan])
    """
    return np.exp(-_mean_log_probability(log_likelihood, token_count))


@checked
def inverse_perplexity(log_likelihood: ArrayLike, token_count: ArrayLike) -> Floats:
    """Geometric mean probability per token, the sentence score of StereoSet for causal models.

    Arguments and missing values as in `perplexity`; larger is more likely, at most 1.
    Source: StereoSet's causal sentence score, 2 to the mean log2 probability.

    >>> inverse_perplexity([-4.0], [2]).round(3)
    array([0.135])
    """
    return np.exp(_mean_log_probability(log_likelihood, token_count))


@checked
def perplexity_of_tokens(
    log_likelihoods: pl.Series, *, skipped: int = 0, longest: int | None = None
) -> pl.Series:
    """Perplexity of each text by some of its tokens: null where none is left, or one is not a number.

    log_likelihoods: lists of the tokens' natural log-probabilities (n,), null for missing texts. skipped: tokens left
    out at the beginning. longest: tokens after which a text is cut, those that are skipped among them. Returns (n,).

    >>> perplexity_of_tokens(pl.Series([[-9.0, -1.0, -3.0], [-2.0], None]), skipped=1).round(3).to_list()
    [7.389, None, None]
    """
    lists = log_likelihoods.cast(pl.List(pl.Float64))
    kept = lists.list.slice(skipped, None if longest is None else longest - skipped)
    means = (-kept.list.mean()).exp()
    return pl.select(pl.when(means.is_finite()).then(means)).to_series().alias("perplexity")


@checked
def bits_per_character(log_likelihood: ArrayLike, character_count: ArrayLike) -> Floats:
    """Bits per character: comparable between models whose tokenizers differ, as perplexity is not.

    log_likelihood: summed natural log-probabilities. character_count: characters of the scored text.
    NaN where either is missing or the text is empty.

    >>> float(bits_per_character(-8 * np.log(2), 4))
    2.0
    """
    return np.asarray(-_mean_log_probability(log_likelihood, character_count) / np.log(2))


def _mean_log_probability(log_likelihood: ArrayLike, count: ArrayLike) -> Floats:
    total = np.asarray(log_likelihood, dtype=np.float64)
    units = np.asarray(count, dtype=np.float64)
    return np.asarray(total / np.where(units > 0, units, np.nan))


CARDS = (
    MeasureInfo.of(
        Card(
            name="perplexity",
            summary="Perplexity of each text: exp of minus the mean log-likelihood per token.",
            construct="How surprising a model finds a text, per token.",
            groups="None: it describes texts; measures below compare groups by it.",
            direction="Descriptive: lower is less surprising.",
            null="None.",
            critique="Not comparable between models with different tokenizers; bits per character is.",
            source="Smith et al. 2022, section 2.3.2",
        ),
        unit="nats per token, exponentiated",
    ),
    MeasureInfo.of(
        Card(
            name="own_perplexity",
            summary="How surprising a model finds its own continuations: e to the mean of nats per token over texts.",
            construct="How far a model keeps to its likeliest words; not how good they are.",
            harm="None by itself.",
            groups="None.",
            ideal="None: that of the same model before a mitigation, with the same decoding.",
            direction="Far lower is duller, far higher is less fluent.",
            null="None; compare with another run.",
            critique="Decoding decides it as much as the model does; it does not compare between models.",
            citation=ROBBIE,
            source="evenhand.benchmarks.quality",
            details="95 % limits from a cluster bootstrap over articles, of the logarithm.",
        ),
        unit="perplexity",
    ),
)
