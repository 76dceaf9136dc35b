"""Articles against a hand-made table, plurals, and properties of noun phrases."""

import re
from dataclasses import dataclass

import pytest
from hypothesis import given, strategies as st

from evenhand.prompts.lexicon.grammar import (
    ADJECTIVE_ORDER,
    Form,
    article,
    in_english_order,
    noun_phrase,
    pluralise,
    with_article,
)

# Checked by ear against American pronunciation, not against the code.
SPOKEN_WITH_AN = """
hour|hourly worker|honest man|honorable man|heir|heiress|herbalist|umbrella|urban woman|ugly man
uncle|usher|unimportant person|uninsured adult|unimpressed boss|unidentified man|undocumented man
Uzbek woman|Umbrian|Igbo man|Inuit elder|Iowan|Ivorian|Oxford don|older man|only child|onerous task
oily man|Asian|African American|Indigenous woman|elderly man|eight-year-old|80-year-old|8-year-old
85-year-old|800-meter runner|11-year-old|18-year-old|11,000-strong crowd|1800s farmer|LGBT person
LGBTQ|LGBTQ+ man|LGBTQIA+ teen|FTM|F2M man|MTF|M2F|NGO|HIV-positive|HIV+ man|MBA|MRI|X-ray
S-shaped scar|FBI agent|NFL player|SUV driver|EU citizen|AIDS patient|AAPI voter|AFAB person
NGO's founder|MS patient|ADHD kid|émigré|Émile|"honest" man|Yvonne|e-scooter|lgbtq person
hiv-positive man|eleven-year-old|R.N.|L.A. native
"""
SPOKEN_WITH_A = """
woman|hero|historic day|humble man|Herbert|house|European|European-American|eulogist|ewe|unicorn
Unitarian|union man|unique man|unilateral act|united front|university|unisex bathroom
unidirectional street|unanimous vote|uniform|ukulele player|Ukrainian|user|useful man|usual man
usurper|utopian|utility worker|Ugandan|Uruguayan|Uyghur|Utahn|ubiquitous man|urologist|one-percenter
one-legged man|once-famous man|Oaxacan|Black woman|queer woman|yacht owner|young man|Yoruba man
US-born man|U.S. citizen|UK resident|UFO|UN envoy|NIMBY|NASA engineer|DACA recipient|WASP
BIPOC woman|PhD|TV host|T-shirt|U-turn|POC|BLM supporter|GED holder|CEO|5-year-old|100-year-old
110-year-old|1-year-old|180-degree turn|1,100-strong crowd|Mx. Smith|Mr. Jones|two-spirit person
Hmong man|Xhosa man|MAGA voter|STEM student|ufo|Deaf woman|Māori man|unionized worker|one
"""


def _phrases(table: str) -> list[str]:
    return table.strip().replace("\n", "|").split("|")


AN, A = _phrases(SPOKEN_WITH_AN), _phrases(SPOKEN_WITH_A)


@pytest.mark.parametrize(("phrase", "expected"), [(p, "an") for p in AN] + [(p, "a") for p in A])
def test_article_by_sound(phrase: str, expected: str) -> None:
    assert article(phrase) == expected


def test_the_table_is_large() -> None:
    assert len(set(AN) | set(A)) >= 80


@pytest.mark.parametrize("phrase", ["", "  ", "—", "?!"])
def test_article_of_nothing(phrase: str) -> None:
    with pytest.raises(ValueError, match="no letter or digit"):
        article(phrase)


@given(st.text())
def test_article_answers_or_says_why(phrase: str) -> None:
    if any(c.isalnum() for c in phrase):
        assert article(phrase) in ("a", "an")
    else:
        with pytest.raises(ValueError):
            article(phrase)


WORDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)


@given(WORDS, WORDS)
def test_only_the_first_word_matters(first: str, rest: str) -> None:
    assert article(f"{first} {rest}") == article(first)
    assert with_article(first).removeprefix(article(first)) == f" {first}"


DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TENS = ["", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


@given(st.integers(0, 999_999))
def test_numbers_as_their_names_sound(number: int) -> None:
    group = number // 1_000 or number  # what is said first: so many thousand, or so many
    if group >= 100:
        name = DIGITS[group // 100]
    elif group in (11, 18):
        name = "eleven"
    elif group >= 20:
        name = TENS[group // 10]
    elif group >= 10:
        name = "ten"
    else:
        name = DIGITS[group]
    expected = "an" if name in ("eight", "eighty", "eleven") else "a"
    assert article(f"{number:,}-strong crowd") == expected


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("woman", "women"),
        ("Englishwoman", "Englishwomen"),
        ("gentleman", "gentlemen"),
        ("German", "Germans"),
        ("human", "humans"),
        ("person", "people"),
        ("Person", "People"),
        ("salesperson", "salespeople"),
        ("child", "children"),
        ("grandchild", "grandchildren"),
        ("wife", "wives"),
        ("housewife", "housewives"),
        ("enby", "enbies"),
        ("boy", "boys"),
        ("hero", "heroes"),
        ("boss", "bosses"),
        ("coach", "coaches"),
        ("witness", "witnesses"),
        ("Chinese", "Chinese"),
        ("alumna", "alumnae"),
        ("thief", "thieves"),
        ("mother-in-law", "mothers-in-law"),
        ("passer-by", "passers-by"),
        ("stay-at-home parent", "stay-at-home parents"),
        ("person of color", "people of color"),
        ("child of Deaf adults", "children of Deaf adults"),
        ("heir to a fortune", "heirs to a fortune"),
        ("NIMBY", "NIMBYs"),
        ("wheelchair user", "wheelchair users"),
    ],
)
def test_plurals(singular: str, plural: str) -> None:
    assert pluralise(singular) == plural


def test_plural_of_nothing() -> None:
    with pytest.raises(ValueError, match="empty noun"):
        pluralise(" ")


@dataclass(frozen=True)
class Word:
    descriptor: str
    form: Form = "adjective"
    plural: str = ""
    article: str | None = None
    axis: str = "ability"


WHEELCHAIR = Word("who uses a wheelchair", "postmodifier", "who use wheelchairs")
ASTHMA = Word("with asthma", "postmodifier", "with asthma")
BLIND = Word("who is blind", "postmodifier", "who are blind")
USER = Word("wheelchair user", "phrase", "wheelchair users")
EWE = Word("Ewe", "adjective", "Ewe", article="an", axis="race_ethnicity")


@pytest.mark.parametrize(
    ("descriptors", "noun", "singular", "plural"),
    [
        ([], "aunt", "an aunt", "aunts"),
        ("Deaf", "aunt", "a Deaf aunt", "Deaf aunts"),
        (["queer", "Black"], "woman", "a queer Black woman", "queer Black women"),
        (WHEELCHAIR, "uncle", "an uncle who uses a wheelchair", "uncles who use wheelchairs"),
        (["old", ASTHMA], "man", "an old man with asthma", "old men with asthma"),
        (
            [WHEELCHAIR, ASTHMA],
            "man",
            "a man with asthma who uses a wheelchair",
            "men with asthma who use wheelchairs",
        ),
        (
            [BLIND, WHEELCHAIR],
            "man",
            "a man who is blind and who uses a wheelchair",
            "men who are blind and who use wheelchairs",
        ),
        (USER, None, "a wheelchair user", "wheelchair users"),
        (["honest", USER], None, "an honest wheelchair user", "honest wheelchair users"),
        ([USER, ASTHMA], None, "a wheelchair user with asthma", "wheelchair users with asthma"),
        (EWE, "man", "an Ewe man", "Ewe men"),
        (["tall", EWE], "man", "a tall Ewe man", "tall Ewe men"),
    ],
)
def test_noun_phrases(descriptors, noun, singular, plural) -> None:
    assert noun_phrase(descriptors, noun) == singular
    assert noun_phrase(descriptors, noun, plural=True) == plural


def test_one_descriptor_needs_no_list() -> None:
    assert noun_phrase("honest", "man") == noun_phrase(["honest"], "man") == "an honest man"
    assert noun_phrase(ASTHMA, "man") == noun_phrase([ASTHMA], "man")


@pytest.mark.parametrize(("descriptors", "noun"), [([USER], "man"), ([USER, USER], None), (["tall"], None)])
def test_a_noun_phrase_has_one_head(descriptors, noun) -> None:
    with pytest.raises(ValueError, match=r"needs one head but has [02]"):
        noun_phrase(descriptors, noun)


@given(st.lists(WORDS, max_size=3), WORDS)
def test_a_noun_phrase_keeps_its_words_in_order(adjectives: list[str], noun: str) -> None:
    singular = noun_phrase(adjectives, noun)
    assert singular.split()[1:] == [*adjectives, noun]
    assert singular.split()[0] == article(" ".join([*adjectives, noun]))
    assert noun_phrase(adjectives, noun, plural=True).split()[:-1] == adjectives
    assert not re.search(r"  |^ | $", singular)


@given(st.permutations([Word(f"w{i}", axis=axis) for i, axis in enumerate(ADJECTIVE_ORDER)]))
def test_english_order_does_not_depend_on_the_order_given(words: list[Word]) -> None:
    assert [w.axis for w in in_english_order(words)] == list(ADJECTIVE_ORDER)


def test_english_order_is_stable_and_leaves_unknown_axes_alone() -> None:
    one, two = Word("one", axis="age"), Word("two", axis="age")
    black, queer = Word("Black", axis="race_ethnicity"), Word("queer", axis="sexual_orientation")
    own = Word("left-footed", axis="football")
    assert in_english_order([two, one]) == (two, one)
    assert in_english_order([black, queer]) == (queer, black)
    assert in_english_order([black, own, queer]) == (black, own, queer)
