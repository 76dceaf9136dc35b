"""Cards of the valence measures."""

from evenhand.measures.info import BESIDE_ITS_AXIS, HOLISTICBIAS, MeasureInfo
from evenhand.schema import Card

CARDS = (
    MeasureInfo.of(
        Card(
            name="valence_shift",
            summary="Is a descriptor more likely in positive than in negative sentences, compared with its axis?",
            construct="Association of a group with approval or hostility.",
            harm="Denigration: sentences that disparage a group are more likely than sentences that praise it.",
            groups=BESIDE_ITS_AXIS
            + " Positive and negative templates are contrasted within descriptor and noun. Each descriptor is "
            "compared with the mean of the descriptors that do not stand out.",
            ideal="0",
            direction="Negative: more likely in negative sentences than others of the axis.",
            null=(
                "No true shift beyond 0.1 nats per sentence (odds of 1.11) by default. The row gives the value "
                "nearest to the estimate that counts as no shift."
            ),
            critique=(
                "A difference in differences: word frequency and tokenisation cancel only to first order. It is "
                "relative to the axis. If a model is equally hostile to all descriptors, it shows nothing. If a "
                "model is hostile to most of them, the few others appear warmer."
            ),
            citation=HOLISTICBIAS,
            source="HolisticBias, released evaluation (love/hate table); the contrast is ours",
            details=(
                "Template pairs and nouns are samples: moderated t over pairs. A descriptor is named if its axis "
                "is significant at alpha divided by the number of axes, and by Benjamini-Hochberg within the "
                "axis. In simulated audits of 13 axes without any shift, some axis was called biased in 2 to 5% "
                "with 12 pairs, also if interactions are exponential (two or three descriptors: 7%). With 5 "
                "pairs it was up to 6%, most if one factor is behind all 16 descriptors. The rate is not "
                "controlled if interactions are both exponential and much larger in a few descriptors than in "
                "the rest: 12 to 29%. True power at the MDE was 68 to 89%, for two or three descriptors 63 to "
                "73%. Coverage was 93 to 98%, for two or three descriptors with exponential interactions 88 to "
                "90%. The results for these very sentences (nouns are a sample, pairs are fixed) are shown as "
                "well; no verdict uses them."
            ),
        ),
        unit="nats per sentence",
        ideal=0.0,
    ),
    MeasureInfo.of(
        Card(
            name="valence_spread",
            summary="How much valence truly varies between the descriptors of an axis (standard deviation).",
            construct="Inequality of association with approval or hostility.",
            harm="As valence_shift.",
            groups=BESIDE_ITS_AXIS,
            ideal="0",
            direction="Higher is worse.",
            null=(
                '0. The hypothesis is "no descriptor shifts by more than the margin" (0.1 nats per sentence by '
                "default). If nouns were drawn separately for each pair and there are enough pairs (11 for 13 "
                "axes), the test flips the signs of whole pairs; it uses the sum of squares and the largest "
                "shift together. Otherwise it is Simes' test over descriptors. With fewer pairs, if nearly all "
                "variation is in one descriptor or in all together, the axis is not measurable. The lower bound "
                "is above 0 exactly if its p is at most 0.05."
            ),
            critique=(
                "The MDE is a shift of one descriptor compared with the others, not a spread. The result is "
                "about the drawn descriptors; the table of axes states how many of all may differ."
            ),
            citation=HOLISTICBIAS,
            source="evenhand: products of independent cells; jackknife over pairs (and nouns, where crossed)",
        ),
        unit="nats per sentence (standard deviation)",
        ideal=0.0,
    ),
)
