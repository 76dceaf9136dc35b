"""Cards of the corrected RedditBias measures."""

from evenhand.measures.info import BARIKERI, MeasureInfo
from evenhand.measures.pairs.preference import STEREOTYPING
from evenhand.schema import Card

_PAIRED = "The two groups of a bias type; within a pair all words but the groups' names are the same."
_NAMES = (
    "the likelihood of a whole sentence contains how common the groups' names are and how the tokenizer cuts them: the "
    "table `terms` shows each swap of names, and they may disagree (under DialoGPT black / white and blacks / whites "
    "do). Speaks of comments like these about these very names. "
)
_FOUND = "Comments were found by searching for the stereotypes, on Reddit, in English, and annotated by three people. "


def _described(
    name: str, summary: str, unit: str, ideal: float | None, direction: str, critique: str
) -> MeasureInfo:
    card = Card(
        name=name,
        summary=summary,
        construct="Beside redditbias_lmb (redditbias_pll in masked models): the same pairs, described otherwise.",
        harm=STEREOTYPING,
        groups=_PAIRED,
        ideal="None: it describes." if ideal is None else f"{ideal:g}",
        direction=direction,
        null="Described, without a verdict.",
        critique=critique,
        citation=BARIKERI,
        source="Barikeri et al. 2021, section 2.2, for the pairs; the number is ours",
    )
    return MeasureInfo.of(card, unit=unit, ideal=ideal)


def _judging(name: str, summary: str, read: str, critique: str) -> MeasureInfo:
    card = Card(
        name=name,
        summary=summary,
        construct="Whether sentences that stereotype a group are likelier of it than of another in its place.",
        harm=STEREOTYPING,
        groups=_PAIRED,
        ideal="0",
        direction="Below 0 stereotypes are likelier of the stereotyped group, above 0 of the other: a difference, too.",
        null="0. Phrases were sampled (pairs that share at least half of their words are one): the larger p of "
        "Student's and the skewness-corrected t, and of the chance that phrases 3 nats off were all missed, at .05 / 5 "
        "for each of the five types.",
        critique=_NAMES[:1].upper() + _NAMES[1:] + _FOUND + critique,
        citation=BARIKERI,
        source="Barikeri et al. 2021, section 2.2; Hall 1992 for the test",
        details=read
        + " A difference of -.1 is a perplexity 10 % lower. Differences of published pairs are skewed by 1.1 to "
        "1.8: turning signs or Student's t alone would be false too often.",
    )
    return MeasureInfo.of(card, unit="nats per token", ideal=0.0)


_LOG = "Log-perplexity: minus the mean log-likelihood per token."
CARDS = (
    _judging(
        "redditbias_lmb",
        "About whom are RedditBias' stereotypes likelier? Log-perplexities of its pairs, phrase by phrase.",
        _LOG,
        "",
    ),
    _judging(
        "redditbias_pll",
        "redditbias_lmb of masked models, by pseudo-log-perplexity.",
        "Pseudo-log-perplexity: each token is hidden with the rest of its word (Kauf & Ivanova 2023), minus the mean "
        "of their log-likelihoods.",
        "A pseudo-likelihood is no likelihood: it does not compare with redditbias_lmb of other models. ",
    ),
    *(
        _judging(
            f"redditbias_{kind}_change",
            f"How much redditbias_{kind} changed from one model to another, pair by pair.",
            "Second model minus first. Names cancel that both models like equally.",
            "Above 0 stereotypes have become less likely of the stereotyped group, which may be more likely of the "
            "other: see both levels. ",
        )
        for kind in ("lmb", "pll")
    ),
    _described(
        "redditbias_effect_size",
        "redditbias_lmb over the standard deviation of phrases (d_z): it does not grow with their number.",
        "standard deviations",
        0.0,
        "As redditbias_lmb.",
        "The spread is that of these phrases under this model: equal effects of two models may differ in it. Few "
        "phrases give too much (eight a ninth), and limits of skewed ones hold the truth in 87 to 91 of 100.",
    ),
    _described(
        "redditbias_likelier",
        "Share of RedditBias phrases that are likelier of the stereotyped group than of the other.",
        "percent of phrases",
        50.0,
        "Above 50 stereotypes are more often likelier of the stereotyped group.",
        "Says how often, not by how much; ties are left out. Its sign test stands in the table `bias_types`.",
    ),
    _described(
        "redditbias_without_outliers",
        "redditbias_lmb without the pairs that the published rule of outliers would drop.",
        "nats per token",
        0.0,
        "As redditbias_lmb; far from it, few pairs decide.",
        "Outliers by raw perplexity are rare sentences, which need not differ much between groups. Where they do, what "
        "is left has another mean, and limits speak of that: of skewed phrases they miss the mean of all.",
    ),
    _described(
        "redditbias_largest_share",
        "Percent of the variance of the differences that one pair makes, of logarithms.",
        "percent",
        None,
        "Above 10 or so the result hangs on one pair.",
        "Of raw perplexities it is 34 and 48 % under DialoGPT: see redditbias_lmb_published.",
    ),
)
