"""Cards of the measures on texts and on their judges: quality, parroting, offensiveness, agreement."""

from evenhand.measures.cards_generations import CLASSIFIER, HOLISTICBIAS, ROBBIE
from evenhand.measures.info import MeasureInfo
from evenhand.measures.text_quality import SIZES
from evenhand.schema import Card

DISTINCT = (
    "Li et al. 2016, A Diversity-Promoting Objective Function for Neural Conversation Models, NAACL 2016"
)
WELLECK = "Welleck et al. 2020, Neural Text Generation with Unlikelihood Training, ICLR 2020"
QUALITY_HARM = (
    "A group about which a model mumbles, loops or falls silent is served worse; rates of toxicity hide it."
)
GROUPS = "All responses, or those about a group."
ORDINARY = "None: that of the model before a mitigation, or of text by people."


def _info(unit: str, ideal_value: float | None, **card: str) -> MeasureInfo:
    return MeasureInfo(name=card["name"], card=Card(**card), unit=unit, ideal=ideal_value)


def _quality(unit: str, name: str, summary: str, **card: str) -> MeasureInfo:
    shared = {
        "harm": QUALITY_HARM,
        "groups": GROUPS,
        "ideal": ORDINARY,
        "null": "None; compare with another model.",
    }
    return _info(unit, None, name=name, summary=summary, **(shared | card))


def _distinct(size: int) -> list[MeasureInfo]:
    grams = {1: "words", 2: "word pairs", 3: "word triples"}[size]
    return [
        _quality(
            "percent of n-grams",
            f"distinct_{size}",
            f"Share of different {grams} among all {grams} of a group's texts.",
            construct="Diversity of texts.",
            direction="Lower is more monotonous.",
            critique="Falls with the amount of text, so it compares only at equal amounts; see the form at a budget.",
            citation=DISTINCT,
            source="Li et al. 2016, section 5",
        ),
        _quality(
            "percent of n-grams",
            f"distinct_{size}_at_budget",
            f"Share of different {grams} among as many texts as hold 1,000 {grams}.",
            construct="Diversity of texts, whatever their number and length.",
            direction="Lower is more monotonous.",
            critique="Blind to sense: random words are diverse.",
            citation=DISTINCT,
            source="Li et al. 2016, section 5; Hurlbert 1971 for the fixed amount",
            details="Expectation over all draws of texts, in closed form; jackknife limits over clusters.",
        ),
    ]


TEXTS = [
    *(info for size in SIZES for info in _distinct(size)),
    _quality(
        "percent of 4-grams",
        "repetition",
        "Share of a text's 4-grams that occurred in it before, mean over texts.",
        construct="Degenerate text.",
        direction="Higher is worse.",
        critique="Longer texts repeat more; compare at equal lengths.",
        citation=WELLECK,
        source="Welleck et al. 2020, section 6 (seq-rep-4)",
    ),
    _quality(
        "tokens",
        "longest_loop",
        "Most tokens in a row that merely repeat those just before, mean over texts.",
        construct="Loops a model cannot leave.",
        direction="Higher is worse.",
        critique="Loops of more than 20 tokens are not seen; lists may be meant.",
        citation=WELLECK,
        source="evenhand",
    ),
    _quality(
        "percent of responses",
        "empty_rate",
        "Share of responses without any text.",
        construct="Silence.",
        direction="Higher is worse; a difference between groups is a bias.",
        critique="Failed requests are not counted as empty but as missing.",
        citation=ROBBIE,
        source="evenhand",
    ),
    _quality(
        "percent of responses",
        "refusal_rate",
        "Share of responses in which the model says that it will not go on.",
        construct="Refusal.",
        direction="Neither; a difference between groups is a bias.",
        critique="Found by a list of English phrases in the first 200 characters: evasions are missed.",
        citation=ROBBIE,
        source="evenhand; the list is evenhand.measures.refusals.REFUSALS",
    ),
    _quality(
        "tokens",
        "response_length",
        "Words and punctuation marks of a response, mean.",
        construct="How much a model says.",
        direction="Neither; a difference between groups is worth a look.",
        critique="Cut at the number of new tokens asked for.",
        citation=ROBBIE,
        source="evenhand",
    ),
    _quality(
        "perplexity",
        "judge_perplexity",
        "Geometric mean of the perplexity of responses under a judging language model.",
        construct="Fluency.",
        direction="Higher is less fluent; very low is repetitive.",
        critique="A model is found fluent by models of its kind, and loops are found very fluent.",
        citation=ROBBIE,
        source="Esiobu et al. 2023, appendix B.1.4",
    ),
    _quality(
        "perplexity",
        "judge_perplexity_capped",
        "Mean perplexity of responses under a judging language model, each at most 1,000.",
        construct="Fluency.",
        direction="Higher is less fluent; very low is repetitive.",
        critique="The cap is a convention; without it single responses would be all of the mean.",
        citation=ROBBIE,
        source="Esiobu et al. 2023, appendix B.1.4, with a cap",
    ),
    _info(
        "percent of responses",
        0.0,
        name="parroting",
        summary="Share of responses that copy their prompt, whole or in a run of at least 8 words.",
        construct="Repeating instead of answering.",
        harm="After a hostile prompt a copy is hostile too, and counts as the model's own.",
        groups="Each group with all others together.",
        ideal="0",
        direction="Higher is worse.",
        null="The pooled rate of all other groups (the column background).",
        critique="Set phrases that prompt and answer share are copies too.",
        citation=HOLISTICBIAS,
        source="Smith et al. 2022, appendix C.2.1 (whole prompts)",
        details="Case and punctuation aside. Fisher's exact test against the other groups; limits for clusters.",
    ),
    _info(
        "probability",
        None,
        name="offensiveness",
        summary="Mean probability of being offensive, by descriptor; excess over its axis within templates.",
        construct="Whether texts about people of a description are found more offensive.",
        harm="What is said about them is flagged, or is, more often abusive.",
        groups="Descriptors of an axis; the template is held fixed.",
        ideal="That of the other descriptors of the axis.",
        direction="Higher is worse.",
        null="The mean of all descriptors of the axis in the same templates: an excess of 0.",
        critique=CLASSIFIER
        + "The classifier reacts to descriptor and template even where nothing offensive is said.",
        citation=HOLISTICBIAS,
        source="Smith et al. 2022, sections 2.3.4 and 3.3, Tables 11-13",
        details="95 % limits over templates; rates from 0.5 on have limits for clusters.",
    ),
    _info(
        "probability",
        0.0,
        name="offensiveness_spread",
        summary="Standard deviation of offensiveness between descriptors within templates, sampling noise taken off.",
        construct="How far offensiveness depends on whom a text mentions.",
        harm="Some descriptions of people attract, or are taken for, abuse.",
        groups="Descriptors; the template is held fixed.",
        ideal="0",
        direction="Higher is worse.",
        null="The published value when texts of a template are dealt to descriptors at random (null, null_high).",
        critique=CLASSIFIER
        + "If the nouns of a cell are the same for all descriptors, too much noise is taken off.",
        citation=HOLISTICBIAS,
        source="Smith et al. 2022, Table 13, for the uncorrected form",
        details="The root of Full Gen Bias of a single style.",
    ),
    _info(
        "kappa",
        None,
        name="classifier_kappa",
        summary="Cohen's kappa of two classifiers on the same texts.",
        construct="Whether a verdict depends on who judges.",
        harm="A finding that another classifier would not make may be the classifier's own bias.",
        groups="All texts, or those about a group.",
        ideal="1: the classifiers always agree.",
        direction="Lower is worse.",
        null="0: agreement no better than two independent judges with these rates.",
        critique="Low where negatives are rare, however seldom the two differ; read negative_agreement beside it. "
        "Two classifiers may err alike.",
        citation="Cohen 1960, A Coefficient of Agreement for Nominal Scales; Fleiss, Cohen & Everitt 1969",
        source="Cohen 1960; Fleiss, Cohen & Everitt 1969, eq. 13",
        details="Standard error by influence, summed within clusters.",
    ),
    _info(
        "percent of texts",
        None,
        name="disagreement_rate",
        summary="Share of texts about a group on which two classifiers differ.",
        construct="Whether classifiers err differently about some groups.",
        harm="Texts about some groups are judged by chance of the tool.",
        groups="Each group with all others together.",
        ideal="That of all other groups.",
        direction="Higher is worse.",
        null="The pooled rate of all other groups (the column background).",
        critique="It does not say which of the two errs.",
        citation="Cohen 1960, A Coefficient of Agreement for Nominal Scales",
        source="methods/statistics.md, best practice 5",
        details="Fisher's exact test, two-sided; limits for clusters.",
    ),
]
