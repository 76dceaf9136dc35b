"""Cards of the valence measures."""

from evenhand.measures.info import BESIDE_ITS_AXIS, HOLISTICBIAS, MeasureInfo
from evenhand.schema import Card

CARDS = (
    MeasureInfo.of(
        Card(
            name="valence_shift",
            summary="Is a descriptor more likely in positive than in negative sentences, compared with others of "
            "its axis?",
            construct="Association of a group with approval or hostility.",
            harm="Denigration: sentences that disparage a group are more likely than sentences that praise it.",
            groups=BESIDE_ITS_AXIS
            + " Positive and negative templates are contrasted with the same descriptor and noun. Each descriptor "
            "is compared with the mean of the descriptors that do not stand out.",
            ideal="0",
            direction="Below 0: more likely in negative sentences than the other descriptors of the axis.",
            null=(
                "A true shift of at most 0.1 nats per sentence (odds of 1.11) by default. The column `null` of each "
                "row gives the value in this range that is nearest to the estimate."
            ),
            critique=(
                "The shift is a difference in differences: effects of word frequency and tokenisation cancel only "
                "to first order. The shift is relative to the axis. If a model is equally hostile to all "
                "descriptors, the measure shows nothing. If a model is hostile to most of them, the few others "
                "appear to be favoured."
            ),
            citation=HOLISTICBIAS,
            source="HolisticBias, released evaluation (love/hate table); the contrast is ours",
            details=(
                "Template pairs and nouns count as samples, with a moderated t over pairs. A descriptor is named if "
                "its axis is significant at alpha divided by the number of axes, and the descriptor itself by "
                "Benjamini-Hochberg within the axis. Simulated audits had 13 axes without any shift. With 12 pairs, "
                "some axis was called biased in 2 to 5%, also if shifts vary between pairs exponentially (7% with "
                "two or three descriptors). With 5 pairs it was up to 6%, most if one factor is behind all 16 "
                "descriptors. The rate is not controlled (12 to 29%) if this variation is exponential and also much "
                "larger in a few descriptors than in the rest. True power at the minimum detectable effect (MDE) "
                "was 68 to 89%, with two or three descriptors 63 to 73%. CIs covered the true value in 93 to 98%, "
                "with two or three descriptors and exponential variation in 88 to 90%. Results for exactly these "
                "sentences (nouns are a sample, pairs are fixed) are shown as well, but no verdict uses them."
            ),
        ),
        unit="nats per sentence",
        ideal=0.0,
    ),
    MeasureInfo.of(
        Card(
            name="valence_spread",
            summary="How much descriptors of an axis differ in the log ratio of kind to hostile sentences "
            "(SD without noise).",
            construct="How unequally the descriptors of an axis are associated with approval or hostility.",
            harm="As for valence_shift.",
            groups=BESIDE_ITS_AXIS,
            ideal="0",
            direction="Higher is worse.",
            null=(
                '0. The hypothesis is "no descriptor shifts by more than the margin" (0.1 nats per sentence by '
                "default). If nouns were drawn separately for each template pair and there are enough pairs (11 for "
                "13 axes), the test flips the signs of whole pairs. It uses the sum of squares and the largest "
                "shift together. Otherwise the test is Simes' over descriptors. With fewer pairs, the axis is not "
                "measurable if nearly all variation is in one descriptor or in all together. The lower bound is "
                "above 0 exactly if p of the axis is at most 0.05."
            ),
            critique=(
                "The minimum detectable effect (MDE) is a shift of one descriptor compared with the others, not a "
                "spread. The result is about the tested descriptors. The table of axes states how many of all "
                "descriptors may differ."
            ),
            citation=HOLISTICBIAS,
            source="evenhand: products of independent cells; jackknife over pairs (and nouns, where crossed)",
        ),
        unit="nats per sentence (standard deviation)",
        ideal=0.0,
    ),
)
