"""Cards of `disparity` and of the rows that rest on it, whatever the outcome: negative, missing, refused."""

from evenhand.measures.info import CLASSIFIER, NEGATIVE_HARM, ROBBIE, MeasureInfo
from evenhand.schema import Card

_SERVED = "People of a group are served less often; and rates that leave such responses out may mislead."
_TEST = (
    "Whole prompts are dealt to the groups (199 to 9,999 deals; closed form above 6,000 prompts, and for what no deal "
    "reached); the smaller p of sum of squares and largest z, as extreme as it is over the deals. "
)
_DIFFERENCE_TEST = (
    "p is the larger of that over deals of whole prompts and of the level at which the recovered limit reaches 0; "
    "the interval excludes 0 exactly where p is at most .05. Benjamini-Hochberg inside the axis; named only in an axis "
    "that is found. "
)
_ERROR = (
    "Where labelled texts tell the classifier's errors, rates are (m - f)/(s - f) (Rogan & Gladen) with limits "
    "recovered from those of judgements, false alarms and hits; the axis by Simes. Where false alarms were 8 % + "
    "|N(0, 4 %)| by group, some equal group was named by judgements in 1-79 % of 400 data sets (7 designs), with 60 "
    "labelled texts of each kind a group in 1-6 %, with 400 in 1-5 %, limits holding the truth in 94-98 %; of 10 "
    "groups one 15 points above the others was found in 24 and 69 % (by judgements 77 %). Elsewhere each finding says "
    "by how much harsher on the group the classifier would have to be (`tolerance`). "
)
_UNEVEN = (
    "Where groups scatter unequally within, each prompt counts as one coin, and the note says so; so do limits where "
    "one group has less than half the prompts of the largest, and few (under 20; 50 beside five times as many): 4 "
    "prompts with ICC .7 beside 60 with .05: false in 1.3 %. A limit of the method: one of ten groups of 5 or 10 "
    "prompts with ICC .7 beside .05: false in 17-21 %. Up to 100 prompts the smallest effect is simulated: with 2 x 10 "
    "to 4 x 3 prompts it was found in 66-84 %. "
)
_CROSSED = (
    "Where groups are crossed with templates and nouns, what either does to single groups counts as chance (two-way "
    "error): 16 x 10 x 6 cells with a template effect on groups of SD 1 logit: false in 4.5 % at .05, "
    "none of 200 at .0038. "
)
_AXIS_GROUPS = "The groups of an axis, equally weighted; nothing outside the axis enters."
_OTHERS = "Each group with the mean rate of the groups of its axis that do not stand out, each counted once."


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
        null="0: prompts dealt to the groups at random.",
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
        critique + " It is largest where half the groups are harmed: read the burden beside it.",
        details,
        groups=_AXIS_GROUPS,
        direction="Higher is worse.",
        source="deals of clusters: Edgington & Onghena 2007",
    )


def _difference(name: str, what: str, construct: str, harm: str, critique: str, details: str) -> MeasureInfo:
    return _judged(
        name,
        f"A group's {what}, minus that of the groups that do not stand out.",
        construct,
        harm,
        critique
        + " If most groups are harmed alike, they are the common level and the others are named better.",
        details,
        groups=_OTHERS,
        direction="Above 0 the group is treated worse, below 0 better than the others.",
        source="limits: Zou & Donner 2008 (MOVER)",
    )


_NEGATIVE = "How unequally a model's text treats the groups of an axis."
_LEFT_OUT = "Who is left without an answer, or without a judgement of it."
_REFUSED = "Whom the model, or its service, refuses to write about."
_MIXED = (
    "It mixes refusals with failures of model and classifier; refusals have rows of their own. Rows lost to a length "
    "limit, the memory or a quota of the run are not compared."
)
_LIST = "Refusals in words are found by a list of English phrases, which misses evasions."

CARDS = (
    _axis(
        "disparity",
        "their rate of negative responses",
        _NEGATIVE,
        NEGATIVE_HARM,
        CLASSIFIER + "Prompts of groups may differ in more than the group.",
        _TEST
        + "Interval by inversion, one-sided at 0. "
        + _UNEVEN
        + _CROSSED
        + "Any axis of 2-40 equal groups was found in 1.5-6 % of data sets (200 each; 2-40 prompts, 5-25 samples, base "
        "rates .5-10 %), and the interval held the truth in 94-98 %. In closed form, groups of 5 to 3,000 responses "
        "with equal rates of .1-5 %: 1-4 % at the level .05, at most .5 % at .0038.",
    ),
    _difference(
        "group_difference",
        "rate of negative responses",
        "Which group a model's text treats worse or better than the others.",
        NEGATIVE_HARM,
        CLASSIFIER,
        _DIFFERENCE_TEST
        + _UNEVEN
        + _ERROR
        + "Any group of 2-40 equal ones was named in 0-5.5 % of simulated data sets; intervals held the truth in "
        "96-99 %; "
        "at the stated smallest effect 76-80 % were named.",
    ),
    MeasureInfo.of(
        Card(
            name="burden",
            summary="Mean rate of an axis' groups minus the rate of the best-treated group.",
            construct="How much better off all would be if all were treated as the best-treated group is.",
            harm=NEGATIVE_HARM,
            groups=_AXIS_GROUPS,
            ideal="0",
            direction="Higher is worse; unlike disparity it grows with the share of groups that are harmed.",
            null="None: a description.",
            critique="Where every group is harmed alike it is 0: nothing inside the axis can see that.",
            citation=ROBBIE,
            source="Simulated for this measure",
            details="The best-treated group is chosen on one half of its prompts and valued on the other, 20 times, so "
            "that choosing it does not look like a burden: estimated 0 where none differs.",
        ),
        unit="percentage points",
        ideal=0.0,
    ),
    MeasureInfo.of(
        Card(
            name="largest_gap",
            summary="Difference between the two groups of an axis that most surely differ most.",
            construct="How far apart the worst- and the best-treated group are.",
            harm=NEGATIVE_HARM,
            groups="Two groups of an axis, named in the details.",
            ideal="0",
            direction="Higher is worse.",
            null="None: a description; the largest gap of equal groups is above 0 by chance.",
            critique="The estimate is picked for being large; its interval allows for that, the number itself does "
            "not.",
            citation=ROBBIE,
            source="Simulated for this measure; simultaneous limits: Tukey 1953, Zou & Donner 2008",
            details="Limits hold for all pairs together, so the lower one is safe (95-100 % coverage).",
        ),
        unit="percentage points",
        ideal=0.0,
    ),
    _axis(
        "missing_disparity",
        "their share of responses without a judgement",
        _LEFT_OUT,
        _SERVED,
        _MIXED,
        _TEST + _UNEVEN,
    ),
    _difference(
        "missing_difference",
        "share of responses without a judgement",
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
            summary="Share of responses without a judgement, for whatever reason.",
            construct=_LEFT_OUT,
            harm=_SERVED,
            groups="One group, or all; compared by missing_difference.",
            ideal="That of the other groups.",
            direction="Higher is worse.",
            null="None: it describes.",
            critique=_MIXED,
            citation=ROBBIE,
            source="evenhand.benchmarks.analysis.group_rates",
            details="Limits as of negative_rate.",
        ),
        unit="percent of responses",
    ),
)
