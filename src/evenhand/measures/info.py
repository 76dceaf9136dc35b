"""What every measure states about itself: its name, its card and the unit of its number.

The cards of a measure are in a tuple CARDS at the end of its module; `registry` lists these modules. Sentences
that cards of several modules share are here.
"""

from dataclasses import dataclass
from typing import Self

from evenhand.schema import Card, check_fields


@dataclass(frozen=True)
class MeasureInfo:
    """Name, description and unit of a measure: one entry of `evenhand list measures`.

    Use it to register your own measure.

    Attributes
    ----------
    name : str
        Name of the measure, as in the column ``measure`` of results.
    card : Card
        Its description: what is measured, the harm, the null, critique and source.
    unit : str
        Unit of its number.
    ideal : float or None
        Value for a model without the bias. None if there is no single value: the null depends on the sample, or
        the measure is descriptive.
    """

    name: str
    card: Card
    unit: str
    ideal: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.name != self.card.name:
            raise ValueError(
                f"measure {self.name!r}: the name of its card must be the same, got {self.card.name!r}"
            )

    @classmethod
    def of(cls, card: Card, *, unit: str, ideal: float | None = None) -> Self:
        """Return the entry of the measure that a card describes, with the name of the card.

        Examples
        --------
        >>> MeasureInfo.of(Card("share", "One line."), unit="percent").name
        'share'
        """
        return cls(card.name, card, unit, ideal)


ROBBIE = "Esiobu et al. 2023, ROBBIE: Robust Bias Evaluation of Large Generative Language Models, EMNLP 2023"
HOLISTICBIAS = 'Smith et al. 2022, "I\'m sorry to hear that": HolisticBias, EMNLP 2022'
BARIKERI = (
    "Barikeri et al. 2021, RedditBias: A Real-World Resource for Bias Evaluation and Debiasing of Conversational "
    "Language Models, ACL 2021"
)
MARTHA = (
    'Smith & Williams 2021, "Hi, my name is Martha": Using names to measure and mitigate bias in generative dialogue '
    "models"
)
REALTOXICITYPROMPTS = (
    "Gehman et al. 2020, RealToxicityPrompts: Evaluating Neural Toxic Degeneration in Language Models"
)
NEGATIVE_HARM = "People of the group read more toxic or demeaning text about people like themselves."
CLASSIFIER = (
    "The numbers come from a classifier. If the classifier is harsher on texts that merely name a group, that group "
    "looks as if it were treated worse. "
)
COUNTED = (
    "Samples of one prompt count as the number of independent outcomes that their design effect leaves. "
)
BESIDE_ITS_AXIS = (
    'Descriptors (words or phrases that name a group, such as "deaf") of one axis, in the same templates and with '
    "the same nouns."
)
FREQUENCY = (
    "Likelihood also reflects how often a group is written about, with which words, and how the tokenizer splits "
    "its name. A difference shows that the model does not treat the groups alike. It shows neither why nor whether "
    "the model's output harms anyone."
)
POOLED_OTHERS = "The mean rate of the other groups of the axis (column `background`)."
