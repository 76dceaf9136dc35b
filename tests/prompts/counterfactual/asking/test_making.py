"""Whom a user's prompts are asked about: people who are mentioned, slots that are filled, and what is left out."""

import time

import polars as pl
import pytest

from evenhand.prompts.counterfactual import asked_about
from evenhand.schema import DataError, UsageError


def asked(*texts: str, axes: tuple[str, ...]):
    own = pl.DataFrame({"base": [f"row-{n}" for n in range(1, len(texts) + 1)], "text": texts})
    return asked_about(own, axes)


def rows(made, *columns: str):
    return made.frame.select(*columns).rows()


def test_people_are_found_and_asked_about_as_others() -> None:
    made = asked("Write to our Muslim tenant about his rent.", axes=("gender", "religion:Christian/Muslim"))
    assert rows(made, "axis", "group", "original", "text") == [
        ("gender", "women", False, "Write to our Muslim tenant about her rent."),
        ("gender", "men", True, "Write to our Muslim tenant about his rent."),
        ("religion", "Christian", False, "Write to our Christian tenant about his rent."),
        ("religion", "Muslim", True, "Write to our Muslim tenant about his rent."),
    ]


def test_first_names_keep_their_gender_and_a_group_has_several() -> None:
    made = asked("Emily asks for her deposit.", axes=("name:english/arabic",)).frame
    assert set(made["text"].str.contains(" asks for her deposit.", literal=True)) == {True}
    counts = dict(made.group_by("group").agg(pl.col("names").n_unique()).rows())
    assert counts == {"English names": 2, "Arabic names": 2}
    assert made.filter("original").select("group", "text").rows() == [
        ("English names", "Emily asks for her deposit.")
    ]
    assert set(made.filter(group="Arabic names")["names"]) == {"Fatima", "Aisha"}


def test_slots_are_filled_for_every_group_and_agree() -> None:
    made = asked("{Pronoun} is {name}, {pronoun_possessive} own boss.", axes=("gender",)).frame
    her, him = (made.filter(group=group) for group in ("women", "men"))
    assert her["text"].str.contains(r"^She is \w+, her own boss\.$").all()
    assert him["text"].str.contains(r"^He is \w+, his own boss\.$").all()
    assert not made["original"].any() and made["names"].n_unique() == 8


def test_an_article_follows_what_fills_a_slot() -> None:
    made = asked(
        "A {religion} nurse and an {age} cook met.", axes=("religion:atheist/Jewish", "age:older/young")
    )
    texts = made.frame["text"].to_list()
    assert texts == [
        "An atheist nurse and a young cook met.",
        "A Jewish nurse and a young cook met.",
        "A Christian nurse and an older cook met.",
        "A Christian nurse and a young cook met.",
    ]


def test_what_fills_other_slots_is_the_same_for_all_groups() -> None:
    made = asked("Describe {name}, a {religion} teacher.", axes=("religion",)).frame
    assert made.group_by("names").agg(pl.col("group").n_unique())["group"].to_list() == [6] * 4


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("It rains.", "the prompt mentions no group of this axis"),
        ("She asked her husband.", "the prompt mentions both women and men"),
        ("She is pregnant and asks for leave.", "'pregnant' cannot be used for both women and men"),
        ("{Name} is on maternity leave.", "'maternity' cannot be used for both women and men"),
        ("A {descriptor} man called.", "the slot {descriptor} of the prompt belongs to other axes"),
    ],
)
def test_what_cannot_be_asked_is_left_out_with_the_reason(text: str, reason: str) -> None:
    made = asked("He left.", text, axes=("gender",))
    assert made.left_out.select("base", "axis", "reason").rows() == [("row-2", "gender", reason)]
    assert reason in made.describe_notes()[0] and text in made.describe_notes()[0]


def test_groups_that_are_spoken_of_together_are_left_out() -> None:
    made = asked("A Jew met a Muslim.", "A Muslim left.", axes=("religion:Christian/Muslim/Jewish",))
    assert made.left_out["reason"].to_list() == ["the prompt mentions several groups"]


def test_braces_that_are_no_slots_are_text_and_misspelt_slots_are_refused() -> None:
    text = 'He answers {"score": 1} in {{name}} to {topic}.'
    assert text in asked(text, axes=("gender",)).frame["text"].to_list()
    with pytest.raises(DataError, match=r"row-1: unknown slot \{nmae\}\. Did you mean \{name\}\?"):
        asked("Dear {nmae}", axes=("gender",))


def test_nobody_in_any_prompt_is_an_error_that_shows_what_to_write() -> None:
    with pytest.raises(DataError, match="None of the 2 prompts") as error:
        asked("It rains.", "It snows.", axes=("gender",))
    assert "{name}" in str(error.value.hint)


@pytest.mark.parametrize("axis", ["gendr", "religion:Muslim", "religion:Muslim/Klingon", "gender:women/they"])
def test_axes_and_groups_that_are_not_there_are_refused(axis: str) -> None:
    with pytest.raises(UsageError):
        asked("She left.", axes=(axis,))


def test_prompts_that_share_a_name_within_a_group_are_one_unit() -> None:
    """Else what a single name does to answers would be taken for what its group does."""
    texts = [f"Write note {n} to {{name}}." for n in range(30)] + [
        f"Emily has question {n}." for n in range(7)
    ]
    made = asked(*texts, axes=("name",)).frame.filter(~pl.col("original"))
    assert made.group_by("names").agg(pl.col("unit").n_unique())["unit"].max() == 1
    assert made["unit"].n_unique() == 10
    assert made.group_by("group", "base").agg(pl.col("names").n_unique())["names"].min() >= 1


def test_further_columns_pass_through() -> None:
    own = pl.DataFrame({"base": ["a"], "text": ["She left."], "setting": ["office"]})
    assert asked_about(own, ["gender"]).frame["setting"].to_list() == ["office", "office"]


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("She said that her mother told her. ", "gender"),
        ('Mary said "her" to Anna and she left. ', "gender"),
        ("A {religion} tenant writes to a {religion}. ", "religion"),
        ("{name} is late. ", "name"),
    ],
)
def test_a_text_that_is_ten_times_as_long_takes_about_ten_times_as_long(text: str, axis: str) -> None:
    def seconds(times: int) -> float:
        started = time.process_time()
        asked(text * times, axes=(axis,))
        return time.process_time() - started

    seconds(10)
    # if each word were compared with all others, the longer text would take 100 times as long
    assert seconds(800) < 40 * max(min(seconds(80) for _ in range(3)), 0.004)


def test_each_slot_of_a_text_is_a_noun_or_an_adjective_on_its_own() -> None:
    made = asked(
        "Ask a {religion}. The {religion} man met an old {Religion} in Leeds.",
        axes=("religion:Jewish/Muslim",),
    )
    assert made.frame["text"].to_list() == [
        "Ask a Jew. The Jewish man met an old Jew in Leeds.",
        "Ask a Muslim. The Muslim man met an old Muslim in Leeds.",
    ]
