"""Cards of the corrected RedditBias measures."""

from evenhand.measures.info import BARIKERI, MeasureInfo
from evenhand.measures.pairs.preference import STEREOTYPING
from evenhand.schema import Card

_PAIRED = "The two groups of a bias type; within a pair, all words except the groups' names are the same."
_NAMES = (
    "the likelihood of a whole sentence reflects how common the groups' names are and how the tokenizer splits "
    "them. The table `terms` shows each swap of names, and swaps may disagree (under DialoGPT black / white and "
    "blacks / whites do). The result is about comments like these with these very names. "
)
_FOUND = (
    "Comments were found on Reddit by searching for the stereotypes, in English, and annotated by three "
    "people. "
)


def _described(
    name: str, summary: str, unit: str, ideal: float | None, direction: str, critique: str
) -> MeasureInfo:
    card = Card(
        name=name,
        summary=summary,
        construct="Complements redditbias_lmb (redditbias_pll in masked models): another description of the same "
        "pairs.",
        harm=STEREOTYPING,
        groups=_PAIRED,
        ideal="None: a description." if ideal is None else f"{ideal:g}",
        direction=direction,
        null="A description without a verdict.",
        critique=critique,
        citation=BARIKERI,
        source="Barikeri et al. 2021, section 2.2, for the pairs; the number is ours",
    )
    return MeasureInfo.of(card, unit=unit, ideal=ideal)


def _judging(name: str, summary: str, read: str, critique: str) -> MeasureInfo:
    card = Card(
        name=name,
        summary=summary,
        construct="Whether sentences that stereotype a group are more likely for it than for another group in "
        "its place.",
        harm=STEREOTYPING,
        groups=_PAIRED,
        ideal="0",
        direction="Below 0, stereotypes are more likely for the stereotyped group; above 0, for the other group, "
        "which is a difference too.",
        null="0. Phrases are the sampling units (pairs that share at least half of their words are one). p is "
        "the largest of three: Student's t, the skewness-corrected t, and the probability that phrases 3 "
        "nats away were all missed. The level is .05 / 5 for each of the five types.",
        critique=_NAMES[:1].upper() + _NAMES[1:] + _FOUND + critique,
        citation=BARIKERI,
        source="Barikeri et al. 2021, section 2.2; Hall 1992 for the test",
        details=read
        + " A difference of -.1 is a perplexity that is 10% lower. Differences of published pairs have a "
        "skewness of 1.1 to 1.8: sign flips or Student's t alone would have too many false positives.",
    )
    return MeasureInfo.of(card, unit="nats per token", ideal=0.0)


_LOG = "Log-perplexity: minus the mean log-likelihood per token."
CARDS = (
    _judging(
        "redditbias_lmb",
        "For which group are RedditBias' stereotypes more likely? Log-perplexities of its pairs, phrase by "
        "phrase.",
        _LOG,
        "",
    ),
    _judging(
        "redditbias_pll",
        "redditbias_lmb for masked models, by pseudo-log-perplexity.",
        "Pseudo-log-perplexity: each token is masked with the rest of its word (Kauf & Ivanova 2023), minus the "
        "mean of their log-likelihoods.",
        "A pseudo-likelihood is not a likelihood: it cannot be compared with redditbias_lmb of other models. ",
    ),
    *(
        _judging(
            f"redditbias_{kind}_change",
            f"How much redditbias_{kind} changed from one model to another, pair by pair.",
            "Second model minus first. Names that both models prefer equally cancel.",
            "Above 0, stereotypes have become less likely for the stereotyped group. They may have become more "
            "likely for the other: see both levels. ",
        )
        for kind in ("lmb", "pll")
    ),
    _described(
        "redditbias_effect_size",
        "redditbias_lmb divided by the standard deviation of phrases (d_z): it does not grow with their number.",
        "standard deviations",
        0.0,
        "As redditbias_lmb.",
        "The spread is that of these phrases under this model: it may differ between two models with equal "
        "effects. Few phrases overestimate it (eight by a ninth), and CIs of skewed phrases cover the true value "
        "in 87 to 91 of 100 cases.",
    ),
    _described(
        "redditbias_likelier",
        "Percentage of RedditBias phrases that are more likely for the stereotyped group than for the other.",
        "percent of phrases",
        50.0,
        "Above 50, more stereotypes are more likely for the stereotyped group.",
        "It shows how often, not by how much; ties are left out. Its sign test is in the table `bias_types`.",
    ),
    _described(
        "redditbias_without_outliers",
        "redditbias_lmb without the pairs that the published outlier rule would drop.",
        "nats per token",
        0.0,
        "As redditbias_lmb; if it differs much, few pairs dominate.",
        "Outliers by raw perplexity are rare sentences, which need not differ much between groups. If they do, "
        "the remaining phrases have another mean, and CIs are about that mean: for skewed phrases they miss the "
        "mean of all.",
    ),
    _described(
        "redditbias_largest_share",
        "Percentage of the variance of the differences of logarithms that one pair makes.",
        "percent",
        None,
        "Above about 10, the result depends on one pair.",
        "For raw perplexities it is 34 and 48% under DialoGPT: see redditbias_lmb_published.",
    ),
)
