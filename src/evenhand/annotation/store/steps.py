"""The next step of an annotator, which the next page shows, independent of pages and databases."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from evenhand.annotation.definition import Block, Item, Statement

Side = Literal["a", "b"]
Role = Literal["real", "onboarding", "gold", "duplicate"]


@dataclass(frozen=True)
class ShowItem:
    """One presentation of an item to an annotator, as it was randomised and stored for the task batch."""

    presentation: str
    """Unguessable identifier, which the form sends back."""
    item: Item
    left: Side
    """The conversation of a pair (a or b) that is shown on the left."""
    questions: tuple[str, ...]
    """Identifiers of the questions, in the order in which they are asked."""
    position: int
    """Position within the task batch, from 0. Onboarding items are counted separately."""
    length: int
    """Number of items in the task batch."""
    onboarding: bool
    """True for an onboarding item. Pages know no other role of an item, so that gold items cannot be recognised."""
    until: datetime
    """Time at which the assignment expires."""


@dataclass(frozen=True)
class AskConsent:
    """Next step: the annotator must consent."""


@dataclass(frozen=True)
class ShowCorrection:
    """Next step: read the explanation of a wrongly answered onboarding item."""

    shown: ShowItem
    wrong: tuple[str, ...]
    """Questions that were answered wrongly."""


@dataclass(frozen=True)
class AskSurvey:
    """Next step: one block of the survey, with sampled statements or questions about the annotator."""

    survey: str
    """Unguessable identifier, which the form sends back."""
    block: Block
    statements: tuple[Statement, ...]
    """Statements of a scale, in random order."""


@dataclass(frozen=True)
class UnitDone:
    """Next step: a task batch is complete. ``more`` is True if the annotator may take another."""

    unit: str
    code: str | None
    more: bool


@dataclass(frozen=True)
class EndVisit:
    """Next step: none. There is nothing left for this annotator."""

    why: Literal["nothing left", "all given out", "enough", "not passed", "blocked", "withdrawn", "paused"]
    """Reason why there is nothing left.

    - nothing left: every item has its judgements.
    - all given out: the others are assigned to other annotators; come back later.
    - enough: the annotator has reached the maximum.
    - not passed: the onboarding was not passed.
    - blocked: by a rule or the admin. The page shows the same text as for "enough".
    """
    code: str | None = None
    """Code of the last completed task batch, so that it can be shown again."""


Step = AskConsent | ShowItem | ShowCorrection | AskSurvey | UnitDone | EndVisit
