"""What a form sent, held against the questions: answers, or what is wrong with them, question by question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evenhand.annotation.definition.items import Item
from evenhand.annotation.definition.questions import Question


@dataclass(frozen=True)
class Answer:
    """What was said to one question: in `answer` as VOTES has it; of marks, {turn: option id} in `marks`."""

    answer: str | None
    """a, b or tie; an option's id; a number as text; a text; None: skipped."""
    reason: str | None = None
    marks: Mapping[int, str] | None = None


def check_answers(
    questions: Sequence[Question], item: Item | None, form: Mapping[str, Sequence[str]], left: str = "a"
) -> tuple[dict[str, Answer], dict[str, str]]:
    """Answers by question, and what to say beside each question that is wrong (then the first is to be ignored).

    form: every value sent for a field, by name: `ID` (option id, number, text; of a pair `left`, `right` or `tie`),
    `ID-reason`, `ID-turn-3`. left: which conversation of a pair stood on the left; None as item: questions of a survey.
    Unknown fields, fields sent twice, numbers outside, texts too short or long, and absent required answers are
    problems; control characters are taken out.
    """
    raise NotImplementedError
