"""What a page shows of an item: turns with the names people see, marks beside them, questions in their order."""

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.annotation.definition import (
    Conversation,
    Likert,
    Marks,
    PairChoice,
    Question,
    Study,
)
from evenhand.annotation.store import AskSurvey, Shown

MOST_BUTTONS = 21
"""Numbers of a scale that are shown as one button each; longer scales are a field for a number."""


@dataclass(frozen=True)
class TurnView:
    """One turn as it is shown."""

    index: int
    speaker: str
    text: str
    judged: bool
    marks: tuple[Marks, ...]
    """Questions that ask for a mark on it."""


@dataclass(frozen=True)
class ConversationView:
    """One conversation as it is shown."""

    heading: str
    turns: tuple[TurnView, ...]
    highlights: bool
    """Whether somebody in particular is judged."""


def questions_of(study: Study, shown: Shown) -> list[Question]:
    """The questions of a showing, in its order."""
    return [study.question(name) for name in shown.questions]  # type: ignore[misc]


def conversations_of(study: Study, shown: Shown) -> list[ConversationView]:
    """The conversations of an item: of a pair the left one first, its judged speaker by the name of that side."""
    item = shown.item
    if item.pair:
        sides = item.pair if shown.left == "a" else item.pair[::-1]
        labels = _labels(study, shown)
        return [
            _view(conversation, label, label, ()) for conversation, label in zip(sides, labels, strict=True)
        ]
    if item.conversation:
        return [_view(item.conversation, "Conversation", None, marks_of(questions_of(study, shown)))]
    return []


def survey_questions(step: AskSurvey) -> list[Question]:
    """A block of the survey as questions: statements as ratings, questions about the person as they are."""
    block = step.block
    if block.kind == "about":
        return [question.model_copy(update={"required": False}) for question in block.questions]
    return [
        Likert(
            id=statement.id,
            text=statement.text,
            low=block.low,
            high=block.high,
            labels=block.labels,
            required=not block.skippable,
        )
        for statement in step.statements
    ]


def _labels(study: Study, shown: Shown) -> tuple[str, str]:
    """The names of both sides: those of the pair's first question, in the order of the study whatever was drawn."""
    for question in study.questions:
        if isinstance(question, PairChoice) and question.id in shown.questions:
            return question.labels
    return ("Speaker 1", "Speaker 2")


def _view(
    conversation: Conversation, heading: str, name: str | None, marks: Sequence[Marks]
) -> ConversationView:
    turns = []
    for index, turn in enumerate(conversation.turns):
        judged = turn.speaker == conversation.speaker
        asked = tuple(marks) if judged or conversation.speaker is None else ()
        turns.append(TurnView(index, name if judged and name else turn.speaker, turn.text, judged, asked))
    return ConversationView(heading, tuple(turns), conversation.speaker is not None)


def asked_below(questions: Sequence[Question]) -> list[Question]:
    """The questions that stand below the item; marks stand beside its turns, or the text."""
    return [question for question in questions if not isinstance(question, Marks)]


def marks_of(questions: Sequence[Question]) -> list[Marks]:
    """The questions that ask for marks."""
    return [question for question in questions if isinstance(question, Marks)]
