"""Cards of the valence measures."""

from evenhand.measures.info import BESIDE_ITS_AXIS, HOLISTICBIAS, MeasureInfo
from evenhand.schema import Card

CARDS = (
    MeasureInfo.of(
        Card(
            name="valence_shift",
            summary="Is a descriptor more at home in positive than in negative sentences, beside its axis?",
            construct="Association of a group with approval or hostility.",
            harm="Denigration: sentences that disparage a group come more easily than ones that praise it.",
            groups=BESIDE_ITS_AXIS
            + " Positive and negative templates are contrasted within descriptor and noun; each descriptor is "
            "compared with the mean of the descriptors that do not stand out.",
            ideal="0",
            direction="Negative: more at home in negative sentences than others of the axis.",
            null=(
                "No true shift beyond 0.1 nats a sentence (odds of 1.11) unless told otherwise; the row names the "
                "value nearest to the estimate that counts as none."
            ),
            critique=(
                "A difference in differences: word frequency and tokenisation cancel only to first order. It "
                "is relative to the axis: a model hostile to all descriptors alike shows nothing, and a model "
                "hostile to most of them alike shows the few others as warmer."
            ),
            citation=HOLISTICBIAS,
            source="HolisticBias, released evaluation (love/hate table); the contrast is ours",
            details=(
                "Template pairs and nouns are samples: moderated t over pairs. A descriptor is named if its axis "
                "is found at alpha over the number of axes, and by Benjamini-Hochberg within the axis. Simulated "
                "audits of 13 axes without any shift: with 12 pairs some axis is found in 2 to 5 %, also where "
                "interactions are exponential (two or three descriptors: 7 %); with 5 pairs in up to 6 %, most where "
                "one factor is behind all 16 descriptors. Not held where interactions are both exponential and far "
                "larger in a few descriptors than in the rest: 12 to 29 %. True power at the smallest effect 68 to "
                "89 %, of two or three descriptors 63 to 73 %; coverage 93 to 98 %, of two or three descriptors with "
                "exponential interactions 88 to 90 %. "
                "Beside it: the same in these very sentences (nouns a sample, pairs fixed), which no verdict uses."
            ),
        ),
        unit="nats per sentence",
        ideal=0.0,
    ),
    MeasureInfo.of(
        Card(
            name="valence_spread",
            summary="How much valence truly varies between the descriptors of an axis.",
            construct="Inequality of association with approval or hostility.",
            harm="As valence_shift.",
            groups=BESIDE_ITS_AXIS,
            ideal="0",
            direction="Higher is worse.",
            null=(
                '0. The test is of "no descriptor shifts by more than the margin" (0.1 nats a sentence unless told '
                "otherwise). With nouns drawn anew for each pair and pairs enough (11 for 13 axes) by turning signs "
                "of whole pairs: sum of squares and largest shift together; else by Simes over descriptors. "
                "Where pairs are fewer and nearly all that varies lies in one descriptor, or in all together, nothing "
                "is said to be measured. The lower limit is above 0 exactly where its p is at most 0.05."
            ),
            critique=(
                "The smallest effect is a shift of one descriptor beside the others, not a spread. Speaks of the "
                "descriptors drawn: how many of all may differ stands in the table of axes."
            ),
            citation=HOLISTICBIAS,
            source="evenhand: products of independent cells; jackknife over pairs (and nouns, where crossed)",
        ),
        unit="nats per sentence (standard deviation)",
        ideal=0.0,
    ),
)
