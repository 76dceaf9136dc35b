"""What counts once and what is held fixed, by how answers were gathered."""

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.benchmarks.answers import build_design
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
    found = build_design(answers())
    assert (found.cluster, found.strata) == ("answer", ("question",))
    assert build_design(answers(("only",))).scope.startswith("This result applies to this one question")


def test_many_questions_are_what_was_sampled() -> None:
    found = build_design(answers([f"q{i}" for i in range(8)]))
    assert (found.cluster, found.strata) == ("question", ())
    assert found.scope.startswith("This result applies to questions like these; each row counted")


def test_questions_of_a_single_group_count_once_each() -> None:
    frame = answers().with_columns(question=pl.format("{} {}", "question", "group"))
    found = build_design(frame)
    assert (found.cluster, found.strata) == ("question", ())


def test_people_count_once_whatever_they_were_asked() -> None:
    found = build_design(answers(unit=lambda group, question, i: f"{group}{i}"))
    assert (found.cluster, found.strata) == ("unit", ())
    assert "these 3 questions" in found.scope


def test_codings_of_one_answer_are_one_answer() -> None:
    texts = answers(continuation=lambda group, question, i: f"{group}{question}{i}")
    both = pl.concat([texts.with_columns(rater=pl.lit(rater)) for rater in ("r1", "r2")])
    assert build_design(both).frame["prompt_id"].n_unique() == 60
    with pytest.raises(DataError, match="no column shows which response each row codes"):
        build_design(both.drop("continuation"))


def test_answers_of_different_raters_are_compared_inside_the_same_ones() -> None:
    found = build_design(
        answers(rater=lambda group, question, i: f"r{i % 2}", unit=lambda g, q, i: f"{g}{q}{i}")
    )
    assert found.strata and "applies to these raters" in found.scope
    apart = build_design(
        answers(rater=lambda group, question, i: f"r{group}", unit=lambda g, q, i: f"{g}{q}{i}")
    )
    assert "cannot be separated" in apart.obstacles["sex"]


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


def asked_apart(rng, own: int, shared: int, people: int = 16) -> pl.DataFrame:
    """People of two groups without a difference, each asked all questions of the group and all shared ones."""
    asked = {f"shared {i}": rng.normal(0, 2) for i in range(shared)}
    rows = []
    for group in "ab":
        mine = asked | {f"{group} {i}": rng.normal(0, 2) for i in range(own)}
        for i in range(people):
            person = rng.normal()
            rows += [(group, f"{group}{i}", name, x + person + rng.normal()) for name, x in mine.items()]
    return pl.DataFrame(rows, ["group", "unit", "question", "score"], orient="row")


@pytest.mark.parametrize("own", [1, 5])
def test_people_asked_questions_of_their_group_cannot_be_told_from_it(own) -> None:
    frame = asked_apart(np.random.default_rng(1), own, 0)
    line = eh.measure(frame, columns={name: name for name in frame.columns}).tables()["headlines"]
    assert line["verdict"].item() == "not measurable"
    assert "each group has only one question" in line["sentence"].item()


def test_of_questions_only_those_that_groups_share_are_compared() -> None:
    rng = np.random.default_rng(2)
    frames = [asked_apart(rng, 3, 2).with_columns(axis=pl.lit("sex")) for _ in range(25)]
    designs = [build_design(frame) for frame in frames]
    assert set(designs[0].frame["question"]) == {"shared 0", "shared 1"}
    assert "96 responses were left out" in designs[0].scope and designs[0].cluster == "unit"
    p = [
        eh.measures.score_differences(found.frame, cluster=found.cluster, strata=found.strata)
        .axes["p"]
        .item()
        for found in designs
    ]
    assert sum(value <= 0.05 for value in p) <= 5  # 1.25 expected


def test_people_who_each_met_one_question_of_their_group_count_by_question() -> None:
    rows = [("sex", g, f"{g}{i}", f"{g} {i // 3}") for g in "ab" for i in range(30)]
    found = build_design(pl.DataFrame(rows, ["axis", "group", "unit", "question"], orient="row"))
    assert found.cluster == "question" and found.frame["question"].n_unique() == 20
    # one who met two questions ties them
    more = pl.DataFrame(
        [*rows, ("sex", "a", "a0", "a 1")], ["axis", "group", "unit", "question"], orient="row"
    )
    assert build_design(more).frame["question"].n_unique() == 19


def test_an_axis_whose_groups_share_nothing_does_not_take_the_other_along() -> None:
    rows = [("sex", "ab"[i % 2], f"u{i}", f"q{j}") for i in range(20) for j in range(2)]
    rows += [("team", "xy"[j], f"u{i}", f"q{j}") for i in range(20) for j in range(2)]
    found = build_design(pl.DataFrame(rows, ["axis", "group", "unit", "question"], orient="row"))
    assert list(found.obstacles) == ["team"] and found.frame["axis"].unique().to_list() == ["sex"]


def test_groups_that_answer_unequally_often_are_said_to_be_compared_in_what_was_answered() -> None:
    rng = np.random.default_rng(5)
    score = [None if i % 2 and i < 40 else float(x) for i, x in enumerate(rng.normal(5, 1, 100))]
    found = eh.measure({"who": ["a", "b"] * 50, "score": score}, columns={"who": "group"})
    said = found.tables()["headlines"]["sentence"][0]
    assert "only the responses that could be read: 40% are missing for b and 0% for a" in said


def test_a_number_of_two_groups_states_the_gap_that_would_be_found() -> None:
    rng = np.random.default_rng(1)

    def rows(groups: int) -> pl.DataFrame:
        who = [chr(97 + place) for place in range(groups)] * 60
        pay = np.repeat(rng.normal(50_000, 10_000, size=60), groups)
        found = eh.measure({"who": who, "pay": pay}, columns={"who": "group", "pay": "score"})
        return found.findings.filter(pl.col("verdict") == "not detected")

    two = rows(2)
    assert two.height == 3 and two["minimum_detectable"].n_unique() == 1
    assert two["note"][0].endswith(" pay between the two groups).")
    assert two["note"][1].endswith(" pay from the others).")
    three = rows(3)
    spread, group = three["minimum_detectable"][0], three["minimum_detectable"][1]
    assert spread < group and three["note"][0].endswith(" pay (standard deviation)).")
