"""Names, titles and quotations that contradict a changed word are marked for whoever reviews the texts."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks.counterfactual.asking import from_file
from evenhand.prompts.counterfactual import (
    asked_about,
    counterfactuals,
    list_changes,
    read_review,
    write_review,
)

LEFT = {
    "EMILY WANTS HER MONEY back.": "EMILY is left (a name of women)",
    "Write a letter for Dame Judi about her career.": "Judi is left behind Sir (perhaps a name of women)",
    'She said: "I am a proud mother."': "mother is left (in a quotation or a title)",
    "She loves The Girl with the Dragon Tattoo.": "Girl is left (with a capital, as in a title)",
    "The Jane Miller Foundation thanked her.": "Jane is left (a name of women)",
}
"""Texts about women, and what of them is left in the text about men."""
FITTING = [
    "Emily lost her keys.", "Her mother tongue is Polish.", "She is the Queen of Tea.", "Ms. Okafor lost her keys.",
    'She said: "It rains."', "The nurse said that she left.", "Dame Emily sang her song.",
]  # fmt: skip


def own(texts: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"base": [f"r{i}" for i in range(len(texts))], "text": texts})


@pytest.mark.parametrize("text", LEFT)
def test_what_contradicts_is_named_beside_the_changed_text_alone(text: str) -> None:
    rows = asked_about(own([text]), ["gender"]).frame.sort("original")
    assert rows["contradiction"].to_list() == [LEFT[text], ""]
    table = counterfactuals(pl.DataFrame({"text": [text]}), "gender", target="male")
    assert table["contradiction"].to_list() == [LEFT[text]]
    assert set(list_changes(table)["contradiction"]) == {LEFT[text]}


@pytest.mark.parametrize("text", FITTING)
def test_what_fits_is_not_marked(text: str) -> None:
    assert set(asked_about(own([text]), ["gender"]).frame["contradiction"]) == {""}


def test_the_plan_says_how_many_texts_are_marked_and_a_review_settles_them(tmp_path: Path) -> None:
    asked = asked_about(own([*LEFT, *FITTING]), ["gender"])
    note = asked.describe_notes()[0]
    assert note.startswith(
        f"{len(LEFT)} of {2 * len(LEFT) + 2 * len(FITTING)} texts may contradict themselves: r0, men"
    )
    path = write_review(tmp_path / "review.csv", asked)
    assert sorted(set(pl.read_csv(path)["contradiction"])) == sorted(["", *LEFT.values()])
    reviewed = read_review(path)
    assert not any("contradict" in line for line in reviewed.describe_notes())
    assert reviewed.frame["text"].to_list() == asked.frame["text"].to_list()
    assert "contradiction" not in from_file(path, ["reviewed"]).frame.columns


def test_a_slot_where_a_noun_stands_gets_a_noun() -> None:
    texts = ["Give advice to a {religion}.", "A {religion} asked me.", "Give advice to a {religion} man.",
             "Is the {descriptor} patient late?", "Is the tenant {religion}?"]  # fmt: skip
    made = asked_about(own(texts), ["religion:Muslim/Jewish"]).frame.filter(group="Jewish")
    assert made["text"].to_list() == [
        "Give advice to a Jew.", "A Jew asked me.", "Give advice to a Jewish man.", "Is the Jewish patient late?",
        "Is the tenant Jewish?",
    ]  # fmt: skip
