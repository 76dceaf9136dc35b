"""What people are asked: which of two, one of several, a number, marks on turns, a text."""

from typing import Annotated, Literal

from pydantic import Field

from evenhand.annotation.definition.items import Data, Label, Words

Key = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,59}$")]
"""Identifiers of questions, options and statements: they become columns and names of form fields."""


class Option(Data):
    """One answer to choose."""

    id: Key
    label: Label
    value: float | None = None
    """What it counts, where answers are averaged (yes 1, no 0)."""


class Reason(Data):
    """A free text with a choice."""

    label: Label = "Why?"
    required: bool = True
    minimum: int = Field(default=5, ge=0, le=5_000)
    """Characters, without white space at both ends; checked by the server."""


class Asked(Data):
    """What all questions have."""

    id: Key
    text: Words
    help: Words | None = None
    required: bool = True


class PairChoice(Asked):
    """Which of the two conversations (of an item with `pair`): answers a, b, or tie."""

    kind: Literal["pair"] = "pair"
    labels: tuple[Label, Label] = ("Speaker 1", "Speaker 2")
    """Labels of the left and the right conversation."""
    tie: Label | None = None
    """Label of a third answer; None: a choice is forced."""
    reason: Reason | None = None


class Choice(Asked):
    """One of several options: yes or no, the four classes of regard."""

    kind: Literal["choice"] = "choice"
    options: tuple[Option, ...] = Field(min_length=2, max_length=100)
    ordered: bool = False
    """Whether the options are ordered (agreement is then ordinal)."""
    reason: Reason | None = None


class Likert(Asked):
    """A number from low to high."""

    kind: Literal["likert"] = "likert"
    low: int = Field(default=1, ge=-1_000, le=1_000)
    high: int = Field(default=7, ge=-1_000, le=1_000)
    labels: tuple[Label, Label]
    """Labels of the lowest and the highest number. There is no default: no pair of labels fits every question."""
    reason: Reason | None = None


class Marks(Asked):
    """Which turns of a conversation (the judged speaker's, where one is named) deserve a mark, and which."""

    kind: Literal["marks"] = "marks"
    options: tuple[Option, ...] = Field(min_length=1, max_length=100)
    several: bool = False
    """Whether one turn may get several marks."""
    required: bool = False


class FreeText(Asked):
    """A free text as the answer."""

    kind: Literal["text"] = "text"
    minimum: int = Field(default=0, ge=0, le=100_000)
    maximum: int = Field(default=5_000, ge=1, le=100_000)


Question = Annotated[PairChoice | Choice | Likert | Marks | FreeText, Field(discriminator="kind")]
