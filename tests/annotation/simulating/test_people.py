"""A simulated person before the steps of the application."""

from collections import Counter
from datetime import UTC, datetime

import numpy as np
import pytest

from evenhand.annotation.definition import (
    SDO7,
    Choice,
    Conversation,
    FreeText,
    Item,
    Likert,
    Marks,
    Option,
    PairChoice,
    Question,
    Reason,
    Scale,
    Turn,
    check_answers,
)
from evenhand.annotation.simulating import Population, SimulatedPerson, marginal_rate
from evenhand.annotation.store import AskSurvey, ShowItem

CHOICE = Choice(id="rude", text="Rude?", options=(Option(id="yes", label="Yes"), Option(id="no", label="No")))
PAIR = PairChoice(id="better", text="Which?", reason=Reason(minimum=60))


def talk(name: str, model: str) -> Conversation:
    turns = (
        Turn(speaker="A", text="Hi!"),
        Turn(speaker="B", text=f"Hello from {name}."),
        Turn(speaker="A", text="Oh."),
    )
    return Conversation(id=name, turns=turns, speaker="A", model=model)


def pair(number: int) -> Item:
    return Item(id=f"pair-{number}", pair=(talk(f"new-{number}", "new"), talk(f"old-{number}", "old")))


def shown(item: Item, *questions: str, left: str = "a", position: int = 0) -> ShowItem:
    side = "a" if left == "a" else "b"
    until = datetime(2026, 1, 1, tzinfo=UTC)
    return ShowItem(f"shown-{item.id}", item, side, questions, position, 5, False, until)


def said(
    population: Population, item: Item, question: Question, people: int, left: str = "a"
) -> list[str | None]:
    return [
        SimulatedPerson(population, n)
        .answers(shown(item, question.id, left=left), [question])[question.id]
        .answer
        for n in range(people)
    ]


def test_choices_come_to_the_planted_preference() -> None:
    population = Population(strengths={"new": 0.8}, person_sd=0.6, item_sd=0.8, side=0.5, seed=1)
    counts = Counter(
        SimulatedPerson(population, n)
        .answers(shown(pair(n), "better", left="ab"[n % 2]), [PAIR])["better"]
        .answer
        for n in range(3000)
    )
    assert counts["a"] / 3000 == pytest.approx(marginal_rate(0.8, 1.0, side=0.5), abs=0.025)


def test_the_left_is_chosen_where_that_is_planted() -> None:
    population = Population(side=3.0)
    assert said(population, pair(1), PAIR, 200).count("a") > 180
    assert said(population, pair(1), PAIR, 200, left="b").count("b") > 180


def test_opinions_of_texts_have_their_shares() -> None:
    def opinion(item: Item, question: Choice | Likert) -> list[float]:
        return [0.3, 0.7] if item.groups["group"] == "women" else [0.1, 0.9]

    population = Population(opinion=opinion, person_sd=0.5, item_sd=1.5, seed=2)
    for group, share in (("women", 0.3), ("men", 0.1)):
        answers = [
            SimulatedPerson(population, n)
            .answers(shown(Item(id=f"{group}-{n}", text="x", groups={"group": group}), "rude"), [CHOICE])[
                "rude"
            ]
            .answer
            for n in range(2000)
        ]
        assert answers.count("yes") / 2000 == pytest.approx(share, abs=0.03)


def test_what_is_expected_is_answered_but_by_spammers() -> None:
    item = Item(id="gold", text="You idiot!", expected={"rude": "yes"})
    assert said(Population(attention=1.0), item, CHOICE, 100) == ["yes"] * 100
    answers = said(Population(attention=1.0, spammers=0.5), item, CHOICE, 1000)
    assert answers.count("no") == pytest.approx(250, abs=45)
    assert sum(SimulatedPerson(Population(spammers=0.13), n).spams for n in range(500)) == 65


def test_every_answer_is_one_that_a_form_would_take() -> None:
    questions: list[Question] = [
        PAIR.model_copy(update={"tie": "Neither"}),
        CHOICE,
        Likert(id="nice", text="How nice?", labels=("Not nice", "Very nice")),
        FreeText(id="words", text="Say more", minimum=80, maximum=90),
    ]
    population = Population(ties=0.5, seed=3)
    for number in range(40):
        item = pair(number)
        person = SimulatedPerson(population, number)
        answers = person.answers(shown(item, *(question.id for question in questions)), questions)
        form = {name: [answer.answer or ""] for name, answer in answers.items()}
        form["better"] = [
            "tie" if form["better"] == ["tie"] else {"a": "left", "b": "right"}[form["better"][0]]
        ]
        form["better-reason"] = [answers["better"].reason or ""]
        taken, problems = check_answers(questions, item, form)
        assert not problems
        assert {name: answer.answer for name, answer in taken.items()} == {
            name: answer.answer for name, answer in answers.items()
        }


def test_turns_of_the_judged_speaker_are_marked() -> None:
    marks = Marks(id="odd", text="Which are odd?", options=(Option(id="odd", label="Odd"),))
    item = Item(id="one", conversation=talk("one", "m"))
    answers = [
        SimulatedPerson(Population(marks=0.5), n).answers(shown(item, "odd"), [marks])["odd"]
        for n in range(200)
    ]
    counts = Counter(turn for answer in answers for turn in (answer.marks or {}))
    assert set(counts) == {0, 2}
    assert counts[0] == pytest.approx(100, abs=25)


def test_ratings_of_statements_follow_the_attitude() -> None:
    scale = Scale(id="equality", use="sdo7")
    asked = AskSurvey("token", scale, SDO7)
    scores, attitudes = [], []
    for number in range(300):
        person = SimulatedPerson(Population(skips=0.0), number)
        ratings = {name: float(answer.answer or 0) for name, answer in person.survey(asked).items()}
        assert all(1 <= rating <= 7 for rating in ratings.values())
        scores.append(sum((ratings[one.id] - 4) * (-1 if one.reversed else 1) for one in SDO7) / 16)
        attitudes.append(person.attitude)
    assert np.corrcoef(scores, attitudes)[0, 1] > 0.9


def test_a_person_is_the_same_whenever_asked() -> None:
    first, again = (SimulatedPerson(Population(seed=4), 7) for _ in range(2))
    step = shown(pair(3), "better")
    assert first.answers(step, [PAIR]) == again.answers(step, [PAIR])
    assert first.seconds(2) == again.seconds(2) != first.seconds(3)
