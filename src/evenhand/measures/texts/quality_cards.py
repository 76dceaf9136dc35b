"""Cards of the measures of text quality."""

from evenhand.measures.info import ROBBIE, MeasureInfo
from evenhand.measures.texts.quality import SIZES
from evenhand.schema import Card

_LI = "Li et al. 2016, A Diversity-Promoting Objective Function for Neural Conversation Models, NAACL 2016"
_WELLECK = "Welleck et al. 2020, Neural Text Generation with Unlikelihood Training, ICLR 2020"


def _info(
    unit: str,
    name: str,
    summary: str,
    *,
    construct: str,
    direction: str,
    critique: str,
    citation: str,
    source: str,
    details: str = "",
) -> MeasureInfo:
    card = Card(
        name=name,
        summary=summary,
        construct=construct,
        harm="If a model writes incoherently, loops or stops answering about a group, this group is served worse. "
        "Toxicity rates hide this.",
        groups="All responses, or those about a group.",
        ideal="None. Compare with the model before a mitigation, or with human texts.",
        direction=direction,
        null="None. Compare with another model.",
        critique=critique,
        citation=citation,
        source=source,
        details=details,
    )
    return MeasureInfo.of(card, unit=unit)


def _distinct(size: int) -> list[MeasureInfo]:
    grams = {1: "words", 2: "word pairs", 3: "word triples"}[size]
    return [
        _info(
            "percent of n-grams",
            f"distinct_{size}",
            f"Share of different {grams} among all {grams} of a group's texts.",
            construct="Diversity of texts.",
            direction="Lower is more monotonous.",
            critique="The share decreases with the amount of text, so it can be compared only at equal amounts: see "
            "distinct_N_at_budget.",
            citation=_LI,
            source="Li et al. 2016, section 5",
        ),
        _info(
            "percent of n-grams",
            f"distinct_{size}_at_budget",
            f"Share of different {grams} in as many texts as contain 1,000 {grams}.",
            construct="Diversity of texts, independent of their number and length.",
            direction="Lower is more monotonous.",
            critique="The measure ignores meaning: random words are diverse.",
            citation=_LI,
            source="Li et al. 2016, section 5; Hurlbert 1971 for the fixed amount",
            details="The value is the expectation over all possible samples of texts, in closed form. The CI is a "
            "jackknife over clusters, such as responses to one prompt.",
        ),
    ]


CARDS = (
    *(info for size in SIZES for info in _distinct(size)),
    _info(
        "percent of 4-grams",
        "repetition",
        "Percentage of 4-grams that occurred in the same text before (mean over texts).",
        construct="Whether texts degenerate into repetition.",
        direction="Higher is worse.",
        critique="Longer texts repeat more: compare texts of equal length.",
        citation=_WELLECK,
        source="Welleck et al. 2020, section 6 (seq-rep-4)",
    ),
    _info(
        "tokens",
        "longest_loop",
        "Longest sequence of tokens that only repeats the tokens just before it (mean over texts).",
        construct="Whether a model gets into loops that it cannot leave.",
        direction="Higher is worse.",
        critique="Loops of more than 20 tokens are not detected. Lists may be intended to repeat.",
        citation=_WELLECK,
        source="evenhand",
    ),
    _info(
        "percent of responses",
        "empty_rate",
        "Percentage of responses without any text.",
        construct="Whether a model gives no answer at all.",
        direction="Higher is worse. A difference between groups is a bias.",
        critique="Failed requests count as missing, not as empty.",
        citation=ROBBIE,
        source="evenhand",
    ),
    _info(
        "percent of responses",
        "refusal_rate",
        "Percentage of responses in which the model refuses to continue.",
        construct="Whether a model refuses to continue.",
        direction="Neither a high nor a low rate is worse. A difference between groups is a bias.",
        critique="Refusals are detected by a list of English phrases in the first 200 characters, so evasions are "
        "missed.",
        citation=ROBBIE,
        source="evenhand; the list is evenhand.measures.texts.parroting.REFUSALS",
    ),
    _info(
        "tokens",
        "response_length",
        "Mean number of words and punctuation marks of a response.",
        construct="Length of responses.",
        direction="Neither a high nor a low value is worse. Look at differences between groups.",
        critique="The length is limited by the requested number of new tokens.",
        citation=ROBBIE,
        source="evenhand",
    ),
    _info(
        "perplexity",
        "judge_perplexity",
        "Geometric mean of the perplexity of responses under a judging language model.",
        construct="Fluency of responses.",
        direction="Higher is less fluent; very low is repetitive.",
        critique="Loops, and responses of models of the judge's own kind, get very low perplexities.",
        citation=ROBBIE,
        source="Esiobu et al. 2023, appendix B.1.4",
    ),
    _info(
        "perplexity",
        "judge_perplexity_capped",
        "Mean perplexity of responses under a judging language model, each capped at 1,000.",
        construct="Fluency of responses.",
        direction="Higher is less fluent; very low is repetitive.",
        critique="The cap is a convention. Without it, single responses would dominate the mean.",
        citation=ROBBIE,
        source="Esiobu et al. 2023, appendix B.1.4, with a cap",
    ),
)
