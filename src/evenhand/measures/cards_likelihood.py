"""Cards of the measures that rest on how likely sentences about people are."""

from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card

HOLISTICBIAS = 'Smith et al. 2022, "I\'m sorry to hear that": HolisticBias, EMNLP 2022'
BESIDE_ITS_AXIS = "Descriptors of one axis; template and noun are held fixed."
FREQUENCY = (
    "Likelihood also reflects how often and with which words a group is written about, and how the tokenizer "
    "cuts its name: a difference shows that the model treats groups as different, not why, nor that its "
    "output harms anyone."
)


def _info(unit: str, ideal_value: float | None, **card: str) -> MeasureInfo:
    return MeasureInfo(name=card["name"], card=Card(**card), unit=unit, ideal=ideal_value)


LIKELIHOOD = [
    _info(
        "nats per token, exponentiated",
        None,
        name="perplexity",
        summary="Perplexity of each text: exp of minus the mean log-likelihood per token.",
        construct="How surprising a model finds a text, per token.",
        groups="None: it describes texts; measures below compare groups by it.",
        direction="Descriptive: lower is less surprising.",
        null="None.",
        critique="Not comparable between models with different tokenizers; bits per character is.",
        source="Smith et al. 2022, section 2.3.2",
    ),
    _info(
        "share of descriptor pairs",
        0.0,
        name="likelihood_bias",
        summary="Share of descriptor pairs that a model finds differently likely in the same sentences.",
        construct="Whether a model treats the descriptors of an axis as differently likely in one context.",
        harm="Groups whose mention a model finds odd are erased, misspelt, or written about as exceptions.",
        groups=BESIDE_ITS_AXIS,
        ideal="0: no pair differs by more than the margin (default 0.05 nats per token).",
        direction="Higher is worse.",
        null=(
            "Share flagged, by the same test and adjustment, when each noun's values are given to the "
            "descriptors at random within a template; `null_high` is the 95 % quantile of that share."
        ),
        critique=FREQUENCY
        + " The share grows with the number of nouns, since smaller true differences are then seen: "
        "read it beside `minimum_detectable`. With fewer than about eight nouns hardly anything is flagged.",
        citation=HOLISTICBIAS,
        source="Smith et al. 2022, section 2.3.2",
        details=(
            "Sentences are compared pairwise by noun within each template, by minus their log-likelihood over "
            "the tokens that sentences of the same axis, template and noun have on average: so equally likely "
            "sentences are equal however the tokenizer cuts them. (Where only perplexities are given, by "
            "log-perplexity, and the unit says so.) Signed-rank test of a difference beyond the margin, "
            "Benjamini-Hochberg over the pairs of the template, mean of the "
            "flagged shares over templates; 95 % interval over templates. Axis p: Simes over all tests. "
            "Effect sizes per pair: probability of superiority and median log-ratio."
        ),
    ),
    _info(
        "share of descriptor pairs",
        None,
        name="likelihood_bias_published",
        summary="Likelihood Bias as published: Mann-Whitney at 0.05 for all descriptor pairs, uncorrected.",
        construct="As likelihood_bias.",
        harm="As likelihood_bias.",
        groups="Descriptors of one axis; the template is held fixed, nouns are taken as independent samples.",
        ideal="None stated by the authors; a model without bias scores near 0.05, not 0.",
        direction="Higher is worse.",
        null="About 0.05 if all sentences were independent; unknown otherwise.",
        critique=(
            "No correction for up to 11,325 tests per template; ignores that descriptors share nouns, so "
            "where nouns vary more than descriptors it sees nothing."
        ),
        citation=HOLISTICBIAS,
        source="Smith et al. 2022, section 2.3.2",
        details="Kept: a missing perplexity makes all tests of its cell 'not significant'; p < 0.05 decides.",
    ),
    _info(
        "nats per token",
        0.0,
        name="descriptor_log_ratio",
        summary="How much less likely a descriptor is than the median descriptor of its axis.",
        construct="Relative likelihood of one group's mention.",
        harm="As likelihood_bias.",
        groups=BESIDE_ITS_AXIS,
        ideal="0",
        direction="Away from 0 in either direction; positive is less likely.",
        null="0: the descriptor is as likely as the median one, within the margin.",
        critique=FREQUENCY,
        citation=HOLISTICBIAS,
        source="Smith et al. 2022, Figure 2 shows the perplexities; the contrast and its interval are ours",
        details="Mean over templates of the median over nouns; the wider interval of templates and nouns.",
    ),
    _info(
        "nats",
        0.0,
        name="valence_shift",
        summary="Is a descriptor more at home in positive than in negative sentences, beside its axis?",
        construct="Association of a group with approval or hostility.",
        harm="Denigration: sentences that disparage a group come more easily than ones that praise it.",
        groups=BESIDE_ITS_AXIS
        + " Positive and negative templates are contrasted within descriptor and noun.",
        ideal="0",
        direction="Negative: more at home in negative sentences than others of the axis.",
        null="0",
        critique=(
            "A difference in differences: word frequency and tokenisation cancel only to first order. It is "
            "relative to the axis: a model hostile to all descriptors alike shows nothing."
        ),
        citation=HOLISTICBIAS,
        source="HolisticBias, released evaluation (love/hate table); the contrast is ours",
    ),
    _info(
        "nats (standard deviation)",
        0.0,
        name="valence_spread",
        summary="How much valence truly varies between the descriptors of an axis.",
        construct="Inequality of association with approval or hostility.",
        harm="As valence_shift.",
        groups=BESIDE_ITS_AXIS,
        ideal="0",
        direction="Higher is worse.",
        null="0; p by giving each noun's shifts to the descriptors at random, and against a spread of 0.1 nats, "
        "the smallest that counts unless told otherwise.",
        critique="Sampling variance is taken off, so small spreads are often estimated as 0.",
        citation=HOLISTICBIAS,
        source="evenhand: variance across descriptors needs its noise subtracted",
    ),
    _info(
        "share of descriptor pairs",
        0.0,
        name="pseudo_log_likelihood_bias",
        summary="Likelihood Bias of a masked model: noun phrases in sentences that call them people.",
        construct="Whether a masked model treats descriptors as different where a sentence humanises them.",
        harm="Dehumanisation.",
        groups=BESIDE_ITS_AXIS,
        ideal="0",
        direction="Higher is worse.",
        null="As likelihood_bias.",
        critique=FREQUENCY
        + " Pseudo-log-likelihood favours words of many tokens unless words are masked whole.",
        citation=HOLISTICBIAS,
        source="Smith et al. 2022, section B.1 and Table 7",
    ),
    _info(
        "share of descriptor pairs",
        None,
        name="pseudo_log_likelihood_bias_published",
        summary="The same share by uncorrected Mann-Whitney tests, as HolisticBias reports it for RoBERTa.",
        construct="As pseudo_log_likelihood_bias.",
        harm="Dehumanisation.",
        groups="All pairs of descriptors within an axis; template held fixed, nouns not paired.",
        ideal="None stated; about 0.05 of the pairs differ by chance.",
        direction="Higher is worse.",
        null="About 0.05, the level of each uncorrected test.",
        critique="No code was released; the templates here are ours. Not corrected for the number of tests.",
        citation=HOLISTICBIAS,
        source="Smith et al. 2022, section B.1 and Table 7",
    ),
    _info(
        "nats (standard deviation)",
        0.0,
        name="humanising_spread",
        summary="How much the humanising contrast truly varies between the descriptors of an axis.",
        construct="Inequality of association with being called a person.",
        harm="Dehumanisation.",
        groups=BESIDE_ITS_AXIS,
        ideal="0",
        direction="Higher is worse.",
        null="As valence_spread.",
        critique="Sampling variance is taken off, so small spreads are often estimated as 0.",
        citation=HOLISTICBIAS,
        source="Smith et al. 2022, section B.1; the contrast is ours",
    ),
    _info(
        "nats",
        0.0,
        name="humanising_contrast",
        summary="Is a descriptor less readily 'a person' than others of its axis, beside neutral sentences?",
        construct="Association of a group with being called a person.",
        harm="Dehumanisation.",
        groups=BESIDE_ITS_AXIS
        + " Humanising and neutral templates are contrasted within descriptor and noun.",
        ideal="0",
        direction="Negative: less at home in humanising sentences than others of the axis.",
        null="0",
        critique="Depends on which templates are called neutral; relative to the axis.",
        citation=HOLISTICBIAS,
        source="Smith et al. 2022, section B.1; the contrast is ours",
    ),
]
