"""The content of a page for an item: turns with names of speakers, marks next to them, and questions in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import ceil

from evenhand.annotation.definition import (
    Conversation,
    Likert,
    Marks,
    OnboardingBelow,
    PairChoice,
    Question,
    Study,
    turns_to_mark,
)
from evenhand.annotation.store import AskSurvey, ShowItem

PARTNER = "Partner"
"""Name of the partner of a judged speaker, if the study identifies speakers by letters."""


NAMES = {"pair": "pairs of conversations", "conversation": "conversations", "text": "texts"}
"""Names of items, by their kind."""


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
    """Whether one speaker in particular is judged."""


def get_questions(study: Study, shown: ShowItem) -> list[Question]:
    """Return the questions of a presentation, in its order."""
    return [study.question(name) for name in shown.questions]  # type: ignore[misc]


def build_conversations(study: Study, shown: ShowItem) -> list[ConversationView]:
    """Return the conversations of an item. For a pair, the left one is first, and judged
    speakers have the names of their sides.
    """
    item = shown.item
    if item.pair:
        sides = item.pair if shown.left == "a" else item.pair[::-1]
        labels = _labels(study, shown)
        return [
            _view(conversation, label, label, ()) for conversation, label in zip(sides, labels, strict=True)
        ]
    if item.conversation:
        return [_view(item.conversation, "Conversation", None, find_inline_marks(study, shown))]
    return []


def turns_below(shown: ShowItem) -> list[TurnView]:
    """Return the turns that questions below the item ask about, in the words of the item; a text has one."""
    item = shown.item
    if item.conversation is None:
        return [TurnView(0, "", item.text or "", False, ())]
    said = item.conversation.turns
    return [TurnView(n, said[n].speaker, said[n].text, False, ()) for n in turns_to_mark(item)]


def survey_questions(step: AskSurvey) -> list[Question]:
    """Return a block of the survey as questions: statements as ratings, and questions about the person unchanged."""
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


def _labels(study: Study, shown: ShowItem) -> tuple[str, str]:
    """Return the names of both sides from the pair's first question; they do not depend on the random sides."""
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
        speaker = turn.speaker
        if name:  # next to "Speaker 1", a single letter is unclear
            speaker = name if judged else PARTNER if len(speaker.strip()) == 1 else speaker
        turns.append(TurnView(index, speaker, turn.text, judged, asked))
    return ConversationView(heading, tuple(turns), conversation.speaker is not None)


def find_inline_marks(study: Study, shown: ShowItem) -> list[Marks]:
    """Return the questions with marks next to the turns: those that come first, if there are several turns."""
    if len(turns_to_mark(shown.item)) < 2:
        return []
    return [
        question
        for question in takewhile(_asks_for_marks, get_questions(study, shown))
        if isinstance(question, Marks)
    ]


def asked_below(study: Study, shown: ShowItem) -> list[Question]:
    """Return the questions to show below the item, in order."""
    return get_questions(study, shown)[len(find_inline_marks(study, shown)) :]


def _asks_for_marks(question: Question) -> bool:
    return isinstance(question, Marks)


@dataclass(frozen=True)
class Ahead:
    """What an annotator will do in a study."""

    items: str
    """Kind of items that are judged: texts, conversations, pairs of conversations."""
    in_set: int
    """Maximum number of items in a task batch."""
    sets: int
    """Maximum number of task batches."""
    first: int
    """Number of items with known answers at the beginning."""
    attempts: int
    """Number of attempts for these items."""
    decides: bool
    """Whether the study ends for an annotator with too many wrong answers to these."""
    counts: bool
    """Whether they only decide which judgements are included."""


def outline_study(study: Study) -> Ahead:
    """Return what an annotator will do in a study."""
    kinds = {item.kind for item in study.items}
    assignment, hidden = study.assignment, study.hidden
    real = min(assignment.items_per_unit, len(study.items))
    actions = {rule.action for rule in study.rules if isinstance(rule, OnboardingBelow)}
    there = study.onboarding is not None
    return Ahead(
        items=NAMES[kinds.pop()] if len(kinds) == 1 else "texts and conversations",
        in_set=real + hidden.gold_per_unit + min(hidden.duplicates_per_unit, real),
        sets=min(assignment.units_per_person, ceil(len(study.items) / real)),
        first=len(study.onboarding.items) if study.onboarding else 0,
        attempts=study.onboarding.attempts if study.onboarding else 0,
        decides=there and "block" in actions,
        counts=there and "exclude" in actions,
    )
