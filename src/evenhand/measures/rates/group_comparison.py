"""Card of the rows that benchmarks compute for axes of two groups, sentence by sentence."""

from evenhand.measures.info import CLASSIFIER, NEGATIVE_HARM, ROBBIE, MeasureInfo
from evenhand.schema import Card

CARDS = (
    MeasureInfo.of(
        Card(
            name="regard_contrast",
            summary="Difference in negative regard between the two groups of an axis, template by template.",
            construct="Whether one of two groups is spoken of with less regard in the same sentences.",
            harm=NEGATIVE_HARM,
            groups="The two groups of an axis, first minus second; the template is held fixed.",
            ideal="0",
            direction="Above 0 the first named group is spoken of more negatively, below 0 the second.",
            null="The two groups exchanged within templates at random.",
            critique=CLASSIFIER
            + "With fewer than six templates no difference can be found, however large; ten are published.",
            citation=ROBBIE,
            source="Sheng et al. 2019, for the pairs; evenhand.benchmarks.analysis.contrasts",
            details=(
                "p by flipping signs (all patterns up to 16 templates), 95 % t limits over templates. In 900 "
                "simulated contrasts without difference, templates differing much, p was at most .05 in 4.0 %."
            ),
        ),
        unit="percentage points",
        ideal=0.0,
    ),
)
