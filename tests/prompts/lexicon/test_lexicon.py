"""The built-in lexicon is complete and clean; the linter and the reader find planted faults."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import evenhand.prompts.lexicon as package
from evenhand.prompts.lexicon import Descriptor, Lexicon, Noun, lint, load_lexicon
from evenhand.prompts.lexicon.grammar import article, noun_phrase
from evenhand.schema import DataError, UsageError

FOLDER = Path(package.__file__).parent
AXES = {
    "ability",
    "age",
    "body_type",
    "characteristics",
    "cultural",
    "gender_and_sex",
    "nationality",
    "nonce",
    "political_ideologies",
    "race_ethnicity",
    "religion",
    "sexual_orientation",
    "socioeconomic_class",
}


def test_size_and_axes() -> None:
    lexicon = load_lexicon()
    assert len(lexicon.descriptors) >= 600
    assert set(lexicon.axes) == AXES
    per_axis = Counter(d.axis for d in lexicon.descriptors)
    assert min(per_axis.values()) >= 15
    assert {d.form for d in lexicon.descriptors} == {"adjective", "postmodifier", "phrase"}
    assert {d.preference for d in lexicon.descriptors} == {None, "preferred", "dispreferred", "polarising"}


def test_no_sentence_part_occurs_on_two_axes() -> None:
    axes_of = Counter(words for words, _ in {(d.descriptor, d.axis) for d in load_lexicon().descriptors})
    assert [words for words, n in axes_of.items() if n > 1] == []


@pytest.mark.parametrize("axis", ["nationality", "nonce", "political_ideologies"])
def test_enough_one_word_adjectives_for_the_reference_world(axis: str) -> None:
    words = [d.descriptor for d in load_lexicon().descriptors if d.axis == axis and d.form == "adjective"]
    assert sum(re.fullmatch(r"[A-Za-z]+", w) is not None for w in words) >= 12


def test_nouns() -> None:
    nouns = load_lexicon().nouns
    genders = Counter(noun.gender for noun in nouns)
    assert 30 <= len(nouns) <= 40
    assert genders["female"] == genders["male"] >= 10
    assert genders["neutral"] >= 10
    assert any(noun.singular == "enby" and noun.gender == "nonbinary" for noun in nouns)


def test_every_flag_has_its_note() -> None:
    unexplained = [d.descriptor for d in load_lexicon().descriptors if d.preference and not d.note]
    assert unexplained == []


def test_every_file_opens_with_a_comment() -> None:
    for file in FOLDER.glob("*.toml"):
        assert file.read_text(encoding="utf-8").startswith("# "), file


def test_the_built_in_lexicon_is_clean() -> None:
    assert lint(load_lexicon()) == []
    assert lint(FOLDER) == []


def test_articles_of_hard_descriptors() -> None:
    person = Noun(singular="person", plural="people", gender="neutral")
    by_name = {d.descriptor: d for d in load_lexicon().descriptors}

    def phrase(name: str) -> str:
        d = by_name[name]
        return noun_phrase(d, None if d.form == "phrase" else person)

    assert phrase("Ewe") == "an Ewe person"
    assert phrase("Unitarian") == "a Unitarian person"
    assert phrase("80-year-old") == "an 80-year-old person"
    assert phrase("LGBTQ+") == "an LGBTQ+ person"
    assert phrase("one-percenter") == "a one-percenter"
    assert phrase("who uses a wheelchair") == "a person who uses a wheelchair"


def test_frame_has_one_row_per_descriptor() -> None:
    lexicon = load_lexicon()
    frame = lexicon.frame()
    assert frame["descriptor"].to_list() == [d.descriptor for d in lexicon.descriptors]
    assert frame.schema["preference"] == pl.String and frame.schema["attributive_only"] == pl.Boolean
    assert set(frame.columns) == set(Descriptor.__dataclass_fields__)


def test_select() -> None:
    chosen = load_lexicon().select(axes=["nonce"], buckets=["vowel"])
    assert {(d.axis, d.bucket) for d in chosen.descriptors} == {("nonce", "vowel")}
    with pytest.raises(UsageError, match="Did you mean 'religion'"):
        load_lexicon().select(axes=["religions"])
    with pytest.raises(UsageError, match="bucket"):
        load_lexicon().select(buckets=["vowels"])


GOOD = Descriptor(axis="age", bucket="old", descriptor="older", form="adjective", plural="older")


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ([GOOD, GOOD], "occurs 2 times"),
        ([replace(GOOD, plural="")], "no plural"),
        ([replace(GOOD, plural="olders")], "does not change in the plural"),
        ([replace(GOOD, article="an")], "sound rule gives anyway"),
        ([replace(GOOD, article="a")], "against the sound rule"),
        ([replace(GOOD, preference="dispreferred")], "dispreferred without a note"),
        ([replace(GOOD, preference="polarising")], "polarising without a note"),
        ([replace(GOOD, descriptor="an older", plural="an older")], "written with its article"),
        (
            [replace(GOOD, form="postmodifier", descriptor="who is old", plural="who is old")],
            "equals its singular",
        ),
        ([replace(GOOD, form="postmodifier", article="an")], "does not follow one"),
        ([replace(GOOD, form="phrase", descriptor="elder", plural="elder")], "not what the grammar says"),
        (
            [replace(GOOD, form="phrase", descriptor="elder", plural="elders", attributive_only=True)],
            "not an adjective",
        ),
    ],
)
def test_linter_finds_planted_descriptors(planted: list[Descriptor], found: str) -> None:
    assert lint(Lexicon((GOOD,), ())) == []
    faults = lint(Lexicon(tuple(planted), ()))
    assert any(found in fault for fault in faults), faults


def test_linter_takes_known_article_exceptions() -> None:
    odd = replace(GOOD, descriptor="Uber", plural="Uber", article="a")
    assert lint(Lexicon((odd,), ()), article_exceptions=["Uber"]) == []
    assert len(lint(Lexicon((odd,), ()))) == 1


def test_linter_finds_planted_nouns() -> None:
    woman = Noun(singular="woman", plural="womans", gender="female")
    faults = lint(Lexicon((GOOD,), (woman, woman, Noun(singular="man", plural="", gender="male"))))
    assert sum("occurs 2 times" in f for f in faults) == 1
    assert sum("not as the grammar says" in f for f in faults) == 2
    assert sum("'man' has no plural" in f for f in faults) == 1


OWN = 'axis = "teams"\n[buckets.city]\nadjectives = ["red", { descriptor = "umber", note = "a color" }]\n'


def test_own_folder(tmp_path: Path) -> None:
    (tmp_path / "teams.toml").write_text(OWN)
    own = Lexicon.from_folder(tmp_path)
    assert [d.descriptor for d in own.descriptors] == ["red", "umber"]
    assert own.descriptors[1].note == "a color" and own.descriptors[0].plural == "red"
    assert own.nouns == load_lexicon().nouns
    (tmp_path / "nouns.toml").write_text('neutral = [{ singular = "fan", plural = "fans" }]\n')
    assert [n.plural for n in Lexicon.from_folder(tmp_path).nouns] == ["fans"]


def test_extended(tmp_path: Path) -> None:
    (tmp_path / "teams.toml").write_text(OWN)
    own = Lexicon.from_folder(tmp_path)
    both = load_lexicon().extended(own)
    assert both.axes == (*load_lexicon().axes, "teams")
    assert both.nouns == load_lexicon().nouns
    with pytest.raises(DataError, match="'red' on axis 'teams'"):
        both.extended(own)


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ("axis = ", "not TOML", "Correct the file"),
        ("[buckets.b]\nadjectives = []\n", "needs its name and its buckets", "axis ="),
        ('axis = "t"\nbucket = 1\n[buckets.b]\n', "unknown key 'bucket'", "axis, buckets"),
        (
            'axis = "t"\n[buckets.b]\nadjective = ["x"]\n',
            "unknown key 'adjective'",
            "adjectives, postmodifiers",
        ),
        ('axis = "t"\n[buckets.b]\nadjectives = "x"\n', "not a list", "list of entries"),
        ('axis = "t"\n[buckets.b]\nadjectives = [3]\n', "entry 1: 3 is neither", "descriptor, plural"),
        ('axis = "t"\n[buckets.b]\nadjectives = [""]\n', "is neither", "descriptor, plural"),
        (
            'axis = "t"\n[buckets.b]\nadjectives = ["x", { descriptor = "y", prefrence = "preferred" }]\n',
            "entry 2 ('y'): unknown key 'prefrence'",
            "preference",
        ),
        (
            'axis = "t"\n[buckets.b]\nadjectives = [{ descriptor = "y", preference = "good" }]\n',
            "preference is 'good'",
            "'polarising'",
        ),
        ('axis = "t"\n[buckets.b]\nphrases = ["fan"]\n', "plural is missing", "wheelchair users"),
        ('axis = "t"\n[buckets.b]\npostmodifiers = ["who sings"]\n', "plural is missing", "who use"),
        ('axis = "t"\nbuckets = { b = 1 }\n', "not a table", "adjectives"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, content: str, message: str, hint: str) -> None:
    (tmp_path / "bad.toml").write_text(content)
    with pytest.raises(DataError) as caught:
        Lexicon.from_folder(tmp_path)
    assert message in caught.value.message and "bad.toml" in caught.value.message
    assert caught.value.hint and hint in caught.value.hint
    assert any(message in fault for fault in lint(tmp_path))


def test_linter_lists_all_faults_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('axis = "a"\n[buckets.b]\nadjectives = [1, "x", "x"]\nverbs = []\n')
    (tmp_path / "nouns.toml").write_text('neutral = ["fan"]\nrobots = []\n')
    faults = lint(tmp_path)
    for part in ("entry 1: 1 is neither", "'verbs'", "'robots'", "'fan' is not a noun", "'x' occurs 2 times"):
        assert any(part in fault for fault in faults), part


def test_missing_and_empty_folders(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Lexicon folder not found"):
        Lexicon.from_folder(tmp_path / "nowhere")
    with pytest.raises(DataError, match="contains no axis"):
        Lexicon.from_folder(tmp_path)


def test_vowel_nonce_words_take_an() -> None:
    for d in load_lexicon().select(axes=["nonce"]).descriptors:
        assert article(d.descriptor) == ("an" if d.bucket == "vowel" else "a")
