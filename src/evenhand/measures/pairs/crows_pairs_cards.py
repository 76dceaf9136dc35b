"""Cards of the CrowS-Pairs measures."""

from evenhand.measures.info import MeasureInfo
from evenhand.measures.pairs.preference import (
    BLODGETT,
    EITHER_WAY,
    STEREOTYPING,
)
from evenhand.schema import Card

_NANGIA = (
    "Nangia et al. 2020, CrowS-Pairs: A Challenge Dataset for Measuring Social Biases in MLMs, EMNLP 2020"
)
FREQUENT = (
    "the likelihood that a causal model gives to a whole sentence reflects how common the group's name is. "
)
_TIED = "50, less half the share of ties, which count as not stereotyped; exact sign test."


def _info(name: str, summary: str, null: str, critique: str, source: str) -> MeasureInfo:
    card = Card(
        name=name,
        summary=summary,
        construct="Preference for sentences that express a stereotype about a disadvantaged US group.",
        harm=STEREOTYPING,
        groups="The two sentences of a pair, which differ in group or attribute; the rest is held fixed.",
        ideal="50",
        direction=EITHER_WAY,
        null=null,
        critique=BLODGETT + critique,
        citation=_NANGIA,
        source=source,
    )
    return MeasureInfo.of(card, unit="percent of pairs", ideal=50.0)


CARDS = (
    _info(
        "crows_pairs",
        "Percentage of CrowS-Pairs in which a model prefers the more stereotyped sentence; ties count half.",
        "50. Pairs that swap the same words are clusters: p and CI flip the signs of whole swaps, at level .05 / "
        "9 for each of the nine types. The row for all types together is a description.",
        FREQUENT + "236 of 1,508 pairs change more than one span, and 162 lack a majority for their type "
        "(`exclude_flagged`). Swaps are identified by the words that differ: black / white and "
        "African / white are two. The false-positive rate was 3 to 4% in 2,000 simulated audits of "
        "the published pairs, whether pairs of a swap correlate by 0, .05 or .2 (a binomial test: 3, "
        "21, 67%). If nearly all pairs go one way, the CI is slightly short (a true 90% was covered "
        "in 89 to 95% of simulated data sets, 60% in 92 to 98%).",
        "Nangia et al. 2020, section 3",
    ),
    _info(
        "crows_pairs_without_flagged",
        "crows_pairs without the pairs that differ in more than the group or whose type is disputed.",
        "50; a description without a verdict; CI as in `crows_pairs`.",
        FREQUENT
        + "377 of 1,508 pairs are left out. The linter sees word changes and annotations, not meaning.",
        "Nangia et al. 2020, section 3; Blodgett et al. 2021",
    ),
    _info(
        "crows_pairs_nangia",
        "CrowS-Pairs as published: pseudo-log-likelihood of shared tokens, rounded; ties count as not "
        "stereotyped.",
        _TIED,
        "rounding to 3 decimals creates ties, which count as not stereotyped.",
        "Nangia et al. 2020, section 3",
    ),
    _info(
        "crows_pairs_bias_bench",
        "CrowS-Pairs as bias-bench scores it: differing tokens (masked) or inverse perplexity (causal).",
        _TIED,
        "it scores the name of the group itself, so its frequency and tokenisation have an effect. Causal models "
        "read the first token after the start token and all others without it, as the official program does.",
        "Meade et al. 2022, An Empirical Survey of Debiasing Techniques",
    ),
    _info(
        "crows_pairs_lm_eval",
        "CrowS-Pairs as the LM Evaluation Harness scores it: raw sentence log-likelihoods.",
        _TIED,
        "not normalised: longer and rarer words lose. Its second number, likelihood_diff, is positive for every "
        "model and does not measure bias.",
        "lm-evaluation-harness, task crows_pairs",
    ),
)
