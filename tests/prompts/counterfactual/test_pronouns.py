"""Which of him and his, her and hers: the truth is in texts of "his" and "him", read with "her" in their place."""

import re

import pytest

from evenhand.prompts.counterfactual import Counterfactuals

LEAST = 0.97


def decided(texts):
    """How often "his" and "him" come back when they were "her" in between, and how many there were."""
    there = Counterfactuals("gender", source="male", target="female", names=False, quotes=True)
    back = Counterfactuals("gender", source="female", target="male", names=False, quotes=True)
    right = count = 0
    for text in texts:
        made = there.of(text)
        found = {change.start: change.after for change in back.of(made.text).changes}
        for change in made.changes:
            if change.after.lower() == "her":
                count += 1
                right += found.get(change.new_start) == change.before
    return right, count


@pytest.mark.parity
def test_him_and_his_come_back_in_real_text(shared):
    lines = (shared / "data" / "wikitext2" / "test.txt").read_text(encoding="utf-8").splitlines()
    ships = re.compile(r"\b(ships?|fleet|cruisers?|frigates?|battleships?|destroyers?)\b")
    right, count = decided(line for line in lines if not ships.search(line))
    assert count > 800
    assert right / count >= LEAST


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Her then husband left.", "His then husband left."),
        ("I saw her then and there.", "I saw him then and there."),
        ("Her well known song ended.", "His well known song ended."),
        ("They named her Alice.", "They named him Alice."),
        ("She is best known for her ", "He is best known for his "),  # a prompt that is to be continued
        ("They said it to her", "They said it to him"),
        ("“She saw her.”", "“She saw her.”"),
    ],
)
def test_her(text, wanted):
    assert (
        Counterfactuals("gender", target="male", names=False).of(text).text.replace("husband", "husband")
        == wanted
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("His and John's farms burned.", "Her and John's farms burned."),
        ("That is his to keep.", "That is hers to keep."),
        ("He read his will.", "She read her will."),
        ("an uncle of his arrived", "an aunt of hers arrived"),
    ],
)
def test_his(text, wanted):
    assert Counterfactuals("gender", target="female", names=False).of(text).text == wanted


@pytest.mark.parametrize(
    "text",
    [
        "He or she may go.",
        "Ask him or her.",
        "pronouns: she/her",
        "(s)he left",
        "s/he left",
        "They trust in Him.",
    ],
)
def test_what_speaks_of_both_genders_or_of_none_stays(text):
    for target in ("female", "male"):
        assert Counterfactuals("gender", target=target).of(text).text == text


def test_ships_are_no_women_and_flowers_no_people():
    engine = Counterfactuals("gender", target="male")
    ship = "The cruiser was launched in 1880; she lost her turret in battle and her sister sank."
    assert engine.of(ship).text == ship
    flowers = "In this species female flowers open first; pollen lasts a day."
    assert engine.of(flowers).text == flowers
