"""Exclusion rules as data: their criteria and actions. `quality/` applies them, live and in the analysis.

`action` of each: "block" (the annotator finishes the unit and gets no other; all their answers are excluded), "exclude"
(excluded in the analysis, but the annotator continues), "flag" (only shown to the admin).
"""

from typing import Annotated, Literal

from pydantic import Field

from evenhand.annotation.definition.items import Data

Action = Literal["block", "exclude", "flag"]
Share = Annotated[float, Field(ge=0, le=1)]


class OnboardingBelow(Data):
    """Less than `mark` of the onboarding items answered rightly (ACUTE-Eval: 0.75; its analysis: 1).

    attempts: of an item answered in several, "last" counts, or "any" wrong one makes it wrong (as in ACUTE-Eval, where
    there is one attempt).
    """

    rule: Literal["onboarding_below"] = "onboarding_below"
    mark: Share = 0.75
    attempts: Literal["last", "any"] = "last"
    action: Action = "block"


class GoldBelow(Data):
    """Less than `mark` of the hidden gold items right, once at least `least` were answered."""

    rule: Literal["gold_below"] = "gold_below"
    mark: Share = 0.75
    least: int = Field(default=2, ge=1)
    action: Action = "block"


class InconsistentDuplicates(Data):
    """Less than `mark` of the hidden repetitions answered as the first time, once at least `least` were answered."""

    rule: Literal["inconsistent_duplicates"] = "inconsistent_duplicates"
    mark: Share = 0.5
    least: int = Field(default=2, ge=1)
    action: Action = "exclude"


class TooFast(Data):
    """More than `share` of the items answered in less than `seconds`."""

    rule: Literal["too_fast"] = "too_fast"
    seconds: float = Field(default=3.0, ge=0)
    share: Share = 0.5
    least: int = Field(default=3, ge=1)
    action: Action = "exclude"


class ConstantSide(Data):
    """Pairs: the same side (or in ratings, the same option) always, where chance would do so with less than `p`."""

    rule: Literal["constant_side"] = "constant_side"
    p: Annotated[float, Field(gt=0, lt=1)] = 0.001
    least: int = Field(default=10, ge=2)
    action: Action = "flag"


class CopiedReasons(Data):
    """More than `share` of the reasons are equal to another of the person's, or taken out of the text shown."""

    rule: Literal["copied_reasons"] = "copied_reasons"
    share: Share = 0.5
    least: int = Field(default=3, ge=2)
    action: Action = "flag"


Rule = Annotated[
    OnboardingBelow | GoldBelow | InconsistentDuplicates | TooFast | ConstantSide | CopiedReasons,
    Field(discriminator="rule"),
]
