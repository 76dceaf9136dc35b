"""What counts once and what is held fixed, by how answers were gathered."""

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.benchmarks.answers import designed
from evenhand.schema import DataError


def answers(questions=("q1", "q2", "q3"), people=10, **more) -> pl.DataFrame:
    rows = [
        {"axis": "sex", "group": group, "question": question}
        | {name: make(group, question, i) for name, make in more.items()}
        for group in ("a", "b")
        for question in questions
        for i in range(people)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def test_few_questions_that_all_met_are_held_fixed() -> None:
    found = designed(answers())
    assert (found.cluster, found.strata) == ("answer", ("question",))
    assert designed(answers(("only",))).scope.startswith("It speaks of this one question")


def test_many_questions_are_what_was_sampled() -> None:
    found = designed(answers([f"q{i}" for i in range(8)]))
    assert (found.cluster, found.strata, found.scope) == ("question", (), "It speaks of questions like these")


def test_questions_of_a_single_group_count_once_each() -> None:
    frame = answers().with_columns(question=pl.format("{} {}", "question", "group"))
    found = designed(frame)
    assert (found.cluster, found.strata) == ("question", ())


def test_people_count_once_whatever_they_were_asked() -> None:
    found = designed(answers(unit=lambda group, question, i: f"{group}{i}"))
    assert (found.cluster, found.strata) == ("unit", ())
    assert "these 3 questions" in found.scope


def test_codings_of_one_answer_are_one_answer() -> None:
    texts = answers(continuation=lambda group, question, i: f"{group}{question}{i}")
    both = pl.concat([texts.with_columns(rater=pl.lit(rater)) for rater in ("r1", "r2")])
    assert designed(both).frame["prompt_id"].n_unique() == 60
    with pytest.raises(DataError, match="nothing says which rows are codings of the same answer"):
        designed(both.drop("continuation"))


def test_answers_of_different_raters_are_compared_inside_the_same_ones() -> None:
    found = designed(answers(rater=lambda group, question, i: f"r{i % 2}", unit=lambda g, q, i: f"{g}{q}{i}"))
    assert found.strata and "as these raters judge" in found.scope
    apart = designed(answers(rater=lambda group, question, i: f"r{group}", unit=lambda g, q, i: f"{g}{q}{i}"))
    assert "cannot be told apart" in apart.obstacles["sex"]


def verdict(table: dict[str, list]) -> str:
    found = eh.measure(table, columns={"who": "group"})
    return found.tables()["headlines"]["verdict"].item()


def test_one_question_a_group_cannot_be_told_from_the_group() -> None:
    rng = np.random.default_rng(0)
    score = np.r_[rng.normal(size=40), rng.normal(3, 1, size=40)]
    who = ["a"] * 40 + ["b"] * 40
    assert verdict({"who": who, "question": who, "score": score}) == "not measurable"
    assert verdict({"who": who, "question": ["only"] * 80, "score": score}) == "biased"
    assert verdict({"who": ["a", "b"], "score": [1.0, 2.0]}) == "not measurable"


def test_ten_people_are_not_a_hundred() -> None:
    # each of five people a group says the same twenty times
    rng = np.random.default_rng(3)
    own = np.repeat(rng.normal(size=10), 20)
    table = {"who": ["a"] * 100 + ["b"] * 100, "score": own + rng.normal(0, 0.1, size=200)}
    person = [f"p{i}" for i in np.repeat(np.arange(10), 20)]
    alone, tied = (
        eh.measure(part, columns={"who": "group"}).findings for part in (table, table | {"person": person})
    )
    wide, narrow = (f.filter(pl.col("group").is_null())["minimum_detectable"].item() for f in (tied, alone))
    assert wide > 3 * narrow
