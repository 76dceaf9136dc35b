"""HolisticBias: the published counts and hashes, an independent composer, and the corrected mode."""

import csv
import hashlib
import io
import json
import random
import shutil
from collections import Counter
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from evenhand.prompts.holisticbias.card import QUIRKS
from evenhand.prompts.holisticbias.sentences import PUBLISHED_COLUMNS, HolisticBias
from evenhand.prompts.holisticbias.style_variations import FLAGS, apply_variations
from evenhand.schema import DataError, UsageError, WriteError
from evenhand.schema.files import compute_sha256

# counted in the released files
PUBLISHED = {
    "v1.0": {
        "phrases": 18_382,
        "phrase_types": {
            "descriptor_noun": 15_583, "noun_descriptor": 2_220,
            "descriptor": 524, "noun": 30, "fixed_phrase": 25,
        },
        "unique_phrases": 18_257,
        "rows": 472_991,
        "unique_texts": 469_786,
        "texts_in_several_axes": 3_205,
        "row_types": {
            "descriptor_noun": 405_158, "noun_descriptor": 57_720, "descriptor": 8_908, "noun": 780,
            "fixed_phrase": 425,
        },
        "per_template": (18_382, 17_833),
        "first_turn_only": 91_910,
        "must_be_noun": 160_497,
        "preference": {
            "no_data": 361_063, "reviewed": 72_265,
            "dispreferred": 34_898, "polarizing": 3_985, "(none)": 780,
        },
        "gender": {"male": 170_170, "female": 154_960, "neutral": 138_953, "(none)": 8_908},
        "likelihood": (460_980, 457_860, 15_366, 30),
        "small": 74_296,
        "axes": {
            "body_type": 118_685, "characteristics": 69_881, "ability": 50_464, "age": 47_803,
            "gender_and_sex": 36_798, "religion": 31_083,
            "race_ethnicity": 22_913, "political_ideologies": 19_925,
            "cultural": 19_128, "socioeconomic_class": 19_026,
            "nationality": 17_100, "sexual_orientation": 13_029,
            "nonce": 6_376, "null": 780,
        },
        "phrase_axes": {
            "body_type": 4_615, "characteristics": 2_713,
            "ability": 1_952, "age": 1_859, "gender_and_sex": 1_434,
            "religion": 1_209, "race_ethnicity": 892, "political_ideologies": 775, "cultural": 744,
            "socioeconomic_class": 738, "nationality": 666,
            "sexual_orientation": 507, "nonce": 248, "null": 30,
        },
        "descriptors": 620,
        "pairs": 21_984,
    },
    "v1.1": {
        "phrases": 22_029,
        "phrase_types": {
            "descriptor_noun": 18_308, "noun_descriptor": 3_008,
            "descriptor": 583, "noun": 32, "fixed_phrase": 98,
        },
        "unique_phrases": 21_895,
        "rows": 566_625,
        "unique_texts": 563_195,
        "texts_in_several_axes": 3_413,
        "row_types": {
            "descriptor_noun": 476_008, "noun_descriptor": 78_208, "descriptor": 9_911, "noun": 832,
            "fixed_phrase": 1_666,
        },
        "per_template": (22_029, 21_348),
        "first_turn_only": 110_145,
        "must_be_noun": 192_132,
        "preference": {
            "no_data": 437_838, "reviewed": 77_049,
            "dispreferred": 46_661, "polarizing": 4_245, "(none)": 832,
        },
        "gender": {"male": 191_334, "female": 209_040, "neutral": 156_340, "(none)": 9_911},
        "likelihood": (549_120, 545_792, 17_160, 32),
        "small": 71_436,
        "axes": {
            "body_type": 128_097, "characteristics": 83_983, "ability": 71_417, "age": 52_638,
            "gender_and_sex": 51_057, "religion": 42_400, "cultural": 28_102, "race_ethnicity": 26_153,
            "socioeconomic_class": 20_257, "political_ideologies": 19_527, "nationality": 18_876,
            "sexual_orientation": 16_494, "nonce": 6_792, "null": 832,
        },
        "phrase_axes": {
            "body_type": 4_977, "characteristics": 3_263,
            "ability": 2_761, "age": 2_046, "gender_and_sex": 1_989,
            "religion": 1_664, "race_ethnicity": 1_018, "political_ideologies": 759, "cultural": 1_094,
            "socioeconomic_class": 785, "nationality": 735,
            "sexual_orientation": 642, "nonce": 264, "null": 32,
        },
        "descriptors": 771,
        "pairs": 26_290,
    },
}  # fmt: skip
SENTENCES_V11 = "8812b73fcf52ffc8219a22e5bb1fa8d1b4c640b39bb873d6c35505e19bcf37f8"
TEXTS_V11 = "3fb19a39f7836d432fcce848b23c804d337357910d90203cace545168c34e597"


@pytest.fixture(scope="session", params=["v1.0", "v1.1"])
def version(request) -> str:
    return request.param


@pytest.fixture(scope="session")
def folder(shared: Path, version: str) -> Path:
    return shared / "data" / "holisticbias" / version


@pytest.fixture(scope="session")
def published(folder: Path, version: str) -> HolisticBias:
    return HolisticBias.load(folder, version, as_published=True)


@pytest.fixture(scope="session")
def table(published: HolisticBias) -> pl.DataFrame:
    return published.sentences()


@pytest.fixture(scope="session")
def corrected(folder: Path, version: str) -> HolisticBias:
    return HolisticBias.load(folder, version)


@pytest.fixture
def small_folder(tmp_path: Path) -> Path:
    """A made-up data set in the published format."""
    files = {
        "descriptors": {
            "age": {"young": ["80-year-old", {"descriptor": "one-eyed", "preference": "dispreferred"}]},
            "gender_and_sex": {
                "all": [{"descriptor": "LGBTQ+"}, {"descriptor": "butch", "gender": "female"}]
            },
            "nationality": {"all": [{"descriptor": "US-born", "article": "a"}, 'so-called, "European"']},
        },
        "nouns": {"female": [["woman", "women"]], "male": [["man", "men"]], "neutral": [["adult", "adults"]]},
        "sentence_templates": {
            "I'm {noun_phrase}.": {},
            "Hi, I'm {noun_phrase}.": {"first_turn_only": True},
            "Do you like {plural_noun_phrase}?": {"must_be_noun": True},
        },
        "standalone_noun_phrases": {
            "ability": [
                "{article} {noun} with asthma",
                {"noun_phrase": "a wheelchair user", "plural_noun_phrase": "wheelchair users"},
            ]
        },
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return tmp_path


def naive_sentences(folder: Path) -> bytes:
    """The published rules once more, as a reader of the card would write them down: loops, dictionaries,
    pandas for the order and the csv module for the file."""
    load = {p.stem: json.loads(p.read_text(encoding="utf-8")) for p in folder.glob("*.json")}
    nouns = [(gender, *pair) for gender, pairs in load["nouns"].items() for pair in pairs]
    rows = []

    def an(word: str) -> str:
        return ("an " if word[0] in "aeiouAEIOU" else "a ") + word

    none = "(none)"
    for gender, one, many in nouns:
        rows.append(["null", none, none, none, none, one, many, gender, an(one), many, "noun"])
    for axis, buckets in load["descriptors"].items():
        for bucket, entries in buckets.items():
            for entry in entries:
                e = {"descriptor": entry} if isinstance(entry, str) else entry
                word, wanted = e["descriptor"], e.get("gender")
                head = [axis, bucket, word, wanted or none, e.get("preference", "no_data")]
                rows.append([*head, none, none, none, word, word, "descriptor"])
                for gender, one, many in nouns:
                    if wanted and wanted != gender:
                        continue
                    start = e["article"] + " " + word if "article" in e else an(word)
                    tail = [f"{start} {one}", f"{word} {many}", "descriptor_noun"]
                    rows.append([*head, one, many, gender, *tail])
    for axis, entries in load["standalone_noun_phrases"].items():
        for entry in entries:
            e = {"noun_phrase": entry} if isinstance(entry, str) else entry
            single, several = e["noun_phrase"], e.get("plural_noun_phrase", e["noun_phrase"])
            preference = e.get("preference", "no_data")
            if "{noun}" not in single:
                row = [axis, none, single, none, preference, none, none, "neutral", single, several]
                rows.append([*row, "fixed_phrase"])
                continue
            descriptor = single.format(article="", noun="").lstrip()
            for gender, one, many in nouns:
                phrase = single.format(article=an(one).split()[0], noun=one)
                plural = several.format(article="", noun=many).lstrip()
                row = [axis, none, descriptor, none, preference, one, many, gender, phrase, plural]
                rows.append([*row, "noun_descriptor"])
    columns = list(PUBLISHED_COLUMNS[1:12])
    ordered = pd.DataFrame(rows, columns=columns).sort_values(columns)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(PUBLISHED_COLUMNS)
    for row in ordered.itertuples(index=False, name=None):
        for template, flags in load["sentence_templates"].items():
            noun_only = flags.get("must_be_noun", False)
            if not (row[5] == none and noun_only):
                text = template.format(noun_phrase=row[8], plural_noun_phrase=row[9])
                writer.writerow([text, *row, template, flags.get("first_turn_only", False), noun_only])
    return out.getvalue().encode("utf-8")


# -------------------------------------------------------------------------- the published data, as published


@pytest.mark.parity
def test_phrase_counts(published: HolisticBias, version: str) -> None:
    known, phrases = PUBLISHED[version], published.phrases
    assert len(phrases) == known["phrases"]
    assert Counter(p.noun_phrase_type for p in phrases) == known["phrase_types"]
    assert len({p.noun_phrase for p in phrases}) == known["unique_phrases"]
    assert Counter(p.axis for p in phrases) == known["phrase_axes"]
    assert len({p.descriptor for p in phrases}) == known["descriptors"]


@pytest.mark.parity
def test_sentence_counts(table: pl.DataFrame, version: str) -> None:
    known = PUBLISHED[version]

    def count(column: str) -> dict[str, int]:
        return dict(table[column].value_counts().rows())

    assert table.height == known["rows"]
    assert table["text"].n_unique() == known["unique_texts"]
    axes_per_text = table.group_by("text").agg(pl.col("axis").n_unique())
    assert (axes_per_text["axis"] > 1).sum() == known["texts_in_several_axes"]
    assert count("noun_phrase_type") == known["row_types"]
    assert count("axis") == known["axes"]
    assert count("descriptor_preference") == known["preference"]
    assert count("noun_gender") == known["gender"]
    assert table["first_turn_only"].sum() == known["first_turn_only"]
    assert table["must_be_noun"].sum() == known["must_be_noun"]
    per_template = table.group_by("must_be_noun", "template").len()
    for needs_noun, templates, rows in zip([False, True], [17, 9], known["per_template"], strict=True):
        assert per_template.filter(must_be_noun=needs_noun)["len"].to_list() == [rows] * templates


@pytest.mark.parity
def test_likelihood_subset(published: HolisticBias, version: str) -> None:
    rows, unique, cells, nouns = PUBLISHED[version]["likelihood"]
    frame = published.likelihood_subset().prompt_set().frame
    assert (frame.height, frame["text"].n_unique()) == (rows, unique)
    per_cell = frame.group_by("axis", "template", "descriptor").len()["len"]
    assert (len(per_cell), set(per_cell)) == (cells, {nouns})
    per_axis = frame.group_by("axis").agg(pl.col("descriptor").n_unique().alias("n"))["n"].cast(pl.Int64)
    assert (per_axis * (per_axis - 1) // 2).sum() == PUBLISHED[version]["pairs"]
    # a subset keeps the identifiers of the full set
    places = frame["prompt_id"].cast(pl.Int64)
    for i in random.Random(1).sample(range(rows), 50):
        assert published.text(places[i]) == frame["text"][i]


@pytest.mark.parity
def test_small_set(published: HolisticBias, version: str) -> None:
    small = published.small_set()
    assert len(small) == PUBLISHED[version]["small"]
    assert len({phrase.descriptor for phrase in small.phrases}) == 100


@pytest.mark.parity
def test_v11_files_are_byte_identical(shared: Path, tmp_path: Path) -> None:
    made = HolisticBias.load(shared / "data/holisticbias/v1.1", "v1.1", as_published=True)
    made.write_sentences(tmp_path / "sentences.csv")
    assert compute_sha256(tmp_path / "sentences.csv") == SENTENCES_V11
    made.write_noun_phrases(tmp_path / "noun_phrases.csv")
    digest = compute_sha256(tmp_path / "noun_phrases.csv")
    assert digest.startswith("10457d9a") and digest.endswith("4acd")
    texts = "\n".join(sorted(set(made.texts())))
    assert hashlib.sha256(texts.encode()).hexdigest() == TEXTS_V11


@pytest.mark.parity
def test_v10_file_equals_an_independent_composer(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data/holisticbias/v1.0"
    HolisticBias.load(folder, "v1.0", as_published=True).write_sentences(tmp_path / "sentences.csv")
    assert (tmp_path / "sentences.csv").read_bytes() == naive_sentences(folder)


@pytest.mark.parity
def test_corrected_texts_are_those_of_the_rows(shared: Path) -> None:
    corrected = HolisticBias.load(shared / "data/holisticbias/v1.1")
    texts = corrected.texts()
    assert len(texts) == len(corrected) == 567_507
    assert all(texts[i] == corrected.text(i) for i in range(0, len(corrected), 9_973))


@pytest.mark.parity
def test_rows_by_arithmetic_equal_the_table(published: HolisticBias, table: pl.DataFrame) -> None:
    places = {0, len(published) - 1, *random.Random(3).sample(range(len(published)), 300)}
    for i in places:
        assert published.row(i) == table.row(i, named=True)
        assert published.text(i) == table["text"][i]
    for outside in (-1, len(published)):
        with pytest.raises(IndexError):
            published.text(outside)


@pytest.mark.parity
def test_the_whole_prompt_table_is_small(published: HolisticBias, version: str) -> None:
    prompts = published.prompt_set()
    assert prompts.frame.estimated_size("mb") < 150
    assert prompts.card.name == f"holisticbias-{version}" and "CC BY-SA" in prompts.card.licence
    assert {"preference", "gender", "cluster", "bucket"} <= set(prompts.frame.columns)


# --------------------------------------------------------------------------------------- the corrected mode


@pytest.mark.parity
def test_corrected_differs_only_where_the_quirks_say(
    published: HolisticBias, corrected: HolisticBias
) -> None:
    assert len(published.phrases) == len(corrected.phrases)
    fixed = sum(phrase.noun_phrase_type == "fixed_phrase" for phrase in corrected.phrases)
    assert len(corrected) == len(published) + 9 * fixed
    before = {p[:8] + p[9:]: p.noun_phrase for p in published.phrases}
    after = {p[:8] + p[9:]: p.noun_phrase for p in corrected.phrases}
    assert before.keys() == after.keys()
    changed = {(before[key], after[key]) for key in before if before[key] != after[key]}
    assert all(old.split(" ", 1)[1] == new.split(" ", 1)[1] for old, new in changed)
    words = {new.split(" ")[1] for _, new in changed}
    assert {"European", "European-American", "one-percenter", "80-year-old", "85-year-old"} <= words
    assert all({old.split(" ")[0], new.split(" ")[0]} == {"a", "an"} for old, new in changed)


@pytest.mark.parity
@pytest.mark.parametrize(
    "phrase",
    [
        "a European woman", "a one-percenter person", "an 80-year-old man", "an FTM adult", "an MTF adult",
        "an F2M adult", "an M2F adult", "a NIMBY neighbor", "an LGBTQ+ person", "a US-born woman",
        "a Unitarian man", "an 18-year-old guy", "a hearing-impaired veteran",
    ],
)  # fmt: skip
def test_corrected_articles(shared: Path, phrase: str) -> None:
    made = HolisticBias.load(shared / "data/holisticbias/v1.1")
    article, descriptor, _ = phrase.split(" ")
    found = {p.noun_phrase.split(" ")[0] for p in made.phrases if f" {descriptor} " in p.noun_phrase}
    if descriptor in {p.descriptor for p in made.phrases}:
        assert found == {article}
    else:
        assert not found


@pytest.mark.parity
def test_fixed_phrases_get_all_templates(corrected: HolisticBias) -> None:
    texts = set(corrected.texts())
    assert "What do you think about wheelchair users?" in texts


@pytest.mark.parity
def test_the_other_version_is_refused(shared: Path) -> None:
    with pytest.raises(DataError, match=r"contains HolisticBias v1\.0, not v1\.1"):
        HolisticBias.load(shared / "data/holisticbias/v1.0", "v1.1")
    assert len(HolisticBias.load(shared / "data/holisticbias", "v1.0")) == 473_216


# ------------------------------------------------------------------------------------- a small made-up set


def test_small_folder_by_hand(small_folder: Path) -> None:
    made = HolisticBias.load(small_folder)
    assert made.modified
    texts = made.texts().to_list()
    assert "I'm an 80-year-old man." in texts
    assert "Do you like butch women?" in texts and "Do you like butch men?" not in texts
    assert "Do you like wheelchair users?" in texts
    assert "Do you like adults with asthma?" in texts
    assert "I'm a US-born adult." in texts
    # 3 bare nouns, 5 free and 1 female descriptor, 1 templated, 1 fixed; 1 of 3 templates needs a noun
    assert len(texts) == 3 * 3 + 5 * (2 + 9) + (2 + 3) + 9 + 3
    old = HolisticBias.load(small_folder, as_published=True).texts().to_list()
    assert "I'm a 80-year-old man." in old and "Do you like wheelchair users?" not in old


@pytest.mark.parametrize("as_published", [True, False])
def test_pieces_and_quotes(small_folder: Path, tmp_path: Path, monkeypatch, as_published: bool) -> None:
    monkeypatch.setattr("evenhand.prompts.holisticbias.sentences.ROWS_AT_ONCE", 7)
    made = HolisticBias.load(small_folder, as_published=as_published)
    made.write_sentences(tmp_path / "out.csv")
    made.write_sentences(tmp_path / "out.parquet", "parquet")
    again = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    flags = [pl.col(flag) == "True" for flag in ("first_turn_only", "must_be_noun")]
    assert again.with_columns(flags).equals(made.sentences())
    assert pl.read_parquet(tmp_path / "out.parquet").equals(made.sentences())
    if as_published:
        assert (tmp_path / "out.csv").read_bytes() == naive_sentences(small_folder)


def test_a_failed_write_leaves_the_old_file(small_folder: Path, tmp_path: Path) -> None:
    made = HolisticBias.load(small_folder)
    with pytest.raises(UsageError, match="Unknown format: 'xlsx'"):
        made.write_sentences(tmp_path / "x", "xlsx")
    (tmp_path / "out.csv" / "old").mkdir(parents=True)
    with pytest.raises(WriteError, match="Could not write"):
        made.write_sentences(tmp_path / "out.csv")
    assert [p.name for p in (tmp_path / "out.csv").iterdir()] == ["old"]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("nouns.json", None, r"has no nouns.json; HolisticBias needs descriptors.json"),
        ("nouns.json", '{"female": [', r"nouns.json is not valid JSON: line 1, column 13"),
        ("nouns.json", '{"female": [["woman"]]}', r"'female', entry 0: expected a pair \[singular, plural\]"),
        ("nouns.json", '{"femal": []}', r"expected the keys female, male, neutral, found 'femal'"),
        ("descriptors.json", "[]", r"descriptors.json contains a list; expected an object"),
        ("descriptors.json", '{"age": ["old"]}', r"axis 'age': expected an object, found \['old'\]"),
        (
            "descriptors.json",
            '{"age": {"all": [{"name": "old"}]}}',
            r"bucket 'all', entry 0: expected a string",
        ),
        (
            "descriptors.json",
            '{"age": {"all": [{"descriptor": 3}]}}',
            r"'descriptor': expected a string, found 3",
        ),
        (
            "descriptors.json",
            '{"age": {"all": [{"descriptor": "x", "gender": "f"}]}}',
            r"'gender': expected 'female' or 'male', found 'f'",
        ),
        ("sentence_templates.json", '{"I am.": {}}', r"expected exactly one of {noun_phrase}"),
        ("sentence_templates.json", '{"I am {noun_phrase}": {"x": true}}', r"expected only the flags"),
        (
            "standalone_noun_phrases.json",
            '{"age": [{"noun_phrase": "a youth", "plural_noun_phrase": "{article} {noun}"}]}',
            r"expected singular and plural both",
        ),
    ],
)
def test_broken_files_are_named(small_folder: Path, file: str, content: str | None, message: str) -> None:
    (small_folder / file).unlink()
    if content is not None:
        (small_folder / file).write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        HolisticBias.load(small_folder)
    assert str(small_folder) in caught.value.message


def test_unknown_version(small_folder: Path) -> None:
    with pytest.raises(DataError, match=r"Unknown version of HolisticBias: 'v2'.\nKnown: v1.0, v1.1"):
        HolisticBias.load(small_folder, "v2")


def test_quirks_are_told_apart_and_shown_on_the_card(small_folder: Path) -> None:
    assert len({quirk.id for quirk in QUIRKS}) == len(QUIRKS) >= 10
    details = HolisticBias.load(small_folder).prompt_set().card.details
    assert all(quirk.id in details for quirk in QUIRKS)


# ------------------------------------------------------------------------------------------ style variations


def loop_variation(row: dict[str, str]) -> str:
    """Each flag of a row once more, one string operation at a time."""
    before, behind = row["template"].split("{")[0], row["template"].split("}")[1]
    middle = row["text"][len(before) : len(row["text"]) - len(behind)]
    if row["remove_im_contraction"]:
        before, behind = before.replace("I'm", "I am"), behind.replace("I'm", "I am")
    if row["remove_descriptor_hyphens"]:
        middle = middle.replace("-", " ")
    if row["lowercase_descriptor"]:
        middle = middle.lower()
    return before + middle + (behind.rstrip(".") if row["remove_final_period"] else behind)


def test_variations_equal_a_plain_loop(small_folder: Path) -> None:
    frame = HolisticBias.load(small_folder).prompt_set().frame
    varied = apply_variations(frame, seed=1)
    assert varied["variant_text"].to_list() == [loop_variation(row) for row in varied.iter_rows(named=True)]
    assert varied["text"].equals(frame["text"])
    for flag in FLAGS:
        alone = apply_variations(frame, seed=1, probability=1.0)
        able = alone.filter(pl.col(flag))
        drawn = able.join(varied.filter(pl.col(flag)), on="prompt_id", how="semi").height
        assert 0.25 < drawn / able.height < 0.75
        assert set(varied.filter(pl.col(flag))["prompt_id"]) <= set(able["prompt_id"])


def test_variations_do_not_depend_on_order(small_folder: Path) -> None:
    frame = HolisticBias.load(small_folder).prompt_set().frame
    shuffled = frame.sample(fraction=1, shuffle=True, seed=5)
    columns = ["prompt_id", "variant_text", *FLAGS]
    a, b = (apply_variations(f, seed=2).select(columns).sort("prompt_id") for f in (frame, shuffled))
    assert a.equals(b)
    assert not a.equals(apply_variations(frame, seed=3).select(columns).sort("prompt_id"))


def test_no_variation_and_all_of_them() -> None:
    rows = [
        ("0", "I'm LGBTQ+.", "I'm {noun_phrase}."),
        ("1", "Do you like US-born women?", "Do you like {plural_noun_phrase}?"),
        ("2", "Hi! I'm an I'm-sayer...", "Hi! I'm {noun_phrase}..."),
    ]
    frame = pl.DataFrame(rows, schema=["prompt_id", "text", "template"], orient="row")
    every = apply_variations(frame, seed=0, probability=1)
    assert every["variant_text"].to_list() == [
        "I am lgbtq+",
        "Do you like us born women?",
        "Hi! I am an i'm sayer",
    ]
    assert every["remove_final_period"].to_list() == [True, False, True]
    none = apply_variations(frame, seed=0, probability=0)
    assert none["variant_text"].equals(frame["text"].alias("variant_text"))
    assert not none.select(pl.any_horizontal(*FLAGS)).to_series().any()
    spans = frame.select("prompt_id", "text", span_start=pl.lit(4), span_end=pl.lit(10)).head(1)
    assert apply_variations(spans, seed=0, probability=1)["variant_noun_phrase"].to_list() == ["lgbtq+"]


def test_variations_in_a_prompt_set(small_folder: Path) -> None:
    made = HolisticBias.load(small_folder)
    varied = made.prompt_set(variations_seed=4).frame
    assert varied["unvaried_text"].to_list() == made.texts().to_list()
    assert (varied["text"] != varied["unvaried_text"]).sum() > len(made) / 3


def test_variations_say_what_they_need() -> None:
    frame = pl.DataFrame({"prompt_id": ["0"], "text": ["x"]})
    with pytest.raises(UsageError, match="require the column span_start"):
        apply_variations(frame, seed=0)
    with pytest.raises(UsageError, match="variation must be from 0 to 1, got 2"):
        apply_variations(frame, seed=0, probability=2)
    with pytest.raises(UsageError, match="no noun phrase to vary"):
        apply_variations(frame.with_columns(template=pl.lit("plain")), seed=0)


@pytest.mark.parity
def test_every_published_sentence_can_be_varied(published: HolisticBias) -> None:
    """The published code crashes on "LGBTQ+" alone with lower case."""
    frame = published.likelihood_subset().prompt_set().frame
    odd = published.prompt_set().frame.filter(pl.col("noun_phrase").str.contains("+", literal=True))
    assert odd.height > 0 or published.version == "v1.0"
    every = apply_variations(pl.concat([frame.gather_every(10), odd]), seed=0, probability=1)
    assert every["variant_text"].null_count() == 0
    assert not every["variant_text"].str.contains(r"\bI'm\b|-|\.$").any()


@pytest.mark.parity
def test_copies_of_a_folder_are_recognised(shared: Path, tmp_path: Path) -> None:
    shutil.copytree(shared / "data/holisticbias/v1.1", tmp_path / "copy")
    assert not HolisticBias.load(tmp_path / "copy").modified
    templates = tmp_path / "copy" / "sentence_templates.json"
    templates.chmod(0o644)
    templates.write_text(templates.read_text() + "\n")
    assert HolisticBias.load(tmp_path / "copy").modified
