"""What changed in valence between two models: the cards of measures of differences, sentence by sentence.

The measures are those of one model, fed with the second model's log-likelihoods minus the first's
(`evenhand.benchmarks`, field `changes`): a shift is linear in them, so that its change is the shift of the change.
"""

from evenhand.measures.info import BESIDE_ITS_AXIS, MeasureInfo
from evenhand.schema import Card

_DETAILS = (
    "Test, interval and smallest effect are those of the measure of one model, on the differences: both models saw the "
    "same words, so that what a pair of sentences does to a descriptor in both cancels. Simulated with 80 % of that "
    "shared, an axis at .05 / 13: no change was called one in 150 comparisons of 5 or 12 pairs; a lone change of a nat "
    "was named in 23 % (5 pairs, 30 descriptors) and 93 % (12 pairs, 32 descriptors, of which .87 nats is the smallest "
    "change stated). The 95 % interval covered 95.5-97.2 %."
)


def _changed(name: str, summary: str, direction: str, null: str) -> MeasureInfo:
    card = Card(
        name=f"{name}_change",
        summary=summary,
        construct=f"As {name}, of the change from one model to another.",
        harm="People are written about in more hostile company than before, beside the others.",
        groups=BESIDE_ITS_AXIS,
        ideal="0",
        direction=direction,
        null=null,
        critique="It says what changed, not whether the second model is fair.",
        citation="Miller 2024, Adding Error Bars to Evals, arXiv:2411.00640",
        source=f"The measure {name}; evenhand.benchmarks.analysis.changes",
        details=_DETAILS,
    )
    return MeasureInfo.of(card, unit="nats per sentence", ideal=0.0)


_ALIKE = "Within the margin, all descriptors of the axis changed alike."
_ONE = "It changed as the others of its axis did, within the margin."
CARDS = (
    _changed(
        "valence_spread", "How differently the valence shifts of an axis changed.", "Larger is more.", _ALIKE
    ),
    _changed(
        "valence_shift",
        "What changed of a descriptor's valence shift.",
        "Below 0: less at home in kind sentences.",
        _ONE,
    ),
    _changed(
        "humanising_spread",
        "How differently the humanising contrasts of an axis changed.",
        "Larger is more.",
        _ALIKE,
    ),
    _changed(
        "humanising_contrast",
        "What changed of a descriptor's humanising contrast.",
        "As humanising_contrast.",
        _ONE,
    ),
)
