"""Questions for annotators: a choice between two conversations, one of several options, a number, marks, a text."""

from typing import Annotated, Literal

from pydantic import Field

from evenhand.annotation.definition.items import Data, Label, Words

Key = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,59}$")]
"""Identifiers of questions, options and statements, which become columns and names of form fields."""


class Option(Data):
    """One possible answer."""

    id: Key
    label: Label
    value: float | None = None
    """Number for averages of answers (yes 1, no 0)."""


class Reason(Data):
    """A free text that explains a choice."""

    label: Label = "Why?"
    required: bool = True
    minimum: int = Field(default=5, ge=0, le=5_000)
    """Minimum number of characters, without surrounding white space; checked by the server."""


class BaseQuestion(Data):
    """Common fields of all questions."""

    id: Key
    text: Words
    help: Words | None = None
    required: bool = True


class PairChoice(BaseQuestion):
    """A question on which of two conversations is better (of an item with `pair`). The answers are a, b and tie."""

    kind: Literal["pair"] = "pair"
    labels: tuple[Label, Label] = ("Speaker 1", "Speaker 2")
    """Labels of the left and the right conversation."""
    tie: Label | None = None
    """Label of the answer "tie". None: ties are not allowed."""
    reason: Reason | None = None


class Choice(BaseQuestion):
    """A question with several options, such as yes and no, or the four classes of regard."""

    kind: Literal["choice"] = "choice"
    options: tuple[Option, ...] = Field(min_length=2, max_length=100)
    ordered: bool = False
    """True if the options are ordered. Agreement then uses the ordinal level."""
    reason: Reason | None = None


class Likert(BaseQuestion):
    """A question with a number from low to high as the answer."""

    kind: Literal["likert"] = "likert"
    low: int = Field(default=1, ge=-1_000, le=1_000)
    high: int = Field(default=7, ge=-1_000, le=1_000)
    labels: tuple[Label, Label]
    """Labels of the lowest and the highest number. There is no default: no pair of labels fits every question."""
    reason: Reason | None = None


class Marks(BaseQuestion):
    """A question on which turns of a conversation deserve a mark, and which one.

    If the conversation has a judged speaker, only that speaker's turns can be marked.
    """

    kind: Literal["marks"] = "marks"
    options: tuple[Option, ...] = Field(min_length=1, max_length=100)
    several: bool = False
    """True if one turn may have several marks."""
    required: bool = False


class FreeText(BaseQuestion):
    """A question with a free text as the answer."""

    kind: Literal["text"] = "text"
    minimum: int = Field(default=0, ge=0, le=100_000)
    maximum: int = Field(default=5_000, ge=1, le=100_000)


Question = Annotated[PairChoice | Choice | Likert | Marks | FreeText, Field(discriminator="kind")]
