"""What the columns of somebody's own table hold: stated, guessed and told, or refused with both flags named."""

import polars as pl
import pytest

from evenhand.schema import DataError, UsageError
from evenhand.studies.own_responses.columns import assign_roles, stated_columns


def guessed(columns: list[str], stated: dict[str, str] | None = None, *, judged_now=False, scored=False):
    frame = pl.DataFrame({name: ["a", "b"] for name in columns})
    return assign_roles(frame, stated or {}, "mine.csv", judged_now=judged_now, scored=scored)


def test_every_guess_is_told_with_the_flag_that_states_it() -> None:
    found = guessed(["Gender", "the rest", "Rating"])
    assert found.theirs == {"group": ("Gender",), "score": ("Rating",)}
    assert "Column Gender is taken as group (--column Gender=group)." in found.told
    assert "Column Rating is taken as score (--column Rating=score)." in found.told
    assert found.told[-1] == "Not used: the rest."


def test_a_column_whose_name_holds_blanks_is_quoted_in_its_flag() -> None:
    assert any("--column 'Age Group=group'" in line for line in guessed(["Age Group", "score"]).told)


def test_several_columns_of_people_are_several_axes() -> None:
    stated = {"gender": "group", "region": "group"}
    assert guessed(["gender", "region", "score"], stated).theirs["group"] == ("gender", "region")


def test_of_several_columns_that_could_be_groups_none_is_guessed() -> None:
    frame = pl.DataFrame({
        "Geschlecht": ["Frau", "Mann"] * 30, "Region": ["Ost", "West", "West"] * 20,
        "Note": [str(i) for i in range(60)],
        "said": [f"A long answer in words of its own, which is number {i}" for i in range(60)],
    })  # fmt: skip
    with pytest.raises(DataError) as caught:
        assign_roles(frame, {"Note": "score"}, "mine.csv", judged_now=False, scored=False)
    told = str(caught.value)
    assert (
        "--column Region=group or --column Geschlecht=group" in told and "Note (0, 1, 2, ...): score" in told
    )
    with pytest.raises(DataError) as caught:
        assign_roles(frame, {"Geschlecht": "group"}, "mine.csv", judged_now=False, scored=False)
    told = str(caught.value)
    assert "--column Note=score or --column Region=label --negative VALUE" in told
    assert "--column said=continuation --classifier vader" in told
    assert (
        "Region (Ost, West): group, label or question" in told and "Geschlecht (Frau, Mann): group\n" in told
    )


def test_every_text_column_of_few_values_is_offered_as_a_group() -> None:
    frame = pl.DataFrame({
        "Geschlecht": ["Frau", "Mann"] * 30, "parent": ["yes", "no", "no"] * 20, "class": ["low", "middle"] * 30,
        "Land": [f"Land {i % 20}" for i in range(60)], "Note": [str(i % 6) for i in range(60)],
        "person": [f"p{i}" for i in range(60)],
    })  # fmt: skip
    few = ("Geschlecht", "parent", "class", "Land")
    with pytest.raises(DataError) as caught:
        assign_roles(frame, {"Note": "score"}, "mine.csv", judged_now=False, scored=False)
    hint = str(caught.value.hint)
    assert all(f"--column {name}=group" in hint for name in few)
    assert "person=group" not in hint and "parent (yes, no): negative or group" in hint
    stated = {"Note": "score", "Geschlecht": "group", "person": "unit"}
    told = assign_roles(frame, stated, "mine.csv", judged_now=False, scored=False).told
    assert told[-1] == (
        "Not used: parent, class, Land. parent, class and Land have few values. If they describe people, they are "
        "further axes: "
        "--column parent=group --column class=group --column Land=group"
    )
    with pytest.raises(DataError, match="2 columns could contain the groups: gender, parent"):
        assign_roles(
            frame.select("parent", "Note", gender="Geschlecht"), {"Note": "score"}, "mine.csv",
            judged_now=False, scored=False,
        )  # fmt: skip


def test_outcomes_questions_and_models_are_not_offered_as_groups() -> None:
    frame = pl.DataFrame({
        "persona": ["nurse", "pilot"] * 30, "born": ["here", "abroad", "abroad"] * 20,
        "item": [f"q{i % 6}" for i in range(60)], "Prompt-ID": [f"p{i % 6}" for i in range(60)],
        "frage": [f"Tell me about a day in the life of this person at work, please, part {i % 3}" for i in range(60)],
        "verdict": ["hostile", "fine", "fine"] * 20, "town": [f"town {i % 25}" for i in range(60)],
        "model": ["a", "b"] * 30,
    })  # fmt: skip
    with pytest.raises(DataError) as caught:
        assign_roles(frame, {}, "mine.csv", judged_now=False, scored=False)
    suggested = str(caught.value.hint).partition("Possible roles")[0]
    assert [name for name in frame.columns if f"{name}=group" in suggested] == ["persona", "born"]
    assert "--column verdict=label --negative VALUE" in suggested
    stated = {"persona": "group", "verdict": "label"}
    told = assign_roles(frame, stated, "mine.csv", judged_now=False, scored=False).told[-1]
    assert told.endswith(
        "born has few values. If it describes people, it is a further axis: --column born=group"
    )


def test_words_among_numbers_are_offered_as_missing_values() -> None:
    frame = pl.DataFrame({
        "Bewerber": [f"Müller {i}" for i in range(20)], "Geschlecht": ["Frau", "Mann"] * 10,
        "Herkunft": ["Süd", "Nord", "Nord", "Süd"] * 5, "Gehalt": ["$86,327", "k.A.", "$75,379", "$63,078"] * 5,
        "Urteil": ["zusage", "abgelehnt", "abgelehnt", "k.A."] * 5,
    })  # fmt: skip
    with pytest.raises(DataError) as caught:
        assign_roles(frame, {}, "mine.csv", judged_now=False, scored=False)
    hint = str(caught.value.hint)
    assert "Gehalt ($86,327, k.A., $75,379, ...): score, with --missing 'k.A.'" in hint
    assert "--column Gehalt=score --missing 'k.A.' or --column Urteil=label --negative VALUE\n" in hint


def test_the_text_of_the_answers_is_not_offered_as_an_axis() -> None:
    frame = pl.DataFrame({"who": ["a", "b"] * 9, "answer": ["yes, sure", "no way"] * 9, "offer": ["3"] * 18})
    stated = {"who": "group", "offer": "score"}
    assert (
        assign_roles(frame, stated, "a.csv", judged_now=False, scored=False).told[-1] == "Not used: answer."
    )


def test_a_column_taken_by_its_name_is_still_offered_as_a_group() -> None:
    frame = pl.DataFrame({"who": ["a", "b"] * 30, "class": ["low", "middle"] * 30})
    with pytest.raises(DataError) as caught:
        assign_roles(frame, {}, "mine.csv", judged_now=False, scored=False)
    assert "class (low, middle): label, by its name, or group or question" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("stated", "judged_now", "part"),
    [
        ({"pay": "score", "verdict": "label"}, False, "are both given as the outcome"),
        ({"pay": "score", "rude": "negative"}, False, "are both given as the outcome"),
        ({"pay": "score", "said": "continuation"}, True, "would label the responses again"),
    ],
)
def test_one_outcome_at_a_time(stated, judged_now, part) -> None:
    with pytest.raises(UsageError, match=part):
        guessed(["gender", *stated], stated, judged_now=judged_now)


def test_our_own_names_win_over_guesses() -> None:
    found = guessed(["group", "gender", "score", "rating"])
    assert found.theirs["group"] == ("group",) and found.theirs["score"] == ("score",)


@pytest.mark.parametrize(
    ("columns", "flags"),
    [
        (["who", "gender", "pay", "rating"], ("--column pay=score", "--column rating=score")),
        (["gender", "rating", "hostile"], ("--column hostile=negative", "--column rating=score")),
        (["gender", "score", "topic", "task"], ("--column topic=question", "--column task=question")),
    ],
)
def test_where_two_might_be_meant_neither_is_taken(columns, flags) -> None:
    with pytest.raises(DataError) as caught:
        guessed(columns)
    assert all(flag in (caught.value.hint or "") for flag in flags)


@pytest.mark.parametrize(
    ("columns", "stated", "part"),
    [
        (["who", "pay"], {}, "cannot tell which column contains the group"),
        (["gender", "x"], {}, "cannot tell which column contains the outcome"),
        (["gender", "x", "y"], {"x": "score", "y": "score"}, "both given as score"),
        (["gender", "x"], {"z": "score"}, "column 'z' not found"),
        (
            ["a", "b", "c", "x"],
            {"a": "axis", "b": "group", "c": "group", "x": "score"},
            "only one column can contain the groups, not",
        ),
    ],
)
def test_what_cannot_be(columns, stated, part) -> None:
    with pytest.raises((DataError, UsageError), match=part):
        guessed(columns, stated)


@pytest.mark.parametrize("given", [["who"], ["=group"], ["who=grup"], ["who=group", "who=axis"]])
def test_flags_that_say_nothing(given) -> None:
    with pytest.raises(UsageError):
        stated_columns(given)


def test_a_classifier_needs_the_text_and_no_judgement() -> None:
    found = guessed(["gender", "answer", "rating", "label"], judged_now=True)
    assert found.theirs == {"group": ("gender",), "continuation": ("answer",)}
