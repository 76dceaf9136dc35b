"""What people are shown: a text, a conversation, or a pair of conversations."""

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    field_validator,
    model_validator,
)

from evenhand.annotation.definition.plain_text import unfit_character


def _whole_as_text(given: Any) -> Any:
    """Whole numbers are texts where texts are wanted: nothing is lost, and files are full of items called 1, 2, 3."""
    return str(given) if type(given) is int else given


FromWhole = BeforeValidator(_whole_as_text)
Name = Annotated[str, FromWhole, Field(min_length=1, max_length=200)]
Text = Annotated[str, FromWhole, Field(max_length=100_000)]
"""What is read: an utterance, a continuation, a prompt. More is a file read with the wrong quotes."""
Words = Annotated[str, FromWhole, Field(min_length=1, max_length=2_000)]
"""A question, a statement, a heading."""
Label = Annotated[str, FromWhole, Field(min_length=1, max_length=300)]
"""Text on or next to a button."""
ItemKind = Literal["pair", "conversation", "text"]


class Data(BaseModel):
    """The base of everything that a study file holds: unknown keys are refused, nothing changes afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="after")
    @classmethod
    def _can_be_stored(cls, value: Any) -> Any:
        """Refuse what no page and no database holds: zero bytes, other control characters, halves of characters."""
        if isinstance(value, str | tuple | dict) and (wrong := unfit_character(value)):
            raise ValueError(
                f"contains the character {wrong}, which pages and databases do not take; remove it"
            )
        return value


class Turn(Data):
    """One utterance."""

    speaker: Name
    text: Text


class Conversation(Data):
    """What two speakers (or one) said."""

    id: Name
    turns: tuple[Turn, ...] = Field(min_length=1, max_length=1_000)
    speaker: Name | None = None
    """The speaker whose turns are judged and highlighted; None: no particular speaker."""
    model: Name | None = None
    """Who wrote them; never shown to the people who judge."""


class Item(Data):
    """One thing that is judged: exactly one of `pair`, `conversation` and `text`."""

    id: Name
    pair: tuple[Conversation, Conversation] | None = None
    """Conversations a and b; their sides are randomised for every presentation."""
    conversation: Conversation | None = None
    text: Text | None = None
    context: Text | None = None
    """What stands before it, shown above and set apart: the prompt."""
    model: Name | None = None
    groups: dict[str, str | float | bool | None] = {}
    """What the analysis may split by: axis, group, benchmark, mitigation; never shown."""
    judgements: dict[str, dict[str, JsonValue]] = {}
    """What classifiers said of the text: name -> label, score, negative, scores; never shown."""
    expected: dict[str, Label] = {}
    """Gold and onboarding items: the right answer to each question (`a` or `b` of a pair, an option, a number)."""
    explanation: Annotated[str, Field(max_length=5_000)] | None = None
    """Onboarding items: shown after a wrong answer."""

    @model_validator(mode="after")
    def _one_content(self) -> "Item":
        contents = [self.pair, self.conversation, self.text]
        if sum(content is not None for content in contents) != 1:
            raise ValueError("an item has exactly one of `pair`, `conversation` and `text`")
        return self

    @property
    def kind(self) -> ItemKind:
        """pair, conversation or text."""
        return "pair" if self.pair else "conversation" if self.conversation else "text"

    @property
    def conversations(self) -> tuple[str, ...]:
        """Identifiers of content that no annotator may see twice: the conversations, or the item if it is a text."""
        if self.pair:
            return (self.pair[0].id, self.pair[1].id)
        return (self.conversation.id,) if self.conversation else (self.id,)
