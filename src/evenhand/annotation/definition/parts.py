"""Parts of a study other than items and questions: consent, surveys, onboarding, assignment, the last page."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from evenhand.annotation.definition.items import Data, Item, Label, Words
from evenhand.annotation.definition.questions import Choice, FreeText, Key, Likert

Page = Annotated[str, Field(max_length=50_000)]
"""Instructions, a consent page or thanks; an empty line separates paragraphs."""


class Consent(Data):
    """The first page, on which annotators consent."""

    text: Page = "You may stop at any time, and have your answers deleted."
    warning: Page | None = None
    """Content warning, shown before the study."""
    agree: Label = "I have read this and want to take part"


class Statement(Data):
    """One statement of a scale, rated like a Likert question."""

    id: Key
    text: Words
    reversed: bool = False
    """True if agreement lowers the score of the scale."""


SDO7_LABELS = ("Strongly oppose", "Strongly favor")
"""Labels of the SDO7 scale (Ho et al. 2015)."""


class Scale(Data):
    """A survey scale of statements that annotators rate: `use: sdo7`, or your own statements."""

    kind: Literal["scale"] = "scale"
    id: Key
    use: Literal["sdo7"] | None = None
    statements: tuple[Statement, ...] = Field(default=(), max_length=500)
    draw: int | None = Field(default=None, ge=1)
    """Number of statements that are sampled for each task batch, none twice for an annotator. None: all."""
    low: int = Field(default=1, ge=-1_000, le=1_000)
    high: int = Field(default=7, ge=-1_000, le=1_000)
    labels: tuple[Label, Label] = SDO7_LABELS
    """Labels of the lowest and the highest number. They are required for your own statements."""
    skippable: bool = True
    heading: Label = "A few statements"

    @model_validator(mode="after")
    def _has_labels_of_its_own(self) -> Self:
        if self.statements and "labels" not in self.model_fields_set:
            raise ValueError(
                "labels is missing; expected labels of the lowest and the highest number, such as [Disagree, "
                "Agree]"
            )
        return self


class About(Data):
    """Questions about the annotator, asked once. Each may be skipped."""

    kind: Literal["about"] = "about"
    id: Key
    heading: Label = "About you"
    questions: tuple[Annotated[Choice | Likert | FreeText, Field(discriminator="kind")], ...] = Field(
        min_length=1, max_length=100
    )

    @field_validator("questions", mode="after")
    @classmethod
    def _may_be_left_out(cls, asked: tuple[Any, ...]) -> tuple[Any, ...]:
        if any(question.required and "required" in question.model_fields_set for question in asked):
            raise ValueError("questions about the person are always optional; remove `required: true`")
        return tuple(question.model_copy(update={"required": False}) for question in asked)


Block = Annotated[Scale | About, Field(discriminator="kind")]


class Onboarding(Data):
    """Items with known answers (`expected`) before the first task batch. The exclusion rules decide who passes."""

    items: tuple[Item, ...] = Field(min_length=1)
    attempts: int = Field(default=1, ge=1, le=100)
    """Number of times that all onboarding items may be answered. The last attempt counts."""


class Hidden(Data):
    """Quality checks between real items, which look like them: gold items (with `expected`), or repetitions."""

    gold: tuple[Item, ...] = ()
    gold_per_unit: int = Field(default=0, ge=0, le=1_000)
    duplicates_per_unit: int = Field(default=0, ge=0, le=1_000)


class Assignment(Data):
    """How items are assigned to annotators."""

    annotations_per_item: int = Field(default=3, ge=1, le=1_000)
    """Number of annotators who judge each item; exactly this many judgements count."""
    items_per_unit: int = Field(default=5, ge=1, le=10_000)
    """Number of real items of a task batch; fewer if fewer are left."""
    units_per_person: int = Field(default=1, ge=1, le=100_000)
    lease_minutes: float = Field(default=30, gt=0, le=10_080)
    """Minutes after which an unanswered item goes to another annotator."""
    linked: tuple[Key, ...] = ()
    """Names of other studies in the same database whose conversations count as seen and whose units count as done."""
    shuffle_questions: bool = False


class Completion(Data):
    """Content of the last page."""

    text: Page = "Thank you. Your answers have been saved."
    code: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")] | None = None
    """Return code of Prolific or MTurk; None: none is shown, or `per_unit_codes` are."""
    not_passed_code: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")] | None = None
    """Code that is shown to annotators who did not pass the onboarding (Prolific: screened out)."""
    not_passed_address: Annotated[str, Field(pattern=r"^https?://[^\s<>\"']+$", max_length=2_000)] | None = (
        None
    )
    """URL to which these annotators return. `address` is not shown to them."""
    per_unit_codes: bool = False
    """Give each task batch a separate code, which the admin page can look up."""
    address: Annotated[str, Field(pattern=r"^https?://[^\s<>\"']+$", max_length=2_000)] | None = None
    """URL to which annotators return (https://app.prolific.com/submissions/complete?cc=...)."""
