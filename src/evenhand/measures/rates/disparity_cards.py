"""Cards of `disparity` and of the rows that use it, for all outcomes: negative, missing, refused."""

from evenhand.measures.info import CLASSIFIER, NEGATIVE_HARM, ROBBIE, MeasureInfo
from evenhand.schema import Card

_SERVED = "People of a group are served less often. Rates that leave such responses out may mislead."
_TEST = (
    "The test permutes whole prompts between the groups (199 to 9,999 permutations). A closed form is used above "
    "6,000 prompts, and for values that no permutation reached. The statistic is the smaller p of the sum of "
    "squares and the largest z of any group, compared with its permutation distribution. "
)
_DIFFERENCE_TEST = (
    "p is the larger of two: p of a permutation of whole prompts, and the level at which the CI, recovered from the "
    "CIs of the rates, reaches 0. The CI excludes 0 exactly if p is at most .05. q is Benjamini-Hochberg within the "
    "axis. Groups are named only on a biased axis. "
)
_ERROR = (
    "If labelled texts show the classifier's errors, rates are corrected as (m - f)/(s - f) (Rogan & Gladen). Here "
    "m is the rate of negative classifications, f that of false alarms and s that of hits. CIs are recovered from "
    "those of these three rates, and the axis is tested by Simes. In 7 designs with false-alarm rates of 8% + |N(0, "
    "4%)| by group, some equal group was named in 1-79% of 400 data sets without correction. With 60 labelled texts "
    "of each kind per group it was 1-6%, with 400 it was 1-5%, and CIs covered the true value in 94-98%. One of 10 "
    "groups that was 15 points above the others was detected in 24% (60 texts) and 69% (400 texts), without "
    "correction in 77%. Without labelled texts, each finding states by how much harsher the classifier would have "
    "to be on the group (`tolerance`). "
)
_UNEVEN = (
    "If variances differ between groups, each prompt counts as one Bernoulli trial, and the note states this. The "
    "same holds for CIs if a group has few prompts (under 20; 50 if another has five times as many), and less than "
    "half as many as the largest. With 4 prompts with an intraclass correlation (ICC) of .7 and 60 with .05, the "
    "false-positive rate was 1.3%. A limit of the method: for one of ten groups with 5 or 10 prompts and ICC .7, "
    "others .05, it was 17-21%. Up to 100 prompts, the minimum detectable effect (MDE) of a group is simulated. "
    "With 2 groups of 10 prompts to 4 groups of 3, it was detected in 66-84%. "
)
_CROSSED = (
    "If groups are crossed with templates and nouns, effects of these on single groups count as chance (two-way "
    "error). With 16 groups, 10 templates, 6 nouns and a template effect on groups of SD 1 logit, the "
    "false-positive rate was 4.5% at .05, and none of 200 at .0038. "
)
_AXIS_GROUPS = "The groups of one axis, equally weighted. Other axes do not affect the value."
_OTHERS = (
    "Each group is compared with the mean rate of the groups of its axis that do not stand out (reference groups), "
    "each counted once."
)


def _judged(
    name: str,
    summary: str,
    construct: str,
    harm: str,
    critique: str,
    details: str,
    *,
    groups: str,
    direction: str,
    source: str,
) -> MeasureInfo:
    card = Card(
        name=name,
        summary=summary,
        construct=construct,
        harm=harm,
        groups=groups,
        ideal="0",
        direction=direction,
        null="0. The test permutes prompts between the groups at random.",
        critique=critique,
        citation=ROBBIE,
        source=f"Simulated for this measure; {source}",
        details=details,
    )
    return MeasureInfo.of(card, unit="percentage points", ideal=0.0)


def _axis(name: str, what: str, construct: str, harm: str, critique: str, details: str) -> MeasureInfo:
    return _judged(
        name,
        f"How much groups of an axis differ in {what} (standard deviation).",
        construct,
        harm,
        critique
        + " The standard deviation is largest if half of the groups are harmed. Also read `burden`: the "
        "mean rate minus the rate of the best-treated group.",
        details,
        groups=_AXIS_GROUPS,
        direction="Higher is worse.",
        source="permutation of clusters: Edgington & Onghena 2007",
    )


def _difference(name: str, what: str, construct: str, harm: str, critique: str, details: str) -> MeasureInfo:
    return _judged(
        name,
        f"A group's {what} minus the mean of the groups that do not stand out.",
        construct,
        harm,
        critique
        + " If most groups are harmed equally, these are the reference groups, and the others are named as treated "
        "better.",
        details,
        groups=_OTHERS,
        direction="Above 0, the group is treated worse than the others; below 0, better.",
        source="CIs: Zou & Donner 2008 (MOVER)",
    )


_NEGATIVE = "How unequally a model's text treats the groups of an axis."
_LEFT_OUT = "Which groups get no response, or a response without a classification."
_REFUSED = "About which groups the model, or its service, refuses to write."
_MIXED = (
    "The share mixes refusals with failures of the model and the classifier. Refusals also have separate rows. "
    "Responses that the run lost to a length limit, to its memory or to a quota are not compared."
)
_LIST = "Refusals in words are detected by a list of English phrases, which misses evasions."

CARDS = (
    _axis(
        "disparity",
        "their rate of negative responses",
        _NEGATIVE,
        NEGATIVE_HARM,
        CLASSIFIER + "Prompts of different groups may differ in more than the group.",
        _TEST
        + "The CI inverts the distribution of the groups' variance and is one-sided at 0. "
        + _UNEVEN
        + _CROSSED
        + "With 2-40 equal groups, the axis was called biased in 1.5-6% of simulated data sets (200 each; 2-40 "
        "prompts, 5-25 samples, base rates .5-10%). The CI covered the true value in 94-98%. In closed form, with "
        "groups of 5 to 3,000 responses and equal rates of .1-5%, the false-positive rate was 1-4% at the level "
        ".05, and at most .5% at .0038.",
    ),
    _difference(
        "group_difference",
        "rate of negative responses",
        "Which group a model's text treats worse or better than the others.",
        NEGATIVE_HARM,
        CLASSIFIER.rstrip(),
        _DIFFERENCE_TEST
        + _UNEVEN
        + _ERROR
        + "With 2-40 equal groups, some group was named in 0-5.5% of simulated data sets, and CIs covered the true "
        "value in 96-99%. At the stated MDE, 76-80% were named.",
    ),
    MeasureInfo.of(
        Card(
            name="burden",
            summary="Mean rate of an axis' groups minus the rate of the best-treated group.",
            construct="How much lower the mean rate would be if all groups were treated like the best-treated "
            "group.",
            harm=NEGATIVE_HARM,
            groups=_AXIS_GROUPS,
            ideal="0",
            direction="Higher is worse. Unlike disparity, the burden increases with the share of groups that are "
            "harmed.",
            null="None. The measure is a description.",
            critique="If every group is harmed equally, the burden is 0: no comparison within the axis can show "
            "this.",
            citation=ROBBIE,
            source="Simulated for this measure",
            details="The best-treated group is chosen on one half of the prompts and its rate is measured on the "
            "other half, over 2 to 100 random splits. The choice of the lowest rate therefore does not look like a "
            "burden. A negative estimate is set to 0.",
        ),
        unit="percentage points",
        ideal=0.0,
    ),
    MeasureInfo.of(
        Card(
            name="largest_gap",
            summary="Difference of the two groups that differ most clearly. Above 0 even by chance, so it "
            "has no null value.",
            construct="How different the worst- and the best-treated group are.",
            harm=NEGATIVE_HARM,
            groups="Two groups of an axis. The details name them.",
            ideal="0",
            direction="Higher is worse.",
            null="None. The measure is a description: even if all groups are equal, the largest gap is above 0 by "
            "chance.",
            critique="The estimate is selected because it is large. The CI allows for this, but the number itself "
            "does not.",
            citation=ROBBIE,
            source="Simulated for this measure; simultaneous CIs: Tukey 1953, Zou & Donner 2008",
            details="The CI holds for all pairs simultaneously, so the lower bound is conservative (95-100% "
            "coverage).",
        ),
        unit="percentage points",
        ideal=0.0,
    ),
    _axis(
        "missing_disparity",
        "their share of responses without a classification",
        _LEFT_OUT,
        _SERVED,
        _MIXED,
        _TEST + _UNEVEN,
    ),
    _difference(
        "missing_difference",
        "share of responses without a classification",
        _LEFT_OUT,
        _SERVED,
        _MIXED,
        _DIFFERENCE_TEST + _UNEVEN,
    ),
    _axis("refusal_disparity", "their share of refused responses", _REFUSED, _SERVED, _LIST, _TEST + _UNEVEN),
    _difference(
        "refusal_difference",
        "share of refused responses",
        _REFUSED,
        _SERVED,
        _LIST,
        _DIFFERENCE_TEST + _UNEVEN,
    ),
    MeasureInfo.of(
        Card(
            name="missing_rate",
            summary="Percentage of responses without a classification, for any reason.",
            construct=_LEFT_OUT,
            harm=_SERVED,
            groups="One group, or all. missing_difference compares groups.",
            ideal="The rate of the other groups.",
            direction="Higher is worse.",
            null="None. The measure is a description.",
            critique=_MIXED,
            citation=ROBBIE,
            source="evenhand.benchmarks.analysis.group_rates",
            details="The CI is computed as for negative_rate.",
        ),
        unit="percent of responses",
    ),
)
