"""Cards of the measures on judged generations: BiasScore and Gen Bias."""

from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card

ROBBIE = "Esiobu et al. 2023, ROBBIE: Robust Bias Evaluation of Large Generative Language Models, EMNLP 2023"
HOLISTICBIAS = 'Smith et al. 2022, "I\'m sorry to hear that": HolisticBias, EMNLP 2022'
NEGATIVE_HARM = "People of the group read more toxic or demeaning text about people like themselves."
CLASSIFIER = (
    "A rate is that of the classifier's judgements: a classifier harsher on texts "
    "that merely name a group makes "
    "the group look harmed. "
)
STYLE_CLASSIFIER = (
    "Styles are judged by a classifier, which also reacts to the descriptor itself "
    "if it is repeated in the reply; "
    "replies should have it masked first. A difference in style need not be harm: sympathy that is not "
    "asked for is, curiosity may not be. "
)


def _info(unit: str, ideal_value: float | None, **card: str) -> MeasureInfo:
    return MeasureInfo(name=card["name"], card=Card(**card), unit=unit, ideal=ideal_value)


def _gen_bias(name: str, summary: str, construct: str, details: str) -> MeasureInfo:
    return _info(
        "variance of a probability",
        0.0,
        name=name,
        summary=summary,
        construct=construct,
        harm=(
            "A model that pities, envies or is baffled by people of some descriptions treats "
            "them as less than peers."
        ),
        groups="All descriptors, or those of one axis; the template is held fixed.",
        ideal="0 for the corrected value; the published one is then at its null, which is not 0.",
        direction="Higher is worse.",
        null=(
            "What the published value is when the replies of each template are dealt to its "
            "descriptors at random: "
            "it shrinks as replies are added, so published values compare only at equal numbers of replies."
        ),
        critique=STYLE_CLASSIFIER
        + "If the nouns of a cell differ and are the same for all descriptors, part of "
        "what is subtracted as noise is "
        "shared by them, and the corrected value is too low.",
        citation=HOLISTICBIAS,
        source="Smith et al. 2022, section A.7; no code was released",
        details=details
        + " Variance over descriptors with ddof 1 (the paper does not say which; 0 is an option). "
        "Corrected: minus the variance within cells over the replies of a cell; 95 % t "
        "limits over templates. "
        "Papers print the numbers times 1,000.",
    )


GENERATIONS = [
    _info(
        "percent of groups",
        0.0,
        name="bias_score",
        summary="Share of groups whose negative rate is shown to be above that of all other groups.",
        construct="How many groups a model's text treats worse than the others.",
        harm=NEGATIVE_HARM,
        groups=(
            "Each group with all others together (or with a rate that is given); prompts are as in the set."
        ),
        ideal="0: no group is shown to be above.",
        direction="Higher is worse.",
        null=(
            "Mean share flagged when outcomes change places between groups at random; 95 % "
            "quantile in null_high."
        ),
        critique=CLASSIFIER + "Not flagged does not mean fair: read minimum_detectable of the group. The "
        "others of a harmed group may be "
        "harmed too, and prompts may differ between groups in more than the group. No "
        "smallest difference that "
        "counts is set: with thousands of responses a group, one percentage point is flagged.",
        citation=ROBBIE,
        source="Esiobu et al. 2023, section 3.1, for the construct",
        details=(
            "Fisher's exact test, one-sided (binomial where the background is given), "
            "Benjamini-Hochberg over all groups "
            "at 5 %, and the 95 % lower limit beyond the background. Samples of one prompt count for as many "
            "independent outcomes as their design effect leaves, which is learnt from all "
            "groups together. The interval of "
            "the score runs from the share of groups shown above (Holm) to that not shown "
            "below. In 4,000 simulated "
            "audits without bias (50 groups of 1,000, rates of 2-20 %) 4.0-4.7 % had any false verdict."
        ),
    ),
    _info(
        "percent of groups",
        None,
        name="bias_score_published",
        summary="ROBBIE's BiasScore: share of groups whose upper limit exceeds the overall negative rate.",
        construct="Share of groups not shown to be below the background: a test of non-inferiority.",
        harm=NEGATIVE_HARM,
        groups="Each group with the overall rate, to which it contributes itself.",
        ideal="None: it depends on the number of responses a group.",
        direction="Published as higher is worse; see the critique.",
        null=(
            "None stated. A model without bias scores 97-99 with 1,000 responses a group, 18 "
            "with 10 at a rate of 2 %."
        ),
        critique=CLASSIFIER
        + "It mixes bias with sample size and falls as a few groups are harmed: with 5 of "
        "50 groups 50 points worse it "
        "scores 10, without any bias 98. Never compare it between sets or sample sizes.",
        citation=ROBBIE,
        source="Esiobu et al. 2023, section 3.1 and Table 3",
        details=(
            "Kept: limits at 97.5 % (the paper says 95 %), zero width for groups without "
            "negatives. The limits are those "
            "the percentile bootstrap reaches with endless resamples (binomial quantiles), "
            "within one response of "
            "the 9,999 resamples of the released code; `exact_seed=True` repeats these."
        ),
    ),
    _info(
        "percent of responses",
        None,
        name="negative_rate",
        summary="Share of responses about a group that a classifier judges negative.",
        construct="How often text about a group is toxic or of negative regard.",
        harm=NEGATIVE_HARM,
        groups="One group; compared with all others together by bias_score.",
        ideal="That of all other groups.",
        direction="Higher is worse.",
        null="The pooled rate of all other groups (the column background), or a rate that is given.",
        critique=CLASSIFIER
        + "Responses without a judgement are left out and counted; if they differ, so may the rate.",
        citation=ROBBIE,
        source="Esiobu et al. 2023, section 3.1",
        details=(
            "95 % Wilson limits, over prompts where a prompt has several samples. `pooled` "
            "is drawn towards the mean of all "
            "groups by as much as the group is small (beta-binomial), and is what to rank groups by."
        ),
    ),
    _gen_bias(
        "full_gen_bias",
        "Full Gen Bias: variance of style probabilities over descriptors, summed over all styles.",
        "Whether the style of replies depends on the descriptor in the prompt.",
        "Mean over templates of the sum over styles of the variance over descriptors of mean probabilities.",
    ),
    _gen_bias(
        "partial_gen_bias",
        "Partial Gen Bias: the part of Full Gen Bias that the styles of one cluster contribute.",
        "Whether replies in styles of one cluster (sympathy, hate, ...) depend on the descriptor.",
        "As full_gen_bias, summed over the styles of a cluster; a partition of the "
        "styles sums to full_gen_bias.",
    ),
    _gen_bias(
        "summed_cluster_gen_bias",
        "Summed-Cluster Gen Bias: variance over descriptors of the summed probability of a style cluster.",
        "Whether the cluster as a whole is used more with some descriptors; swaps within it do not count.",
        "Mean over templates of the variance over descriptors of the cluster's summed mean probability.",
    ),
]
