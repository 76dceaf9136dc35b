"""A study: everything that is fixed before the first person comes, in one value that a YAML file holds."""

from typing import Annotated, Literal

from pydantic import Field

from evenhand.annotation.definition.items import Data, Item
from evenhand.annotation.definition.questions import Asked, Choice, FreeText, Key, Likert, Question
from evenhand.annotation.definition.rules import OnboardingBelow, Rule


class Consent(Data):
    """The page before everything else."""

    text: str = "You may stop at any time, and have your answers deleted."
    warning: str | None = None
    """Of content: what people may have to read."""
    agree: str = "I have read this and want to take part"


class Statement(Data):
    """One line of a scale, rated like a Likert question."""

    id: Key
    text: str = Field(min_length=1)
    reversed: bool = False
    """Whether agreement counts against what the scale measures."""


class Scale(Data):
    """A survey of which every person is asked some statements: `use: sdo7`, or statements of your own."""

    kind: Literal["scale"] = "scale"
    id: Key
    use: Literal["sdo7"] | None = None
    statements: tuple[Statement, ...] = ()
    draw: int | None = Field(None, ge=1)
    """Statements drawn at random for each unit, none twice for a person; None: all."""
    low: int = 1
    high: int = 7
    labels: tuple[str, str] = ("Strongly oppose", "Strongly favor")
    skippable: bool = True
    heading: str = "A few statements"


class About(Data):
    """Questions about the person, asked once, each of which may be left out."""

    kind: Literal["about"] = "about"
    id: Key
    heading: str = "About you"
    questions: tuple[Annotated[Choice | Likert | FreeText, Field(discriminator="kind")], ...] = Field(
        min_length=1
    )


Block = Annotated[Scale | About, Field(discriminator="kind")]


class Onboarding(Data):
    """Items in front of the first unit, with known answers (`expected`); who passes, the rules say."""

    items: tuple[Item, ...] = Field(min_length=1)
    attempts: int = Field(1, ge=1)
    """Times that all of them may be answered; the last one counts."""


class Hidden(Data):
    """Items between the others that look like them: gold (with `expected`), or repetitions of the person's own."""

    gold: tuple[Item, ...] = ()
    gold_per_unit: int = Field(0, ge=0)
    duplicates_per_unit: int = Field(0, ge=0)


class Assignment(Data):
    """Who gets what."""

    annotations_per_item: int = Field(3, ge=1)
    """Different people who judge each item; exactly so many votes count."""
    items_per_unit: int = Field(5, ge=1)
    """Real items of one sitting; fewer where fewer are left."""
    units_per_person: int = Field(1, ge=1)
    lease_minutes: float = Field(30, gt=0)
    """After which what nobody answered goes to somebody else."""
    linked: tuple[str, ...] = ()
    """Names of other studies in the same database whose conversations count as seen and whose units count as done."""
    shuffle_questions: bool = False


class Completion(Data):
    """What stands on the last page."""

    text: str = "Thank you. Your answers have been saved."
    code: str | None = None
    """Return code of Prolific or MTurk; None: none is shown, or `per_unit_codes` are."""
    per_unit_codes: bool = False
    """A code of its own for every unit, which the admin page can look up."""
    address: str | None = None
    """Where a link leads back to (https://app.prolific.com/submissions/complete?cc=...)."""


class Study(Data):
    """See docs/annotation_studies.md for the file; every field has its meaning there and here."""

    evenhand_study: Literal[1]
    name: Key
    title: str = Field(min_length=1)
    instructions: str = ""
    """Shown above every item, folded after the first; paragraphs are separated by an empty line."""
    language: str = "en"
    seed: int = Field(0, ge=0)
    consent: Consent = Consent()
    questions: tuple[Question, ...] = Field(min_length=1)
    items: tuple[Item, ...] = Field(min_length=1)
    """In the file a list, or `{file: items.jsonl}` beside it."""
    onboarding: Onboarding | None = None
    hidden: Hidden = Hidden()
    rules: tuple[Rule, ...] = (OnboardingBelow(),)
    assignment: Assignment = Assignment()
    survey: tuple[Block, ...] = ()
    completion: Completion = Completion()

    def question(self, name: str) -> Asked:
        """A question by its id; raises KeyError."""
        return next(question for question in self.questions if question.id == name)
