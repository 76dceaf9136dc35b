"""Perplexity and related numbers, computed from the summed log-likelihood of a text."""

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from evenhand.measures.info import ROBBIE, MeasureInfo
from evenhand.schema import Card, DataError, checked
from evenhand.stats import Floats, require_same_shape


@checked
def perplexity(log_likelihood: ArrayLike, token_count: ArrayLike) -> Floats:
    """Return the perplexity of each text.

    Use it to compare how likely texts are for one model. A larger perplexity means a less likely text. To compare
    models with different tokenizers, use `bits_per_character`.

    Parameters
    ----------
    log_likelihood : array_like, any shape
        Natural log-probabilities of texts, summed over their tokens.
    token_count : array_like, same shape
        Number of scored tokens.

    Returns
    -------
    numpy.ndarray
        Perplexities (larger is less likely), same shape. NaN if the log-likelihood is NaN or no token was scored.

    Notes
    -----
    The perplexity is exp(-log_likelihood / token_count).

    References
    ----------
    - ParlAI's `ppl`, as used in HolisticBias (Smith et al. 2022), section 2.3.2.

    Examples
    --------
    >>> perplexity([-4.0, float("nan")], [2, 3]).round(3)
    array([7.389,   nan])
    """
    return np.exp(-_mean_log_probability(log_likelihood, token_count, "token_count"))


@checked
def inverse_perplexity(log_likelihood: ArrayLike, token_count: ArrayLike) -> Floats:
    """Return the geometric mean probability per token of each text.

    Use it to score sentences as StereoSet does with causal models.

    Parameters
    ----------
    log_likelihood : array_like, any shape
        Natural log-probabilities of texts, summed over their tokens.
    token_count : array_like, same shape
        Number of scored tokens.

    Returns
    -------
    numpy.ndarray
        Probabilities (larger is more likely), same shape. NaN if the log-likelihood is NaN or no token was scored.

    Notes
    -----
    The number is exp(log_likelihood / token_count), which is 1 / perplexity.

    References
    ----------
    - Nadeem et al. 2021 (StereoSet): causal sentence score, 2 to the power of the mean log2 probability.

    Examples
    --------
    >>> inverse_perplexity([-4.0], [2]).round(3)
    array([0.135])
    """
    with np.errstate(over="ignore"):
        return np.exp(_mean_log_probability(log_likelihood, token_count, "token_count"))


@checked
def perplexity_of_tokens(
    log_likelihoods: pl.Series, *, skipped: int = 0, longest: int | None = None
) -> pl.Series:
    """Return the perplexity of each text from the log-probabilities of its tokens.

    Use it to leave out the first tokens of texts, or to cut long texts. If you have only the sum over tokens, use
    `perplexity`.

    Parameters
    ----------
    log_likelihoods : polars.Series of lists, shape (n,)
        For each text, natural log-probabilities of its tokens; null for missing texts.
    skipped : int, default 0
        Number of tokens at the beginning that are left out.
    longest : int, optional
        Number of tokens after which a text is cut, including the skipped ones. Default: no cut.

    Returns
    -------
    polars.Series, shape (n,)
        Perplexities; null if the text is missing, no token is left or the result is not finite.

    Examples
    --------
    >>> perplexity_of_tokens(pl.Series([[-9.0, -1.0, -3.0], [-2.0], None]), skipped=1).round(3).to_list()
    [7.389, None, None]
    """
    inner = getattr(log_likelihoods.dtype, "inner", pl.Null())
    if log_likelihoods.dtype != pl.Null and not (
        isinstance(log_likelihoods.dtype, pl.List | pl.Array) and (inner.is_numeric() or inner == pl.Null)
    ):
        raise DataError(
            f"perplexity_of_tokens needs lists of numbers in log_likelihoods, which contains {log_likelihoods.dtype}.",
            "Give one list of token log-likelihoods for each text, or null.",
        )
    lists = log_likelihoods.cast(pl.List(pl.Float64))
    kept = lists.list.slice(skipped, None if longest is None else longest - skipped)
    means = (-kept.list.mean()).exp()
    return pl.select(pl.when(means.is_finite()).then(means)).to_series().alias("perplexity")


@checked
def bits_per_character(log_likelihood: ArrayLike, character_count: ArrayLike) -> Floats:
    """Return the number of bits per character of each text.

    Use it to compare models with different tokenizers. Perplexities per token cannot be compared between them.

    Parameters
    ----------
    log_likelihood : array_like, any shape
        Natural log-probabilities of texts, summed over their tokens.
    character_count : array_like, same shape
        Number of characters of the scored text.

    Returns
    -------
    numpy.ndarray
        Bits per character (larger is less likely), same shape. NaN if the log-likelihood is NaN or the text is
        empty.

    Notes
    -----
    The number is -log_likelihood / (character_count ln 2).

    Examples
    --------
    >>> float(bits_per_character(-8 * np.log(2), 4))
    2.0
    """
    return np.asarray(-_mean_log_probability(log_likelihood, character_count, "character_count") / np.log(2))


def _mean_log_probability(log_likelihood: ArrayLike, count: ArrayLike, name: str) -> Floats:
    require_same_shape("perplexity", log_likelihood=log_likelihood, **{name: count})
    total = np.asarray(log_likelihood, dtype=np.float64)
    units = np.asarray(count, dtype=np.float64)
    return np.asarray(total / np.where(units > 0, units, np.nan))


CARDS = (
    MeasureInfo.of(
        Card(
            name="perplexity",
            summary="Perplexity of each text: e to the power of minus the mean log-likelihood per token.",
            construct="How surprising a model finds a text, per token.",
            groups="None. The measure describes texts, and other measures compare groups with it.",
            direction="Lower is less surprising. The measure is a description.",
            null="None.",
            critique="Perplexity cannot be compared between models with different tokenizers; bits per character "
            "can.",
            source="Smith et al. 2022, section 2.3.2",
        ),
        unit="nats per token, exponentiated",
    ),
    MeasureInfo.of(
        Card(
            name="own_perplexity",
            summary="How surprising a model finds its own continuations (perplexity, mean over texts).",
            construct="How strictly a model keeps to its most likely words, not how good these words are.",
            harm="None by itself.",
            groups="None.",
            ideal="None. Compare with the same model before a mitigation, with the same decoding.",
            direction="Much lower is duller, much higher is less fluent.",
            null="None. Compare with another run.",
            critique="The value depends on decoding as much as on the model, and cannot be compared between models.",
            citation=ROBBIE,
            source="evenhand.benchmarks.quality",
            details="The value is e to the power of the nats per token, averaged over texts. The 95% CI is a "
            "cluster bootstrap over articles, of the logarithm.",
        ),
        unit="perplexity",
    ),
)
