"""What a page shows of an item: turns with speaker names, marks next to them, and questions in order."""

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
from evenhand.annotation.store import AskSurvey, Shown

PARTNER = "Partner"
"""Who speaks with a judged speaker, where the study calls them by a letter."""


NAMES = {"pair": "pairs of conversations", "conversation": "conversations", "text": "texts"}
"""What items are called, by their kind."""


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
        return [_view(item.conversation, "Conversation", None, marks_beside(study, shown))]
    return []


def turns_below(shown: Shown) -> list[TurnView]:
    """The turns that questions below the item ask marks for, in the words of the item; of a text there is one."""
    item = shown.item
    if item.conversation is None:
        return [TurnView(0, "", item.text or "", False, ())]
    said = item.conversation.turns
    return [TurnView(n, said[n].speaker, said[n].text, False, ()) for n in turns_to_mark(item)]


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
        if name:  # next to "Speaker 1" a single letter is unclear
            speaker = name if judged else PARTNER if len(speaker.strip()) == 1 else speaker
        turns.append(TurnView(index, speaker, turn.text, judged, asked))
    return ConversationView(heading, tuple(turns), conversation.speaker is not None)


def marks_beside(study: Study, shown: Shown) -> list[Marks]:
    """Return the questions with marks next to the turns: those that come first, if there are several turns."""
    if len(turns_to_mark(shown.item)) < 2:
        return []
    return [
        question
        for question in takewhile(_asks_for_marks, questions_of(study, shown))
        if isinstance(question, Marks)
    ]


def asked_below(study: Study, shown: Shown) -> list[Question]:
    """Return the questions to show below the item, in order."""
    return questions_of(study, shown)[len(marks_beside(study, shown)) :]


def _asks_for_marks(question: Question) -> bool:
    return isinstance(question, Marks)


@dataclass(frozen=True)
class Ahead:
    """What somebody who begins has before them."""

    items: str
    """What is judged: texts, conversations, pairs of conversations."""
    in_set: int
    """Maximum number of them in one set."""
    sets: int
    """At most."""
    first: int
    """Items to begin with whose answers are known."""
    attempts: int
    """Times that these may be answered."""
    decides: bool
    """Whether the study ends for a person with too many wrong answers to these."""
    counts: bool
    """Whether they decide what counts, though nothing ends."""


def ahead_of(study: Study) -> Ahead:
    """What a study has before somebody who begins."""
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
