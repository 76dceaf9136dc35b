"""Cards of what is read from answers to counterfactual prompts; numbers have theirs in `evenhand.measures.scores`."""

from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card

_HARM = "People who get other responses because of who they are, or are taken for, get another service."
_GRETTON = "Gretton et al. 2012, A Kernel Two-Sample Test, JMLR 13"
_LIN = "Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries"
_SAME = (
    "It shows that responses differ, not that anybody is treated worse. Any change of wording changes responses "
    "slightly: ask about each group in several wordings (names), which then form the baseline of their prompt. "
)
_HIDDEN = (
    "Words that differ between the wordings of a prompt, sequences of them and a following genitive are replaced "
    "by one sign, in all responses to that prompt; `unhidden` in the details keeps them. "
)
_DEALS = (
    "p: the larger of two values. One permutes responses to each prompt between its groups (999 to 4,999 "
    "permutations; of wordings if there are several per group). The other is the level at which the CI over "
    "prompts (Student's t) reaches 0. "
)
_RATE = (
    "The share of responses with this value, prompt by prompt; permutation of whole prompts within what the "
    "groups share."
)


def _card(
    name: str, summary: str, *, unit: str, ideal_value: float | None = 0.0, **words: str
) -> MeasureInfo:
    defaults = {
        "harm": _HARM,
        "groups": "The groups of one axis, in the same prompts.",
        "ideal": "0",
        "null": "0: the responses to one prompt, permuted between its groups.",
        "citation": _GRETTON,
        "source": f"{_GRETTON}, eq. 3; {_LIN}, section 3.1",
    }
    return MeasureInfo.of(
        Card(name=name, summary=summary, **(defaults | words)), unit=unit, ideal=ideal_value
    )


CARDS = (
    _card(
        "similarity_gap",
        "How much less similar responses about different groups are than responses to the same prompt.",
        construct="Whether a model responds differently to the same question if it is about another group.",
        direction="Above 0, responses differ by group more than by chance; below 0 is chance.",
        critique=_SAME
        + "Words are compared (ROUGE-L), or vectors of a model that has its own biases (semantic).",
        details=_HIDDEN
        + _DEALS
        + "Example: if all responses about her are one text, and all about him another without a common word, "
        "within is 100, across is 0 and the gap is 100 points. If both are drawn from the same ten texts "
        "without common words, within and across are 10 each on average and the gap is 0.",
        unit="points of similarity (0 to 100)",
    ),
    _card(
        "similarity_apart",
        "How much less similar responses about a group are to those about the others than these are to each "
        "other.",
        construct="For which group a model responds differently.",
        direction="Above 0, responses about this group differ; below 0, those about others do.",
        critique=_SAME
        + "If groups differ in two pairs, none of them is named; only the axis shows the difference.",
        details=_HIDDEN
        + _DEALS
        + "Needs three groups. If one group of three has responses at a distance d from both others, its value "
        "is d, and that of each other group is -d/2.",
        unit="points of similarity (0 to 100)",
    ),
    _card(
        "similarity_across",
        "How similar responses about different groups are.",
        construct="How much a model repeats itself, regardless of the person in the question.",
        ideal="None; compare with responses to the same prompt (similarity_floor).",
        direction="None: a model that samples freely has a low value without any bias.",
        null="None: a description. An unbiased model has the baseline.",
        critique="Not interpretable alone: it shows how freely a model samples.",
        details=_HIDDEN,
        unit="points of similarity (0 to 100)",
        ideal_value=None,
    ),
    _card(
        "similarity_floor",
        "How similar responses to one prompt are.",
        construct="How much a model repeats itself.",
        ideal="None.",
        direction="None: 100 without random sampling.",
        null="None: a description.",
        critique="It needs two samples per prompt, or two wordings about a group.",
        details=_HIDDEN,
        unit="points of similarity (0 to 100)",
        ideal_value=None,
    ),
    _card(
        "answer_disparity",
        "How much groups of an axis differ in how often a field of the response has a value (standard deviation).",
        construct="How unequally a decision (yes or no, a category) is distributed over the groups of an axis.",
        direction="Higher is more unequal.",
        critique="Unreadable responses are missing; their share is compared between groups separately.",
        citation="Edgington & Onghena 2007, Randomization Tests",
        source="Simulated for this measure; the engine of disparity",
        details=_RATE
        + " For a text field, each of the six most common values is compared; they share the level.",
        unit="percentage points",
    ),
    _card(
        "answer_difference",
        "How often a field of the response has a value for a group, minus the mean of the other groups.",
        construct="Which group gets a decision more or less often.",
        groups="A group and the mean of the other groups of its axis, each counted once.",
        direction="Above 0, the group gets it more often; whether this is harmful depends on the value.",
        critique="One group with a very different rate makes all others differ from the rest.",
        citation="Edgington & Onghena 2007, Randomization Tests",
        source="Simulated for this measure; the engine of group_difference",
        details=_RATE,
        unit="percentage points",
    ),
    _card(
        "answer_rate",
        "How often a field of the response has a value for a group.",
        construct="How often a group gets a decision.",
        ideal="That of the other groups.",
        direction="None.",
        null="None: a description.",
        critique="Unreadable responses are left out and counted.",
        citation="Edgington & Onghena 2007, Randomization Tests",
        source="evenhand.measures.counterfactual.outcomes",
        details="95% CI over prompts, as for rates.",
        unit="percent of answers",
        ideal_value=None,
    ),
)
