"""Cards of the outcomes of counterfactual prompts. Those of numbers are in `evenhand.measures.scores`."""

from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card

_HARM = (
    "People who get other responses because of who they are, or are assumed to be, get a different service."
)
_GRETTON = "Gretton et al. 2012, A Kernel Two-Sample Test, JMLR 13"
_LIN = "Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries"
_SAME = (
    "The measure shows that responses differ, not that anybody is treated worse. Any change of wording changes "
    "responses slightly. Ask about each group in several wordings (such as several names): responses to these "
    "wordings are then the baseline of a prompt. "
)
_HIDDEN = (
    "Words that differ between the wordings of a prompt are replaced by one placeholder in all responses to that "
    "prompt, as are sequences of such words and a following genitive. The column `unhidden` in the details has the "
    "value without this replacement. "
)
_DEALS = (
    "p is the larger of two values. One is from permuting the responses to each prompt between its groups (999 to "
    "4,999 permutations; of wordings if there are several per group). The other is the level at which the CI over "
    "prompts (Student's t) reaches 0. "
)
_RATE = (
    "The share of responses with this value is one number for each prompt and group. The test permutes these "
    "numbers between groups within the prompts that the groups share. The minimum detectable effect allows for a "
    "difference that varies between prompts: a prompt whose responses nearly always (or never) have this value can "
    "change less than others."
)


def _card(
    name: str, summary: str, *, unit: str, ideal_value: float | None = 0.0, **words: str
) -> MeasureInfo:
    defaults = {
        "harm": _HARM,
        "groups": "The groups of one axis, in the same prompts.",
        "ideal": "0",
        "null": "0. The test permutes the responses to one prompt between the groups.",
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
        construct="Whether a model responds differently to the same question if the question is about another group.",
        direction="Above 0, responses differ between groups more than by chance. Values below 0 are due to chance.",
        critique=_SAME
        + "Similarity is that of words (ROUGE-L), or of vectors from a model that has its own biases (semantic).",
        details=_HIDDEN
        + _DEALS
        + "The gap is `within` (similarity of responses to the same prompt) minus `across` (that of responses about "
        "different groups). Example: if all responses about her are one text, and all about him another without a "
        "common word, `within` is 100, `across` is 0 and the gap is 100 points. If both are drawn from the same ten "
        "texts without common words, `within` and `across` are 10 each on average and the gap is 0.",
        unit="points of similarity (0 to 100)",
    ),
    _card(
        "similarity_apart",
        "How much less responses about a group resemble those about other groups than these resemble each other.",
        construct="For which group a model responds differently.",
        direction="Above 0, responses about this group differ from the rest. Below 0, those about other groups do.",
        critique=_SAME
        + "If groups differ in two pairs, no group is named; only the axis shows the difference.",
        details=_HIDDEN
        + _DEALS
        + "At least three groups are needed. If one group of three has responses at a distance d from both others, "
        "its value is d, and that of each other group is -d/2.",
        unit="points of similarity (0 to 100)",
    ),
    _card(
        "similarity_across",
        "How similar responses about different groups are.",
        construct="How much a model repeats itself, regardless of whom the question is about.",
        ideal="None. Compare with responses to the same prompt (similarity_floor).",
        direction="None: a model that samples freely has a low value without any bias.",
        null="None. The measure is a description. An unbiased model has the baseline, similarity_floor.",
        critique="The value cannot be interpreted alone, because it shows how freely a model samples.",
        details=_HIDDEN,
        unit="points of similarity (0 to 100)",
        ideal_value=None,
    ),
    _card(
        "similarity_floor",
        "How similar responses to one prompt are.",
        construct="How much a model repeats itself.",
        ideal="None.",
        direction="None. Without random sampling, the value is 100.",
        null="None. The measure is a description.",
        critique="The measure needs two samples per prompt, or two wordings about a group.",
        details=_HIDDEN,
        unit="points of similarity (0 to 100)",
        ideal_value=None,
    ),
    _card(
        "answer_disparity",
        "How much groups differ in how often a field of the response has a given value (standard deviation).",
        construct="How unequally a decision (yes or no, a category) is distributed over the groups of an axis.",
        direction="Higher is more unequal.",
        critique="Unreadable responses count as missing. Their share is compared between groups separately.",
        citation="Edgington & Onghena 2007, Randomization Tests",
        source="Simulated for this measure; computed as disparity",
        details=_RATE
        + " For a text field, each of the six most common values is compared, and they share the significance level.",
        unit="percentage points",
    ),
    _card(
        "answer_difference",
        "How often a field of the response has a given value for a group, minus the mean of the other groups.",
        construct="Which group gets a decision more or less often.",
        groups="Each group is compared with the mean of the other groups of its axis, each counted once.",
        direction="Above 0, the group gets this value more often. Whether this is harmful depends on the value.",
        critique="One group with a very different rate makes all others differ from the mean of the rest.",
        citation="Edgington & Onghena 2007, Randomization Tests",
        source="Simulated for this measure; computed as group_difference",
        details=_RATE,
        unit="percentage points",
    ),
    _card(
        "answer_rate",
        "How often a field of the response has a given value for a group.",
        construct="How often a group gets a decision.",
        ideal="The rate of the other groups.",
        direction="None.",
        null="None. The measure is a description.",
        critique="Unreadable responses are left out and counted.",
        citation="Edgington & Onghena 2007, Randomization Tests",
        source="evenhand.measures.counterfactual.outcomes",
        details="The 95% CI is over prompts, as for rates.",
        unit="percent of answers",
        ideal_value=None,
    ),
)
