"""Check the fields of a form against the questions: return answers, or the problems of each question."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.annotation.definition.items import Conversation, Item
from evenhand.annotation.definition.plain_text import length, strip_text, without_controls
from evenhand.annotation.definition.questions import (
    Choice,
    FreeText,
    Likert,
    Marks,
    PairChoice,
    Question,
    Reason,
)

LONGEST_REASON = 5_000
"""Maximum number of characters of a reason."""
MOST_FIELDS = 5_000
WHOLE_FORM = ""
"""Key of a problem that belongs to the whole form."""
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,8})", re.ASCII)


@dataclass(frozen=True)
class Answer:
    """The answer to one question. ``answer`` is as in VOTES.

    Marks are {turn: option id} in ``marks``, or {turn: tuple of option ids} if a turn may have several.
    """

    answer: str | None
    """"a", "b" or "tie"; the id of an option; a number as text; a text. None: skipped."""
    reason: str | None = None
    marks: Mapping[int, str | tuple[str, ...]] | None = None


class _Wrong(Exception):
    """Message shown next to a question with an invalid answer."""


def check_answers(
    questions: Sequence[Question], item: Item | None, form: Mapping[str, Sequence[str]], left: str = "a"
) -> tuple[dict[str, Answer], dict[str, str]]:
    """Return answers by question, and a message for each invalid field (if there are any, ignore the answers).

    Without an item: questions of a survey.

    All problems are returned at once: unknown fields (key ""), repeated fields, numbers out of range, texts too short
    or too long, and missing required answers. Their key is `ID`, or `ID-reason` for a reason. Control characters are
    removed.

    Parameters
    ----------
    form
        Every value sent for a field, by name: `ID` (option id, number, text; of a pair `left`, `right` or `tie`),
        `ID-reason`, `ID-turn-3`.
    left
        The conversation of a pair on the left side.

    Examples
    --------
    >>> question = PairChoice(id="human", text="Which speaker sounds more human?")
    >>> check_answers([question], None, {"human": ["left"]}, left="b")
    ({'human': Answer(answer='b', reason=None, marks=None)}, {})
    >>> check_answers([question], None, {})
    ({}, {'human': 'Please choose one of the two.'})
    >>> with_reason = question.model_copy(update={"reason": Reason(minimum=5)})
    >>> list(check_answers([with_reason], None, {"human-reason": ["so"]})[1])
    ['human', 'human-reason']
    """
    answers: dict[str, Answer] = {}
    problems: dict[str, str] = {}
    if len(form) > MOST_FIELDS:
        return answers, {WHOLE_FORM: "Too much was sent. Please load this page again."}
    fields = {question.id: _list_fields(question, item) for question in questions}
    if set(form) - {field for names in fields.values() for field in names}:
        problems[WHOLE_FORM] = "What was sent does not belong to this page. Please load it again."
    for question in questions:
        sent = {name: form[name] for name in fields[question.id] if name in form}
        answer, wrong = _check_answer(question, sent, left)
        if wrong:
            problems |= wrong
        else:
            answers[question.id] = answer
    return answers, problems


def reason_field(question: str) -> str:
    """Return the name of the form field with the reason for an answer, which is also the key of its error.

    >>> reason_field("human")
    'human-reason'
    """
    return f"{question}-reason"


def turns_to_mark(item: Item | None) -> tuple[int, ...]:
    """Return the turns of an item that may be marked, from 0: those of the judged speaker, or all. A text is turn 0."""
    if item is None or item.pair:
        return ()
    conversation: Conversation | None = item.conversation
    if conversation is None:
        return (0,)
    judged = conversation.speaker
    return tuple(
        number for number, turn in enumerate(conversation.turns) if judged is None or turn.speaker == judged
    )


def _list_fields(question: Question, item: Item | None) -> tuple[str, ...]:
    if isinstance(question, Marks):
        return tuple(f"{question.id}-turn-{number}" for number in turns_to_mark(item))
    if isinstance(question, FreeText) or question.reason is None:
        return (question.id,)
    return (question.id, reason_field(question.id))


def _get_single_value(values: Any) -> str:
    """Return the only value of a field; "" if no choice was made."""
    values = [values] if isinstance(values, str) else list(values)
    if len(values) > 1:
        raise _Wrong("This was answered twice. Please answer it once.")
    if values and not isinstance(values[0], str):
        raise _Wrong("A file was sent where an answer was expected.")
    return values[0] if values else ""


def _several(values: Any) -> list[str]:
    """Return all values of a field, without repetitions."""
    sent: list[Any] = [values] if isinstance(values, str) else list(values)
    texts = [value for value in sent if isinstance(value, str)]
    if len(texts) < len(sent):
        raise _Wrong("A file was sent where an answer was expected.")
    if len(set(texts)) < len(texts):
        raise _Wrong("This was answered twice. Please answer it once.")
    return texts


def _check_answer(question: Question, sent: Mapping[str, Any], left: str) -> tuple[Answer, dict[str, str]]:
    """Return the answer to one question, and its problems by field; the answer is valid only if there are none."""
    chosen: str | None = None
    reason: str | None = None
    wrong: dict[str, str] = {}
    said = sent.get(question.id, ())
    try:
        if isinstance(question, Marks):
            return _parse_marks(question, sent), {}
        if isinstance(question, FreeText):
            text = _clean_text(
                _get_single_value(said), question.minimum, question.maximum, needed=question.required
            )
            return Answer(text or None), {}
        chosen = _parse_choice(question, _get_single_value(said), left)
        if chosen is None and question.required:
            raise _Wrong(_asking(question))
    except _Wrong as problem:
        wrong[question.id] = str(problem)
    if not isinstance(question, Marks | FreeText):
        name = reason_field(question.id)
        try:  # a reason is also required if the choice is still missing
            reason = _reason(
                question.reason, _get_single_value(sent.get(name, ())), chosen is not None or bool(wrong)
            )
        except _Wrong as problem:
            wrong[name] = str(problem)
    return Answer(chosen, reason), wrong


def _parse_marks(question: Marks, sent: Mapping[str, Any]) -> Answer:
    options = [option.id for option in question.options]
    marks: dict[int, str | tuple[str, ...]] = {}
    for field, values in sent.items():
        given = _several(values) if question.several else [_get_single_value(values)]
        chosen = [value for value in given if value != ""]
        if not set(chosen) <= set(options):
            raise _Wrong("Please choose only marks that this page offers.")
        if chosen:
            in_order = tuple(option for option in options if option in chosen)
            marks[int(field.rpartition("-")[2])] = in_order if question.several else in_order[0]
    if question.required and not marks:
        raise _Wrong("Please choose a mark for at least one turn.")
    return Answer(None, marks=dict(sorted(marks.items())))


def _parse_choice(question: PairChoice | Choice | Likert, said: str, left: str) -> str | None:
    if said == "":
        return None
    if isinstance(question, PairChoice):
        sides = {"left": left, "right": "b" if left == "a" else "a"}
        allowed = sides | ({"tie": "tie"} if question.tie is not None else {})
        if said in allowed:
            return allowed[said]
    elif isinstance(question, Choice):
        if _is_known(said, (option.id for option in question.options)):
            return said
    elif _NUMBER.fullmatch(said[:12]) and len(said) < 12 and question.low <= int(said) <= question.high:
        return str(int(said))
    raise _Wrong(_asking(question))


def _is_known(said: str, known: Iterable[str]) -> bool:
    return any(said == name for name in known)


def _asking(question: PairChoice | Choice | Likert) -> str:
    if isinstance(question, Likert):
        return f"Please choose a number from {question.low} to {question.high}."
    if isinstance(question, PairChoice) and question.tie is None:
        return "Please choose one of the two."
    return "Please choose one of the answers."


def _reason(wanted: Reason | None, said: str, chosen: bool) -> str | None:
    if wanted is None:
        return None
    return _clean_text(said, wanted.minimum, LONGEST_REASON, needed=wanted.required and chosen) or None


def _clean_text(said: str, least: int, most: int, *, needed: bool) -> str:
    if len(said) > 4 * most + 1_000:  # not worth cleaning
        raise _Wrong(f"Please write at most {most:,} characters.")
    text = strip_text(without_controls(said))
    if len(text) > most:
        raise _Wrong(f"Please write at most {most:,} characters; these are {len(text):,}.")
    if not text and not needed:
        return ""
    if length(text) < max(least, 1):
        many = max(least, 1)
        raise _Wrong(f"Please write at least {many:,} character{'s' * (many != 1)}.")
    return text
