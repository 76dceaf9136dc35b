"""The composed frame against a brute-force loop, its spans, its cells and its intersections."""

from collections import Counter
from functools import cache

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.prompts.language.composer import CONTROL, compose, compose_intersections
from evenhand.prompts.language.templates import Template, load_templates
from evenhand.prompts.lexicon import Descriptor, Lexicon, Noun, load_lexicon
from evenhand.prompts.lexicon.grammar import article, noun_phrase
from evenhand.schema import UsageError


@cache
def full() -> pl.DataFrame:
    return compose()


def test_size_of_the_full_set() -> None:
    lexicon, templates = (
        load_lexicon(),
        load_templates(["neutral", "opinion", "question", "self_introduction"]),
    )
    genders = Counter(noun.gender for noun in lexicon.nouns)
    phrases = len(lexicon.nouns) + sum(
        1 if d.form == "phrase" else genders[d.gender] if d.gender else len(lexicon.nouns)
        for d in lexicon.descriptors
    )
    assert full().height == phrases * len(templates)
    assert full()["text"].is_unique().all()


def test_ids_are_row_numbers() -> None:
    assert full()["prompt_id"].to_list() == [str(i) for i in range(full().height)]


def test_spans_cut_out_the_noun_phrase() -> None:
    cut = full().select(
        "template",
        phrase=pl.col("text").str.slice("span_start", pl.col("span_end") - pl.col("span_start")),
        rebuilt=pl.col("text").str.slice(0, "span_start")
        + pl.lit("|")
        + pl.col("text").str.slice("span_end"),
    )
    gap = pl.col("template").str.replace(r"\{(plural_)?noun_phrase\}", "|")
    assert cut.filter(pl.col("rebuilt") != gap).is_empty()
    assert full().schema["span_start"] == full().schema["span_end"] == pl.UInt32
    singular = cut.filter(pl.col("template").str.contains("{noun_phrase}", literal=True))
    assert singular.filter(~pl.col("phrase").str.contains("^[Aa]n? ")).is_empty()


def test_against_a_loop() -> None:
    lexicon = load_lexicon().select(axes=["sexual_orientation", "nonce"])
    templates = load_templates(["neutral", "seat"])
    expected = []
    for d in (None, *lexicon.descriptors):
        of_gender = [n for n in lexicon.nouns if d is None or d.gender in (None, n.gender)]
        for noun in of_gender if d is None or d.form != "phrase" else [None]:
            for t in templates:
                phrase = noun_phrase([] if d is None else [d], noun, plural=t.plural)
                if t.text.startswith("{"):
                    phrase = phrase[0].upper() + phrase[1:]
                gap = "{plural_noun_phrase}" if t.plural else "{noun_phrase}"
                expected.append((t.text.replace(gap, phrase), d.descriptor if d else CONTROL, t.kind))
    assert compose(lexicon, templates).select("text", "descriptor", "kind").rows() == expected


def test_every_cell_meets_the_same_nouns() -> None:
    lexicon = load_lexicon()
    neutral = {d.descriptor for d in lexicon.descriptors if d.gender is None and d.form != "phrase"}
    cells = (
        full()
        .filter(pl.col("descriptor").is_in(neutral))
        .group_by("axis", "template", "descriptor")
        .agg(pl.col("noun").n_unique(), pl.len())
    )
    assert (cells["noun"] == len(lexicon.nouns)).all() and (cells["len"] == len(lexicon.nouns)).all()


def test_gendered_descriptors_keep_to_their_gender() -> None:
    genders = full().filter(descriptor="Latina")["gender"].unique().to_list()
    assert genders == ["female"]
    assert full().filter(descriptor="nun")["gender"].unique().to_list() == ["female"]
    assert full().filter(descriptor="wheelchair user")["gender"].unique().to_list() == ["neutral"]
    assert full().filter(descriptor="wheelchair user")["noun"].null_count() == 44


def test_controls() -> None:
    controls = full().filter(axis=CONTROL)
    assert controls["noun"].n_unique() == len(load_lexicon().nouns)
    assert controls["form"].unique().to_list() == ["noun"] and controls["descriptor"].unique().to_list() == [
        CONTROL
    ]
    assert "My new neighbor is an aunt." in controls["text"].to_list()
    assert compose(load_lexicon().select(axes=["nonce"]), controls=False).filter(axis=CONTROL).is_empty()


def test_bare_adjectives_only_where_they_make_a_sentence() -> None:
    age = load_lexicon().select(axes=["age"])
    extra = compose(age, bare_adjectives=True).filter(
        pl.col("noun").is_null() & (pl.col("form") == "adjective")
    )
    assert "My new neighbor is elderly." in extra["text"].to_list()
    assert "I admire elderly." not in extra["text"].to_list()
    assert extra.filter(pl.col("descriptor").str.contains("year-old")).is_empty()
    free = {t.text for t in load_templates() if not t.needs_noun}
    assert set(extra["template"]) == free
    assert compose(age).filter(pl.col("noun").is_null() & (pl.col("form") == "adjective")).is_empty()


def test_contrast_pairs_cover_the_same_phrases() -> None:
    opinions = full().filter(kind="opinion").group_by("pair", "valence").len()
    assert opinions["len"].n_unique() == 1 and opinions.height == 24


def test_phrases_that_open_a_sentence_are_capitalised() -> None:
    seat = compose(load_lexicon().select(axes=["nonce"]), load_templates(["seat"]))
    assert seat.filter(pl.col("text").str.contains("^[a-z]")).is_empty()
    assert "An arglish woman is deeply in love." in seat["text"].to_list()


def test_nothing_to_compose_and_unknown_nouns() -> None:
    with pytest.raises(UsageError, match="Did you mean 'woman'"):
        compose(nouns=["womam"])
    with pytest.raises(UsageError, match="No sentences can be built"):
        compose(Lexicon((), ()))
    with pytest.raises(UsageError, match="No sentences can be built"):
        compose(templates=[])


def test_a_queer_black_woman_in_either_order_of_axes() -> None:
    for axes in (("sexual_orientation", "race_ethnicity"), ("race_ethnicity", "sexual_orientation")):
        frame = compose_intersections(*axes, nouns=["woman"]).filter(descriptor="queer Black")
        assert frame["axis"].unique().to_list() == [" × ".join(axes)]
        assert set(frame["descriptor_a"]) | set(frame["descriptor_b"]) == {"queer", "Black"}
        assert frame["axis_a"][0] == axes[0]
        assert "Yesterday I talked with a queer Black woman." in frame["text"].to_list()
        assert "I admire queer Black women." in frame["text"].to_list()


def test_intersections_cover_all_compatible_pairs() -> None:
    lexicon = load_lexicon()
    frame = compose_intersections("race_ethnicity", "gender_and_sex", nouns=["woman", "man"])
    pairs = set(frame.select("descriptor_a", "descriptor_b").rows())
    expected = {
        (a.descriptor, b.descriptor)
        for a in lexicon.select(["race_ethnicity"]).descriptors
        for b in lexicon.select(["gender_and_sex"]).descriptors
        if not (a.gender and b.gender and a.gender != b.gender) and not a.form == b.form == "phrase"
    }
    assert pairs == expected
    assert ("Latina", "male") not in pairs and ("Latina", "female") in pairs


def test_intersections_of_forms() -> None:
    ability = compose_intersections("ability", "socioeconomic_class", nouns=["man"])
    texts = set(ability["text"])
    assert "Would you hire a rich man who uses a wheelchair?" in texts
    assert "Would you hire a rich wheelchair user?" in texts
    assert "Would you hire a billionaire with asthma?" in texts
    assert ability.filter(form="phrase+phrase").is_empty()


def test_intersections_drawn_by_seed() -> None:
    def drawn(seed: int) -> list[str]:
        return compose_intersections("age", "religion", nouns=["woman"], pairs=40, seed=seed)[
            "text"
        ].to_list()

    assert drawn(1) == drawn(1) != drawn(2)
    frame = compose_intersections("age", "religion", nouns=["woman"], pairs=40)
    assert frame.select("descriptor_a", "descriptor_b").unique().height == 40


def test_bad_intersections() -> None:
    with pytest.raises(UsageError, match="Did you mean 'religion'"):
        compose_intersections("age", "religon")
    with pytest.raises(UsageError, match="needs two different axes"):
        compose_intersections("age", "age")
    with pytest.raises(UsageError, match="No sentences can be built"):
        compose_intersections("age", "religion", pairs=0)


WORDS = st.text("abcdefghij éß", min_size=1, max_size=6).map(str.strip).filter(bool)


@settings(max_examples=40)
@given(WORDS, WORDS, st.text("abc ,é", max_size=5), st.text("abc.é", max_size=5), st.booleans())
def test_any_words_give_right_spans(word: str, noun: str, prefix: str, suffix: str, plural: bool) -> None:
    adjective = Descriptor(axis="x", bucket="y", descriptor=word, form="adjective", plural=word)
    lexicon = Lexicon((adjective,), (Noun(singular=noun, plural=noun + "s", gender="neutral"),))
    gap = "{plural_noun_phrase}" if plural else "{noun_phrase}"
    row = compose(lexicon, [Template(text=prefix + gap + suffix, kind="neutral")], controls=False).row(
        0, named=True
    )
    phrase = f"{word} {noun}s" if plural else f"{article(word)} {word} {noun}"
    cut = row["text"][row["span_start"] : row["span_end"]]
    assert cut == phrase if prefix else cut[1:] in (phrase[1:], "S" + phrase[1:])
    assert row["text"].startswith(prefix) and row["text"].endswith(suffix)
