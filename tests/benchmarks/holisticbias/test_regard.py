"""HolisticBiasR: the published counts, the groups of the published tables, and a plain loop beside it."""

import json
import random
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks.holisticbias import load_holisticbiasr
from evenhand.benchmarks.regard import TEMPLATES
from evenhand.prompts.holisticbias.files import FILES
from evenhand.prompts.holisticbias.sentences import HolisticBias
from evenhand.schema import DataError

GROUPS_PER_AXIS = {
    "body_type": 152, "nonce": 8, "cultural": 38, "religion": 95, "race_ethnicity": 35, "characteristics": 127,
    "ability": 88, "sexual_orientation": 22, "gender_and_sex": 73, "political_ideologies": 23, "age": 63,
    "socioeconomic_class": 24, "nationality": 26,
}  # fmt: skip
"""ROBBIE, tables 29-65, column HolisticBias."""


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data/holisticbias/v1.1"


@pytest.fixture(scope="module")
def corrected(folder: Path) -> pl.DataFrame:
    return load_holisticbiasr(folder).frame


@pytest.fixture(scope="module")
def published(folder: Path) -> pl.DataFrame:
    return load_holisticbiasr(folder, as_published=True).frame


@pytest.mark.parity
@pytest.mark.parametrize("mode", ["corrected", "published"])
def test_published_counts(mode: str, request: pytest.FixtureRequest) -> None:
    frame = request.getfixturevalue(mode)
    assert frame.height == 214_460 == frame["prompt_id"].n_unique()
    assert Counter(frame["noun_phrase_type"]) == {
        "descriptor_noun": 183_080, "noun_descriptor": 30_080, "fixed_phrase": 980, "noun": 320,
    }  # fmt: skip
    assert set(Counter(frame["template"]).values()) == {21_446}
    sizes = frame.drop_nulls("group").group_by("axis", "group").len()
    assert Counter(sizes["len"]) == {320: 660, 10: 96, 120: 9, 110: 8, 20: 1}
    assert sizes.filter(len=20)["group"].to_list() == ["a Rasta"]
    assert dict(sizes["axis"].value_counts().rows()) == GROUPS_PER_AXIS
    control = frame.filter(pl.col("group").is_null())
    assert control.height == 320 and set(control["axis"]) == {"null"}
    assert frame.filter(axis="null").height == 320


@pytest.mark.parity
def test_the_published_draws_give_the_published_texts(published: pl.DataFrame) -> None:
    """Numbers counted on the output of the published builder at seed 0."""
    assert published["text"].n_unique() == 213_635
    overwritten = published.group_by("axis", "formatted_noun_phrase").len()["len"]
    assert len(overwritten) == 31_465
    assert (overwritten.min(), overwritten.max(), (overwritten == 1).sum()) == (1, 11, 639)


@pytest.mark.parity
def test_a_plain_loop_writes_the_same(folder: Path) -> None:
    got = load_holisticbiasr(folder, seed=3, as_published=True).frame
    phrases = [p for p in HolisticBias.load(folder, as_published=True).phrases if p[-1] != "descriptor"]
    random.seed(3)
    texts, changed = [], Counter[str]()
    for template in TEMPLATES:
        for phrase in phrases:
            wording = phrase.noun_phrase
            if random.random() < 0.5:
                changed["hyphens"] += "-" in wording
                wording = wording.replace("-", " ")
            if random.random() < 0.5:
                changed["lower"] += wording != wording.lower()
                wording = wording.lower()
            texts.append(f"The {wording.split(' ', 1)[1]} {template}")
    assert got["text"].to_list() == texts
    assert got["hyphens_removed"].sum() == changed["hyphens"]
    assert got["lowercased"].sum() == changed["lower"]


@pytest.mark.parity
def test_corrected_draws(corrected: pl.DataFrame, folder: Path) -> None:
    hyphened = corrected.filter(pl.col("noun_phrase").str.contains("-", literal=True))
    assert abs(hyphened["hyphens_removed"].mean() - 0.5) < 4 * (0.25 / hyphened.height) ** 0.5
    has_upper = pl.col("noun_phrase") != pl.col("noun_phrase").str.to_lowercase()
    cased = corrected.filter(has_upper)
    assert abs(cased["lowercased"].mean() - 0.5) < 4 * (0.25 / cased.height) ** 0.5
    assert not corrected.filter(~has_upper)["lowercased"].any()
    assert corrected["formatted_noun_phrase"].str.starts_with("The ").all()
    spaced = corrected.filter("hyphens_removed")["formatted_noun_phrase"]
    assert not spaced.str.contains("-", literal=True).any()
    other = load_holisticbiasr(folder, seed=1).frame
    assert not other["text"].equals(corrected["text"])
    assert other.drop("text", "formatted_noun_phrase", "hyphens_removed", "lowercased").equals(
        corrected.drop("text", "formatted_noun_phrase", "hyphens_removed", "lowercased")
    )


@pytest.mark.parity
def test_the_table_is_small(folder: Path) -> None:
    frame = load_holisticbiasr(folder).frame
    assert frame.estimated_size("mb") < 100


def write(folder: Path, standalone: list[object]) -> Path:
    content = (
        {"age": {"old": ["middle-aged", "NIMBY"]}},
        {"neutral": [["person", "people"]]},
        {"I am {noun_phrase}.": {}},
        {"ability": standalone},
    )
    for name, value in zip(FILES, content, strict=True):
        (folder / name).write_text(json.dumps(value), encoding="utf-8")
    return folder


def test_a_small_set_of_ones_own(tmp_path: Path) -> None:
    fixed = {"noun_phrase": "an amputee", "plural_noun_phrase": "amputees"}
    prompts = load_holisticbiasr(write(tmp_path, ["{article} {noun} with asthma", fixed]))
    frame = prompts.frame
    assert frame.height == 10 * 5  # two descriptors, two standalone phrases, the bare noun
    assert frame["prompt_id"].to_list() == [str(i) for i in range(50)]
    spellings = frame.group_by("group").agg(pl.col("formatted_noun_phrase").unique().sort())
    assert dict(spellings.rows()) == {
        "middle-aged": ["The middle aged person", "The middle-aged person"],
        "NIMBY": ["The NIMBY person", "The nimby person"],
        "with asthma": ["The person with asthma"],
        "an amputee": ["The amputee"],
        None: ["The person"],
    }
    assert "edited" in prompts.card.summary and "CC BY-SA" in prompts.card.licence
    assert frame["text"][4] == "The person was known for" and frame["axis"][4] == "null"


def test_a_phrase_without_an_article(tmp_path: Path) -> None:
    fixed = {"noun_phrase": "the amputee", "plural_noun_phrase": "amputees"}
    with pytest.raises(DataError, match="'the amputee' does not begin with 'a' or 'an'"):
        load_holisticbiasr(write(tmp_path, [fixed]))
    with pytest.raises(DataError, match=r"has no descriptors\.json"):
        load_holisticbiasr(tmp_path / "nowhere")
