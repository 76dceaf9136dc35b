"""Exclusion rules as data: their criteria and actions. `quality/` applies them, live and in the analysis.

The `action` of a rule is "block" (the annotator finishes the task batch and gets no other; all their answers are
excluded), "exclude" (excluded in the analysis, but the annotator continues), or "flag" (only shown to the
administrator).
"""

from typing import Annotated, Literal

from pydantic import Field

from evenhand.annotation.definition.items import Data

Action = Literal["block", "exclude", "flag"]
Share = Annotated[float, Field(ge=0, le=1)]


class OnboardingBelow(Data):
    """Exclude annotators with less than `mark` (0 to 1) of the onboarding items correct.

    ACUTE-Eval uses 0.75, and its analysis 1. `attempts` states which attempt counts: "last", or "any" (one wrong
    attempt makes the item wrong, as in ACUTE-Eval, which has one attempt).
    """

    rule: Literal["onboarding_below"] = "onboarding_below"
    mark: Share = 0.75
    attempts: Literal["last", "any"] = "last"
    action: Action = "block"


class GoldBelow(Data):
    """Exclude annotators with less than `mark` (0 to 1) of the hidden gold items correct, after at least `least` of
    them.
    """

    rule: Literal["gold_below"] = "gold_below"
    mark: Share = 0.75
    least: int = Field(default=2, ge=1)
    action: Action = "block"


class InconsistentDuplicates(Data):
    """Exclude annotators who repeat less than `mark` (0 to 1) of their answers to hidden repetitions, after at least
    `least`.
    """

    rule: Literal["inconsistent_duplicates"] = "inconsistent_duplicates"
    mark: Share = 0.5
    least: int = Field(default=2, ge=1)
    action: Action = "exclude"


class TooFast(Data):
    """Exclude annotators who answer more than `share` of the items in less than `seconds`."""

    rule: Literal["too_fast"] = "too_fast"
    seconds: float = Field(default=3.0, ge=0)
    share: Share = 0.5
    least: int = Field(default=3, ge=1)
    action: Action = "exclude"


class ConstantSide(Data):
    """Exclude annotators who nearly always choose the same side of pairs (or the same option in ratings).

    It applies if the probability of this by chance is below `p`.
    """

    rule: Literal["constant_side"] = "constant_side"
    p: Annotated[float, Field(gt=0, lt=1)] = 0.001
    least: int = Field(default=10, ge=2)
    action: Action = "flag"


class CopiedReasons(Data):
    """Exclude annotators if more than `share` of their reasons repeat each other or are copied from the shown text."""

    rule: Literal["copied_reasons"] = "copied_reasons"
    share: Share = 0.5
    least: int = Field(default=3, ge=2)
    action: Action = "flag"


Rule = Annotated[
    OnboardingBelow | GoldBelow | InconsistentDuplicates | TooFast | ConstantSide | CopiedReasons,
    Field(discriminator="rule"),
]
