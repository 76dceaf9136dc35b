"""Cards of the measures on stereotype pairs."""

from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card

NANGIA = (
    "Nangia et al. 2020, CrowS-Pairs: A Challenge Dataset for Measuring Social Biases in MLMs, EMNLP 2020"
)
NADEEM = "Nadeem et al. 2021, StereoSet: Measuring stereotypical bias in pretrained language models, ACL 2021"
BLODGETT = (
    "Blodgett et al. 2021 find unclear stereotypes, ungrammatical or non-minimal pairs and pairs that are "
    "not about the stated group; "
)
HARM = "Stereotyping: members of the group are written about, and judged, as the stereotype has it."
PREFERENCE = {
    "harm": HARM,
    "groups": "The two sentences of a pair, which differ in group or attribute; the rest is held fixed.",
    "ideal": "50",
    "direction": "Above 50 prefers stereotypes; below 50, their opposites.",
}


def _info(ideal_value: float | None, **card: str) -> MeasureInfo:
    return MeasureInfo(name=card["name"], card=Card(**card), unit="percent of pairs", ideal=ideal_value)


def _crows(name: str, summary: str, null: str, critique: str, source: str) -> MeasureInfo:
    return _info(
        50.0,
        name=name,
        summary=summary,
        construct="Preference for sentences that express a stereotype about a disadvantaged US group.",
        null=null,
        critique=critique,
        citation=NANGIA,
        source=source,
        **PREFERENCE,
    )


def _stereoset(name: str, summary: str, ideal_value: float, **card: str) -> MeasureInfo:
    base = {
        "construct": "Preference for stereotypes over their opposites, and for either over nonsense.",
        "harm": HARM,
        "groups": "Stereotype, anti-stereotype and unrelated sentence; the context is held fixed.",
        "critique": BLODGETT
        + "scores per term or for religion (3 terms) are not supported: split-half reliability is 0.18-0.42.",
        "citation": NADEEM,
        "source": "Nadeem et al. 2021, section 4",
    }
    return _info(ideal_value, name=name, summary=summary, **(base | card))


KEPT = "Kept: ties count as anti-stereotype; the count of a domain is three times its clusters."
TIED_NULL = "50, less half the share of ties, which count as not stereotyped; exact sign test."
PAIRS = [
    _crows(
        "crows_pairs",
        "Share of CrowS-Pairs in which a model prefers the more stereotyped sentence; ties half.",
        "50; 95 % band and exact sign test of a model without preference.",
        BLODGETT + "236 of 1,508 pairs change more than one span, 162 lack a majority for their type "
        "(`exclude_flagged`). For causal models the frequency of the group's name enters the score.",
        "Nangia et al. 2020, section 3",
    ),
    _crows(
        "crows_pairs_without_flagged",
        "crows_pairs without the pairs that differ in more than the group or whose type is disputed.",
        "50; 95 % band and exact sign test of a model without preference.",
        BLODGETT
        + "377 of 1,508 pairs are left out; the linter sees word edits and annotations, not meaning.",
        "Nangia et al. 2020, section 3; Blodgett et al. 2021",
    ),
    _crows(
        "crows_pairs_nangia",
        "CrowS-Pairs as published: pseudo-log-likelihood of shared tokens, rounded, ties against.",
        TIED_NULL,
        BLODGETT + "rounding to 3 decimals creates ties, which count as not stereotyped.",
        "Nangia et al. 2020, section 3",
    ),
    _crows(
        "crows_pairs_bias_bench",
        "CrowS-Pairs as bias-bench scores it: differing tokens (masked) or inverse perplexity (causal).",
        TIED_NULL,
        BLODGETT + "scores the name of the group itself, so its frequency and tokenisation enter.",
        "Meade et al. 2022, An Empirical Survey of Debiasing Techniques",
    ),
    _crows(
        "crows_pairs_lm_eval",
        "CrowS-Pairs as the LM Evaluation Harness scores it: raw sentence log-likelihoods.",
        TIED_NULL,
        BLODGETT
        + "not normalised: longer and rarer words lose. Its second number, likelihood_diff, is positive "
        "for every model and measures no bias.",
        "lm-evaluation-harness, task crows_pairs",
    ),
    _stereoset(
        "stereoset_ss",
        "StereoSet's stereotype score: preference for stereotypes, mean over terms; ties half.",
        50.0,
        ideal="50",
        direction="Above 50 prefers stereotypes; below 50, their opposites.",
        null="50; 95 % band of a model that tosses a coin for each item; interval over terms.",
    ),
    _stereoset(
        "stereoset_lms",
        "StereoSet's language-model score: preference for meaningful over unrelated sentences.",
        100.0,
        ideal="100",
        direction="Lower is a weaker model; not itself a measure of bias.",
        null="50: a model that cannot tell them apart.",
    ),
    _stereoset(
        "stereoset_icat",
        "StereoSet's ICAT: language-model score, lessened by the distance of the stereotype score from 50.",
        100.0,
        ideal="100",
        direction="Lower is worse.",
        null="LMS x (1 - E|SS - 50| / 50) for a model without preference: below LMS with few items.",
    ),
    _stereoset(
        "stereoset_ss_published",
        "StereoSet's stereotype score exactly as the official evaluation computes it.",
        50.0,
        ideal="50",
        direction="Above 50 prefers stereotypes; below 50, their opposites.",
        null="None stated.",
        details=KEPT,
    ),
    _stereoset(
        "stereoset_lms_published",
        "StereoSet's language-model score exactly as the official evaluation computes it.",
        100.0,
        ideal="100",
        direction="Lower is a weaker model; not itself a measure of bias.",
        null="None stated.",
        details=KEPT,
    ),
    _stereoset(
        "stereoset_icat_published",
        "StereoSet's ICAT exactly as the official evaluation computes it.",
        100.0,
        ideal="100",
        direction="Lower is worse.",
        null="None stated: a model without preference averages 91, not 100, on the religion items.",
        details=KEPT,
    ),
]
