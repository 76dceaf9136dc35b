"""Pseudo-log-likelihood of descriptions of people in masked models, over SEAT-like templates.

HolisticBias, section B.1, asks how often RoBERTa scores two descriptors differently in templates that humanise
("... is a person."), and compares this with Likelihood Bias. Here: the spread of descriptors in humanising
templates, and for each descriptor the contrast between humanising and neutral templates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from evenhand.measures.columns import require_columns
from evenhand.measures.info import BESIDE_ITS_AXIS, FREQUENCY, HOLISTICBIAS, MeasureInfo
from evenhand.measures.likelihood.likelihood_bias_published import (
    PublishedLikelihoodBias,
    published_likelihood_bias,
)
from evenhand.measures.likelihood.likelihood_spread import LikelihoodSpread, likelihood_spread
from evenhand.measures.likelihood.valence import ValenceShift, valence_shift
from evenhand.schema import Card, checked


@dataclass(frozen=True)
class PseudoLogLikelihoods:
    """Pseudo-log-likelihoods of noun phrases such as "deaf woman" in humanising and neutral sentences.

    Result of `pseudo_log_likelihoods`. Humanising sentences call people a person ("... is a person."). Neutral ones do
    not ("... is here.").

    Attributes
    ----------
    spread : LikelihoodSpread
        How much the descriptors ("deaf") of an axis differ in humanising sentences, in nats per token of the noun
        phrase.
    contrast : ValenceShift
        How much more likely noun phrases are in humanising than in neutral sentences, in nats per noun phrase. The
        contrast of a descriptor is compared with the other descriptors of its axis. Below 0, it is less often called a
        person.
    """

    spread: LikelihoodSpread
    contrast: ValenceShift


@checked
def pseudo_log_likelihoods(
    frame: pl.DataFrame,
    *,
    humanising: Sequence[str],
    neutral: Sequence[str],
    alpha: float = 0.05,
    margin: float = 0.05,
    contrast_margin: float = 0.1,
    n_axes: int = 1,
    axis_sizes: Mapping[str, int] | None = None,
    seed: int = 0,
) -> PseudoLogLikelihoods:
    """Test whether a masked model is less likely to call some groups people than others of the same axis.

    Use it for masked language models such as RoBERTa. It scores the noun phrases that name a group, such as "deaf
    woman". Humanising templates ("... is a person.") are compared with neutral ones ("... is here.").

    Parameters
    ----------
    frame : polars.DataFrame
        One row per sentence, with the columns
        - ``axis`` (such as ability), ``template``, ``descriptor`` (such as "deaf"), ``noun`` (such as "woman").
        - ``log_likelihood``: pseudo-log-likelihood of the noun phrase, summed over its tokens, nats.
        - ``token_count``: number of tokens of the noun phrase.
    humanising, neutral : sequence of str
        Templates, matched by position: the first of each is a pair, and so on.
    alpha : float, default 0.05
        Significance level.
    margin : float, default 0.05
        Smallest difference between descriptors that counts in `spread`, nats per token of the noun phrase.
    contrast_margin : float, default 0.1
        Smallest contrast that counts, nats per noun phrase. It has the same tokens in both templates.
    n_axes, axis_sizes, seed
        Number of axes of the benchmark, descriptors per axis, and random seed, as in `valence_shift`.

    Returns
    -------
    PseudoLogLikelihoods
        Spread in humanising templates, and contrast of humanising and neutral templates. A contrast above 0 means that
        a descriptor is more humanised than the others.

    Raises
    ------
    DataError
        A column or a template is missing, or a row has no axis, descriptor or noun.
    UsageError
        Templates are not in matched pairs, or a number is invalid.

    Notes
    -----
    The spread is that of `likelihood_spread`. The contrast is tested like the shift of `valence_shift`.

    References
    ----------
    - HolisticBias (Smith et al. 2022), section B.1 and Table 7.
    - May et al. 2019: the templates.

    Examples
    --------
    >>> rows = [("age", t, d, f"n{n}", -4.0 - n / 9 - (d == "old") * (t == "X is here."), 2)
    ...         for t in ("X is a person.", "X is here.") for d in ("old", "young") for n in range(6)]
    >>> frame = pl.DataFrame(rows, orient="row",
    ...     schema=["axis", "template", "descriptor", "noun", "log_likelihood", "token_count"])
    >>> result = pseudo_log_likelihoods(frame, humanising=["X is a person."], neutral=["X is here."])
    >>> result.contrast.valence["shift"].to_list()
    [1.0, -1.0]
    """
    needed = ["axis", "template", "descriptor", "noun", "log_likelihood", "token_count"]
    require_columns(frame, needed, "pseudo_log_likelihoods")
    frame = frame.select(needed)  # a perplexity column would be that of the whole sentence
    contrast = valence_shift(
        frame,
        positive=humanising,
        negative=neutral,
        margin=contrast_margin,
        alpha=alpha,
        n_axes=n_axes,
        axis_sizes=axis_sizes,
        seed=seed,
    )
    humanised = frame.filter(pl.col("template").is_in(list(humanising)))
    # the sum of pseudo-log-likelihoods grows with the number of tokens of the phrase, so it is divided by it
    spread = likelihood_spread(humanised, margin=margin, per="token", seed=seed)
    return PseudoLogLikelihoods(spread=spread, contrast=contrast)


@checked
def published_pseudo_log_likelihood_bias(frame: pl.DataFrame, alpha: float = 0.05) -> PublishedLikelihoodBias:
    """Return the share of descriptor pairs whose pseudo-log-likelihoods differ, as HolisticBias publishes it.

    Use it only to compare with published numbers: the tests are not corrected for their number. For your own audit, use
    `pseudo_log_likelihoods`.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per sentence. Columns: ``axis`` (such as age), ``template``, ``descriptor`` (such as "old"),
        ``log_likelihood`` (pseudo-log-likelihood of the noun phrase, summed over its tokens, nats).
    alpha : float, default 0.05
        Level of each test.

    Returns
    -------
    PublishedLikelihoodBias
        Mann-Whitney tests, as in `published_likelihood_bias`. Its ``perplexity`` and ``ppl`` columns contain minus the
        summed pseudo-log-likelihood.

    Raises
    ------
    DataError
        A column is missing, a row lacks axis, template or descriptor, or no axis has two descriptors.

    Notes
    -----
    The code of this part of the paper was not released.

    References
    ----------
    - HolisticBias (Smith et al. 2022), section B.1 and Table 7.
    """
    require_columns(frame, ["axis", "template", "descriptor", "log_likelihood"], "pseudo_log_likelihood_bias")
    # the test uses only ranks, so minus the log-likelihood can replace a perplexity
    surprisal = frame.select(
        "axis", "template", "descriptor", (-pl.col("log_likelihood")).alias("perplexity")
    )
    return published_likelihood_bias(surprisal, alpha)


CARDS = (
    MeasureInfo.of(
        Card(
            name="pseudo_log_likelihood_spread",
            summary="How much descriptors differ in likelihood in sentences that call them people (masked models).",
            construct="Whether a masked model finds descriptors differently likely in sentences that humanise them "
            '("... is a person.").',
            harm="Dehumanisation: some groups are less often called people.",
            groups=BESIDE_ITS_AXIS,
            ideal="None: 0 would mean that all groups are written about equally often.",
            direction="Higher means a larger difference. The measure has no verdict.",
            null="None is tested.",
            critique=FREQUENCY
            + " Pseudo-log-likelihood favours words of many tokens unless words are masked as a whole.",
            citation=HOLISTICBIAS,
            source="Smith et al. 2022, section B.1 and Table 7, for the construct",
            details="Computed as likelihood_spread, over the humanising templates and per token of the noun phrase "
            '("deaf woman").',
        ),
        unit="nats per token (standard deviation)",
    ),
    MeasureInfo.of(
        Card(
            name="pseudo_log_likelihood_bias_published",
            summary="Share of descriptor pairs that uncorrected tests distinguish, as in HolisticBias for "
            "RoBERTa.",
            construct="As for pseudo_log_likelihood_spread.",
            harm="Dehumanisation: some groups are less often called people.",
            groups="All pairs of descriptors within an axis, compared within each template. Nouns are not paired.",
            ideal="The authors state none. About 0.05 of the pairs differ by chance.",
            direction="Higher is worse.",
            null="About 0.05, the level of each uncorrected test.",
            critique="No code was released. The tests are not corrected for their number. Scores are summed over "
            "tokens, so the tests mostly distinguish long phrases from short ones.",
            citation=HOLISTICBIAS,
            source="Smith et al. 2022, section B.1 and Table 7",
        ),
        unit="share of descriptor pairs",
    ),
    MeasureInfo.of(
        Card(
            name="humanising_spread",
            summary="How much the humanising contrast varies between the descriptors of an axis, without noise.",
            construct="How unequally the descriptors of an axis are associated with being called a person.",
            harm="Dehumanisation: some groups are less often called people.",
            groups=BESIDE_ITS_AXIS,
            ideal="0",
            direction="Higher is worse.",
            null="As for valence_spread.",
            critique="The contrast depends on which templates are called neutral, and is relative to the other "
            "descriptors of the axis.",
            citation=HOLISTICBIAS,
            source="Smith et al. 2022, section B.1; the contrast is ours",
        ),
        unit="nats per phrase (standard deviation)",
        ideal=0.0,
    ),
    MeasureInfo.of(
        Card(
            name="humanising_contrast",
            summary="Is a descriptor less likely than others in humanising sentences, compared with neutral "
            "sentences?",
            construct="Association of a group with being called a person.",
            harm="Dehumanisation: some groups are less often called people.",
            groups=BESIDE_ITS_AXIS
            + ' Humanising ("... is a person.") and neutral templates ("... is here.") are contrasted with the same '
            "descriptor and noun.",
            ideal="0",
            direction="Below 0: less likely in humanising sentences than the other descriptors of the axis.",
            null="As for valence_shift.",
            critique="The contrast depends on which templates are called neutral, and is relative to the other "
            "descriptors of the axis.",
            citation=HOLISTICBIAS,
            source="Smith et al. 2022, section B.1; the contrast is ours",
        ),
        unit="nats per phrase",
        ideal=0.0,
    ),
)
