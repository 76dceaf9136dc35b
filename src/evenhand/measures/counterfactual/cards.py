"""Cards of what is read from answers to counterfactual prompts; numbers have theirs in `evenhand.measures.scores`."""

from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card

_HARM = "Who is answered otherwise for who they are, or are taken for, is served otherwise."
_GRETTON = "Gretton et al. 2012, A Kernel Two-Sample Test, JMLR 13"
_LIN = "Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries"
_SAME = (
    "It tells that answers differ, not that anybody is worse off, and any change of wording changes answers a little: "
    "ask about each group in several wordings (names), and these become the floor of their prompt. "
)
_HIDDEN = (
    "Words that differ between the wordings of a prompt, runs of them and a genitive behind them are hidden as one "
    "sign, in all answers to that prompt alike; `unhidden` in the details has them in. "
)
_DEALS = (
    "p: answers to each prompt dealt to its groups (999 to 4,999 deals; wordings where there are several a group), or "
    "the level at which the limit over prompts (Student's t) reaches 0, whichever is larger. "
)
_RATE = "The share of answers that hold it, prompt by prompt; deals of whole prompts inside what the groups share."


def _card(
    name: str, summary: str, *, unit: str, ideal_value: float | None = 0.0, **words: str
) -> MeasureInfo:
    defaults = {
        "harm": _HARM,
        "groups": "The groups of one axis, asked about in the same prompts.",
        "ideal": "0",
        "null": "0: the answers to one prompt, dealt to its groups.",
        "citation": _GRETTON,
        "source": f"{_GRETTON}, eq. 3; {_LIN}, section 3.1",
    }
    return MeasureInfo.of(
        Card(name=name, summary=summary, **(defaults | words)), unit=unit, ideal=ideal_value
    )


CARDS = (
    _card(
        "similarity_gap",
        "How much less alike answers about different groups are than answers to the same prompt.",
        construct="Whether a model answers the same question otherwise when it is about another group.",
        direction="Above 0 answers differ by group more than by chance; below 0 is chance.",
        critique=_SAME
        + "Words are compared (ROUGE-L), or vectors of a model with biases of its own (semantic).",
        details=_HIDDEN
        + _DEALS
        + "Worked: if all answers about her are one text, all about him another that shares no word with it, within is "
        "100, across 0 and the gap 100 points; if both are drawn from the same ten texts without common words, within "
        "and across are 10 each on average and the gap is 0.",
        unit="points of similarity (0 to 100)",
    ),
    _card(
        "similarity_apart",
        "How much farther answers about a group stand from those about the others than these from each other.",
        construct="About which group a model answers otherwise.",
        direction="Above 0 the group stands apart; below 0 others do.",
        critique=_SAME
        + "Groups that stand apart together, two and two, are not named: then only the axis tells.",
        details=_HIDDEN
        + _DEALS
        + "Needs three groups. One group of three that is answered otherwise with a distance "
        "d from both others has d; each of the others has -d/2.",
        unit="points of similarity (0 to 100)",
    ),
    _card(
        "similarity_across",
        "How alike answers about different groups are.",
        construct="How much a model repeats itself whoever is asked about.",
        ideal="None: that of answers to the same prompt (similarity_floor).",
        direction="None: a model that writes freely has a low one without any bias.",
        null="None: it describes. An unbiased model has the floor.",
        critique="By itself it says nothing: it measures how freely a model writes.",
        details=_HIDDEN,
        unit="points of similarity (0 to 100)",
        ideal_value=None,
    ),
    _card(
        "similarity_floor",
        "How alike answers to one and the same prompt are.",
        construct="How much a model repeats itself.",
        ideal="None.",
        direction="None: 100 where nothing is drawn at random.",
        null="None: it describes.",
        critique="It needs two samples of a prompt, or two wordings about a group.",
        details=_HIDDEN,
        unit="points of similarity (0 to 100)",
        ideal_value=None,
    ),
    _card(
        "answer_disparity",
        "How much groups of an axis differ in how often a field of the answer says one thing (standard deviation).",
        construct="How unequally a decision (yes or no, a category) falls to the groups of an axis.",
        direction="Higher is more unequal.",
        critique="Answers that could not be read are missing; who is left without one is compared beside it.",
        citation="Edgington & Onghena 2007, Randomization Tests",
        source="Simulated for this measure; the engine of disparity",
        details=_RATE + " Of a field of texts each of the six commonest is compared; they share the level.",
        unit="percentage points",
    ),
    _card(
        "answer_difference",
        "How often a field of the answer says one thing about a group, minus the mean of the other groups.",
        construct="To which group a decision falls more, or less, often.",
        groups="A group and the mean of the other groups of its axis, each counted once.",
        direction="Above 0 it falls to the group more often; which side is harm depends on what it says.",
        critique="One group that is far off makes all others differ from the rest: because of it.",
        citation="Edgington & Onghena 2007, Randomization Tests",
        source="Simulated for this measure; the engine of group_difference",
        details=_RATE,
        unit="percentage points",
    ),
    _card(
        "answer_rate",
        "How often a field of the answer says one thing about a group.",
        construct="How often a decision falls to a group.",
        ideal="That of the other groups.",
        direction="None.",
        null="None: it describes.",
        critique="Answers that could not be read are left out and counted.",
        citation="Edgington & Onghena 2007, Randomization Tests",
        source="evenhand.measures.counterfactual.outcomes",
        details="95 % limits over prompts, as those of rates.",
        unit="percent of answers",
        ideal_value=None,
    ),
)
