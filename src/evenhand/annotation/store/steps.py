"""Where a person stands: what the next page shows, as values that know nothing of pages or databases."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from evenhand.annotation.definition import Block, Item, Statement

Side = Literal["a", "b"]
Role = Literal["real", "onboarding", "gold", "duplicate"]


@dataclass(frozen=True)
class Shown:
    """One showing of one item to one person, as drawn and stored when the unit was made."""

    presentation: str
    """An identifier that cannot be guessed; the form sends it back."""
    item: Item
    left: Side
    """Which conversation of a pair stands on the left."""
    questions: tuple[str, ...]
    """Identifiers, in the order asked."""
    position: int
    """Within the unit, from 0; onboarding counts for itself."""
    length: int
    """How many there are in it."""
    onboarding: bool
    """The only role that a page may know."""
    until: datetime
    """When the lease ends."""


@dataclass(frozen=True)
class AskConsent:
    """Nothing before this is agreed to."""


@dataclass(frozen=True)
class Corrected:
    """An onboarding item was answered wrongly and has an explanation, to be read before going on."""

    shown: Shown
    wrong: tuple[str, ...]
    """Questions."""


@dataclass(frozen=True)
class AskSurvey:
    """One block of the survey: the statements drawn for this person and unit, or questions about them."""

    survey: str
    """An identifier that cannot be guessed; the form sends it back."""
    block: Block
    statements: tuple[Statement, ...]
    """Statements of a scale, in random order."""


@dataclass(frozen=True)
class UnitDone:
    """A unit is complete, and the person may take another (`more`) or not."""

    unit: str
    code: str | None
    more: bool


@dataclass(frozen=True)
class Ended:
    """There is nothing to do for this person."""

    why: Literal["nothing left", "all given out", "enough", "not passed", "blocked", "withdrawn", "paused"]
    """nothing left: every item has its votes; all given out: others hold the rest, come back later; enough: the
    person's own limit; not passed: onboarding; blocked: by a rule or the admin, said as kindly as "enough"."""
    code: str | None = None
    """Code of the last complete unit, so that it can be shown again."""


Step = AskConsent | Shown | Corrected | AskSurvey | UnitDone | Ended
