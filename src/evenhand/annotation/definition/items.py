"""Items that annotators judge: a text, a conversation, or a pair of conversations."""

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
    """Accept integers where text is required, because many files have items called 1, 2, 3."""
    return str(given) if type(given) is int else given


FromWhole = BeforeValidator(_whole_as_text)
Name = Annotated[str, FromWhole, Field(min_length=1, max_length=200)]
Text = Annotated[str, FromWhole, Field(max_length=100_000)]
"""An utterance, a continuation or a prompt; longer texts indicate a file that was read with the wrong quotes."""
Words = Annotated[str, FromWhole, Field(min_length=1, max_length=2_000)]
"""A question, a statement or a heading."""
Label = Annotated[str, FromWhole, Field(min_length=1, max_length=300)]
"""Text on or next to a button."""
ItemKind = Literal["pair", "conversation", "text"]


class Data(BaseModel):
    """Base class of everything in a study file: unknown keys are errors, and objects are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="after")
    @classmethod
    def _can_be_stored(cls, value: Any) -> Any:
        """Raise ValueError for characters that pages or databases cannot store: control characters
        and lone surrogates.
        """
        if isinstance(value, str | tuple | dict) and (wrong := unfit_character(value)):
            raise ValueError(
                f"contains the character {wrong}, which pages and databases do not support; remove it"
            )
        return value


class Turn(Data):
    """One utterance."""

    speaker: Name
    text: Text


class Conversation(Data):
    """A conversation of one or two speakers."""

    id: Name
    turns: tuple[Turn, ...] = Field(min_length=1, max_length=1_000)
    speaker: Name | None = None
    """The speaker whose turns are judged and highlighted; None: no particular speaker."""
    model: Name | None = None
    """Name of the model that wrote it. It is never shown to annotators."""


class Item(Data):
    """One thing to judge. Exactly one of `pair`, `conversation` and `text` is set."""

    id: Name
    pair: tuple[Conversation, Conversation] | None = None
    """Conversations a and b. Their positions (left, right) are randomised for every presentation."""
    conversation: Conversation | None = None
    text: Text | None = None
    context: Text | None = None
    """Text before the item, such as the prompt. It is shown above and set apart."""
    model: Name | None = None
    groups: dict[str, str | float | bool | None] = {}
    """Attributes by which the analysis may split items: axis, group, benchmark, mitigation. They are never shown."""
    judgements: dict[str, dict[str, JsonValue]] = {}
    """Results of classifiers for the text: name -> label, score, negative, scores. They are never shown."""
    expected: dict[str, Label] = {}
    """For gold and onboarding items: the correct answer to each question (`a` or `b` of a pair, an option, a
    number).
    """
    explanation: Annotated[str, Field(max_length=5_000)] | None = None
    """For onboarding items: text that is shown after a wrong answer."""

    @model_validator(mode="after")
    def _one_content(self) -> "Item":
        contents = [self.pair, self.conversation, self.text]
        if sum(content is not None for content in contents) != 1:
            raise ValueError("an item has exactly one of `pair`, `conversation` and `text`")
        return self

    @property
    def kind(self) -> ItemKind:
        """Return "pair", "conversation" or "text"."""
        return "pair" if self.pair else "conversation" if self.conversation else "text"

    @property
    def conversations(self) -> tuple[str, ...]:
        """Return identifiers of content that no annotator may see twice: the conversations, or the item if it is a
        text.
        """
        if self.pair:
            return (self.pair[0].id, self.pair[1].id)
        return (self.conversation.id,) if self.conversation else (self.id,)
