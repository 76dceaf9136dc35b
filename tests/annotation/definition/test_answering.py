"""Whatever a form sends, it comes out as answers that fit the questions, or as sentences about what is wrong."""

import unicodedata
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import TypeAdapter

from evenhand.annotation.definition import (
    Answer,
    Choice,
    FreeText,
    Item,
    Likert,
    Marks,
    PairChoice,
    Question,
    check_answers,
)

QUESTIONS = TypeAdapter(tuple[Question, ...]).validate_python(
    [
        {"id": "human", "kind": "pair", "text": "Which?", "tie": "Both", "reason": {}},
        {"id": "forced", "kind": "pair", "text": "Which?"},
        {"id": "rude", "kind": "choice", "text": "Rude?", "options": [{"id": "yes", "label": "Y"}, {"id": "no",
        "label": "N"}]},
        {"id": "rate", "kind": "likert", "text": "How?", "low": -3, "high": 3,
         "labels": ["Low", "High"], "required": False},
        {"id": "mark", "kind": "marks", "text": "Mark", "options": [{"id": "odd", "label": "Odd"}, {"id": "bad",
        "label": "Bad"}]},
        {"id": "more", "kind": "text", "text": "More?", "minimum": 3, "maximum": 20, "required": False},
    ]
)  # fmt: skip
TALK = Item.model_validate(
    {
        "id": "talk",
        "conversation": {
            "id": "c",
            "speaker": "B",
            "turns": [{"speaker": speaker, "text": "hi"} for speaker in ("A", "B", "A", "B")],
        },
    }
)
RIGHT = {"human": ["left"], "human-reason": ["friendlier"], "forced": ["right"], "rude": ["no"], "rate": ["-2"],
         "mark-turn-1": ["odd"], "mark-turn-3": [""], "more": ["  so so "]}  # fmt: skip


def said(**form: str) -> tuple[dict[str, Answer], dict[str, str]]:
    fields = {name.replace("_", "-"): [value] for name, value in form.items()}
    return check_answers(QUESTIONS, TALK, RIGHT | fields)


def test_answers_are_read_as_they_were_meant() -> None:
    answers, problems = check_answers(QUESTIONS, TALK, RIGHT, left="b")
    assert problems == {}
    assert answers == {
        "human": Answer("b", "friendlier"),
        "forced": Answer("a"),
        "rude": Answer("no"),
        "rate": Answer("-2"),
        "mark": Answer(None, marks={1: "odd"}),
        "more": Answer("so so"),
    }


@pytest.mark.parametrize(
    ("left", "side", "answer"),
    [("a", "left", "a"), ("a", "right", "b"), ("b", "left", "b"), ("b", "right", "a")],
)
def test_sides_are_taken_back_to_a_and_b(left: str, side: str, answer: str) -> None:
    question = PairChoice(id="q", text="Which?")
    assert check_answers([question], None, {"q": [side]}, left)[0]["q"].answer == answer


@pytest.mark.parametrize(
    ("form", "wrong"),
    [
        ({"human": "a"}, "human"),  # letters would give away, or get wrong, which side was meant
        ({"human": "Left"}, "human"),
        ({"human": ""}, "human"),
        ({"forced": "tie"}, "forced"),
        ({"rude": "maybe"}, "rude"),
        ({"rude": "yes "}, "rude"),
        ({"rate": "4"}, "rate"),
        ({"rate": "1.0"}, "rate"),
        ({"rate": "+1"}, "rate"),
        ({"rate": "٣"}, "rate"),
        ({"rate": "9" * 10_000}, "rate"),
        ({"rate": "1\n"}, "rate"),
        ({"mark_turn_1": "worse"}, "mark"),
        ({"mark_turn_0": "odd"}, ""),  # of the other speaker
        ({"mark_turn_4": "odd"}, ""),  # there is none
        ({"mark_turn_01": "odd"}, ""),
        ({"mark": "odd"}, ""),
        ({"rude_reason": "because"}, ""),  # not asked for
        ({"else": "x"}, ""),
        ({"more": "ab"}, "more"),
        ({"more": "x" * 21}, "more"),
        ({"more": "x" * 1_000_000}, "more"),
        ({"human_reason": "four"}, "human-reason"),
        ({"human_reason": "  a   b  "}, "human-reason"),
        ({"human_reason": "\u200b\u200b\u200b\u200b\u200b"}, "human-reason"),
        ({"human_reason": "\x00\x01\x02\x03\x04\x05"}, "human-reason"),
        ({"human_reason": "x" * 5_001}, "human-reason"),
    ],
)
def test_what_is_wrong_is_said_beside_its_question(form: Mapping[str, str], wrong: str) -> None:
    problems = said(**form)[1]
    assert list(problems) == [wrong]
    assert all(sentence.startswith(("Please", "What")) for sentence in problems.values())


def test_a_field_sent_twice_is_no_answer() -> None:
    for field, beside in (("rude", "rude"), ("human-reason", "human-reason"), ("mark-turn-1", "mark")):
        form = RIGHT | {field: [*RIGHT[field], *RIGHT[field]]}
        assert list(check_answers(QUESTIONS, TALK, form)[1]) == [beside]


def test_all_that_is_wrong_is_said_at_once_beside_its_field() -> None:
    problems = said(human="", human_reason="no", forced="", rude="maybe", more="ab")[1]
    assert list(problems) == ["human", "human-reason", "forced", "rude", "more"]
    assert problems["human"] == "Please choose one of the answers."
    assert problems["human-reason"] == "Please write at least 5 characters."
    # nothing at all, a choice twice, and a reason twice beside a wrong choice
    assert {"human", "human-reason"} <= check_answers(QUESTIONS, TALK, {})[1].keys()
    twice = {"human": ["left", "right"], "human-reason": ["so it is", "so it was"]}
    assert list(check_answers(QUESTIONS, TALK, RIGHT | twice)[1]) == ["human", "human-reason"]


def test_what_may_be_left_out_is_null() -> None:
    assert said(rate="")[0]["rate"] == Answer(None)
    assert said(more=" \n ")[0]["more"] == Answer(None)
    assert said(mark_turn_1="")[0]["mark"] == Answer(None, marks={})
    optional = Choice.model_validate(
        {"id": "q", "text": "?", "required": False, "reason": {}, "options": [{"id": "x", "label": "X"},
        {"id": "y", "label": "Y"}]}
    )  # fmt: skip
    assert check_answers([optional], None, {}) == ({"q": Answer(None)}, {})
    # who does not choose need not say why
    assert check_answers([optional], None, {"q": ["x"]})[1]


def test_lengths_are_counted_as_people_see_them() -> None:
    assert said(human_reason="a\r\n\r\n\r\nb cd")[0]["human"].reason == "a\n\n\nb cd"
    assert said(human_reason="हिन्दी में")[0]["human"].reason == "हिन्दी में"
    assert said(human_reason="👩‍👩‍👧 ok!!")[0]["human"].reason == "👩‍👩‍👧 ok!!"
    assert "human-reason" in said(human_reason="a\n\n\n\nb")[1]


def test_a_turn_may_get_several_marks_where_the_study_says_so() -> None:
    options = [{"id": name, "label": name} for name in ("rude", "false", "dull")]
    several = Marks.model_validate({"id": "mark", "text": "Mark.", "options": options, "several": True})
    text = Item(id="t", text="hey")
    given = {"mark-turn-0": ["dull", "rude"]}
    assert check_answers([several], text, given)[0]["mark"].marks == {0: ("rude", "dull")}
    assert check_answers([several], text, {})[0]["mark"].marks == {}
    assert check_answers([several], text, {"mark-turn-0": ["rude", "rude"]})[1]
    assert check_answers([several], text, {"mark-turn-0": ["rude", "other"]})[1]
    one = several.model_copy(update={"several": False})
    assert check_answers([one], text, given)[1] == {"mark": "This was answered twice. Please answer it once."}


def test_a_text_is_a_conversation_of_one_turn_and_a_pair_has_none() -> None:
    marks = [question for question in QUESTIONS if isinstance(question, Marks)]
    text = Item(id="t", text="hey")
    assert check_answers(marks, text, {"mark-turn-0": ["bad"]})[0]["mark"].marks == {0: "bad"}
    assert list(check_answers(marks, text, {"mark-turn-1": ["bad"]})[1]) == [""]
    required = [marks[0].model_copy(update={"required": True})]
    assert list(check_answers(required, text, {})[1]) == ["mark"]


NAMES = (
    st.sampled_from(
        [*RIGHT, "mark-turn-0", "mark-turn-99999999999999999999", "human-turn-1", "", "\ud800", "id\x00"]
    )
    | st.text()
)
VALUES = st.sampled_from(["left", "right", "tie", "yes", "-3", "3", "odd", "", "\ud800", "\x00",
"x" * 1_000_000]) | st.text(
    st.characters(), max_size=40
)  # fmt: skip


@given(
    st.dictionaries(NAMES, st.lists(VALUES, max_size=3) | VALUES, max_size=12),
    st.sampled_from(["a", "b"]),
    st.sampled_from([TALK, None, Item(id="t", text="")]),
)
@settings(deadline=None, max_examples=400)
def test_nothing_that_is_sent_raises_or_gets_through(
    form: Mapping[str, Sequence[str]], left: str, item: Item | None
) -> None:
    answers, problems = check_answers(QUESTIONS, item, form, left)
    wrong = {problem.removesuffix("-reason") for problem in problems}
    assert {question.id for question in QUESTIONS} <= answers.keys() | wrong
    assert not answers.keys() & wrong
    for name, answer in answers.items():
        question = next(question for question in QUESTIONS if question.id == name)
        assert fits(question, answer)
        for text in filter(None, (answer.answer, answer.reason)):
            text.encode()
            assert not any(unicodedata.category(letter) == "Cc" and letter not in "\n\t" for letter in text)


def fits(question: Question, answer: Answer) -> bool:
    match question:
        case PairChoice():
            return answer.answer in ("a", "b", *(["tie"] if question.tie else []))
        case Choice():
            return answer.answer in ("yes", "no")
        case Likert():
            return answer.answer is None or answer.answer in map(str, range(-3, 4))
        case Marks():
            return answer.marks is not None and set(answer.marks.values()) <= {"odd", "bad"}
        case FreeText():
            return answer.answer is None or 3 <= len(answer.answer) <= 20


@given(
    st.sampled_from(["a", "b"]),
    st.sampled_from(["left", "right", "tie"]),
    st.integers(-3, 3),
    st.text(st.characters(categories=["L", "N"]), min_size=5, max_size=20),
)
@settings(deadline=None)
def test_every_proper_form_is_taken(left: str, side: str, rating: int, reason: str) -> None:
    form = RIGHT | {"human": [side], "rate": [str(rating)], "human-reason": [reason]}
    answers, problems = check_answers(QUESTIONS, TALK, form, left)
    assert not problems
    assert answers["human"].reason == reason
    assert answers["rate"].answer == str(rating)


def test_a_flood_of_fields_is_refused_at_once() -> None:
    assert list(check_answers(QUESTIONS, TALK, {f"f{n}": ["x"] for n in range(100_000)})[1]) == [""]
