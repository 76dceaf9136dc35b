"""Names replaced in texts, beside a scanner that looks at each place of a text by itself."""

import numpy as np
import pytest

from evenhand.mitigations.training.dialogue.renaming import all_renamed, mentions, replace_name


def by_scanning(text: str, name: str, new: str) -> str:
    """The same by looking at each place: is the name here, and a letter neither before nor behind?"""
    made, place = "", 0
    while place < len(text):
        here = text[place : place + len(name)]
        before, behind = text[place - 1 : place], text[place + len(name) : place + len(name) + 1]
        word = (before + behind).replace("_", "a")
        whole = not any(letter.isalnum() for letter in word)
        if here.lower() == name.lower() and whole:
            made += new.lower() if here.islower() else new.upper() if here.isupper() else new
            place += len(name)
        else:
            made, place = made + text[place], place + 1
    return made


def test_random_texts_are_renamed_as_a_scanner_does() -> None:
    random = np.random.default_rng(1)
    pieces = ["Mia", "mia", "MIA", "MiA", "Mias", "amia", " ", ".", "'s", "_", "é", "Bo", ", ", "\n", "1"]
    for _ in range(3000):
        text = "".join(random.choice(pieces, 7))
        assert replace_name(text, "Mia", "DeShawn") == by_scanning(text, "Mia", "DeShawn"), text


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("My name is Hope.", "My name is Eve."),
        ("my name is hope", "my name is eve"),
        ("MY NAME IS HOPE", "MY NAME IS EVE"),
        ("Hi, Hope! I'm Hope's friend, I hope.", "Hi, Eve! I'm Eve's friend, I hope."),
        ("Hope is all we have, Hope.", "Hope is all we have, Hope."),
        ("hi, hope you are well", "hi, hope you are well"),
        ("I\u2019m Hope", "I\u2019m Eve"),
        ("Delhi Hope", "Delhi Hope"),
        ("Her name is Hopeless", "Her name is Hopeless"),
    ],
)
def test_a_name_that_is_a_word_is_replaced_where_it_is_introduced(text: str, made: str) -> None:
    assert replace_name(text, "Hope", "Eve", is_word=True) == made


def test_names_with_other_letters() -> None:
    assert replace_name("Hola José, JOSÉ.", "José", "Ann") == "Hola Ann, ANN."
    assert replace_name("A. and a", "A", "Bo") == "Bo. and bo"
    assert replace_name("我叫李。", "李", "Ann") == "我叫李。"  # no spaces: no whole word
    assert replace_name("我 李", "李", "Ann") == "我 Ann"
    assert all_renamed(("Ann", "ann"), "Ann", "B+(") == ("B+(", "b+(")
    assert mentions("hi ANN!", "Ann") and not mentions("Anna", "Ann")
