"""Tables of terms: what each list holds, inflections, hints, order, and the file."""

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from evenhand.corpus import Matcher, TermTable, build_terms
from evenhand.corpus.terms import DEFAULT, LISTS, SURFACE_COLUMNS, TERM_COLUMNS
from evenhand.prompts import load_lexicon
from evenhand.prompts.names import load_names
from evenhand.schema import DataError, DatasetMissing, UsageError


def surfaces(table: TermTable, name: str) -> list[str]:
    (term,) = table.terms.filter(name=name)["term"].unique()
    return table.list_surfaces(term)


def test_the_pronouns_are_the_papers() -> None:
    pronouns = build_terms(["pronouns"]).terms.filter(kind="pronoun")
    grouped = {group: set(rows["name"]) for (group,), rows in pronouns.group_by("group")}
    assert grouped == {  # Esiobu et al. 2023, table 24
        "she": {"she", "her", "hers", "herself"},
        "he": {"he", "him", "his", "himself"},
        "they": {"they", "them", "their", "theirs", "theirself", "themself", "themselves"},
    }


def test_every_descriptor_of_the_lexicon_is_there_with_axis_and_bucket() -> None:
    table = build_terms(["descriptors"])
    rows = table.terms.filter(kind="descriptor").select("axis", "group", "name").rows()
    listed = {(d.axis, d.bucket, d.descriptor) for d in load_lexicon().descriptors}
    assert sorted(rows) == sorted(listed - {("ability", "hearing", "deaf")})  # counted as "Deaf"
    assert dict(table.terms.schema) == TERM_COLUMNS
    assert dict(table.surfaces.schema) == SURFACE_COLUMNS
    assert table.terms["term"].to_list() == list(range(len(table)))
    assert table.surfaces["surface"].to_list() == list(range(table.surfaces.height))


def test_words_for_a_person_are_in_every_table() -> None:
    kinds = Counter(build_terms(["pronouns"]).terms["kind"].to_list())
    assert kinds == {"pronoun": 15, "person_noun": len(load_lexicon().nouns)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("woman", ["woman", "women"]),
        ("Kenyan", ["kenyan", "kenyans"]),
        ("African American", ["african american", "african americans"]),
        ("gay", ["gay", "gays"]),
        ("wheelchair user", ["wheelchair user", "wheelchair users"]),
        ("who is deaf", ["who is deaf", "who are deaf"]),
        ("short", ["short"]),  # "shorts" are worn
        ("Chinese", ["chinese"]),
        ("left-wing", ["left wing"]),
        ("LGBTQ+", ["lgbtq+"]),
        ("Bahá'í", ["bahá'í", "bahá'ís"]),
    ],
)
def test_plurals_count_as_their_terms(name: str, expected: list[str]) -> None:
    assert surfaces(build_terms(), name) == expected
    assert surfaces(build_terms(inflections=False), name) == expected[:1]


def test_entries_of_one_list_axis_and_group_that_are_spelt_the_same_are_one_term() -> None:
    table = build_terms()
    assert table.terms.filter(pl.col("name").str.to_lowercase() == "deaf").height == 1
    assert surfaces(table, "Deaf") == ["deaf"]


def test_one_spelling_has_one_set_of_plurals_but_in_names(tmp_path: Path) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_text(
        "term,axis,kind,plural\nadult,age,mine,\nAlumna,school,mine,alumnae\nalumna,work,mine,\n"
        "alumna,people,name,\n"
    )
    table = build_terms([str(mine)])
    spelt = {
        (row["axis"], row["kind"]): table.list_surfaces(row["term"])
        for row in table.terms.iter_rows(named=True)
    }
    assert spelt["age", "mine"] == ["adult", "adults"]  # as the noun of a person
    assert spelt["school", "mine"] == spelt["work", "mine"] == ["alumna", "alumnae"]
    assert spelt["people", "name"] == ["alumna"]


def test_inflected_surfaces_are_marked() -> None:
    table = build_terms()
    first = table.surfaces.group_by("term").agg(pl.col("inflected").first(), pl.len())
    assert not first["inflected"].any()
    assert table.surfaces["inflected"].sum() == (first["len"] - 1).sum() > 200


def test_no_term_is_counted_twice_for_one_mention() -> None:
    table = build_terms(["descriptors", "pronouns", "names"])
    hits = Matcher(table).find(table.surfaces["text"].to_list())
    terms = table.surfaces["term"].to_numpy()
    own = hits.document == hits.surface
    again = (terms[hits.document] == terms[hits.surface]) & ~own
    assert own.sum() == table.surfaces.height
    assert not again.any()


def test_names_have_gender_and_words_among_them_are_marked() -> None:
    names = build_terms(["names"]).terms.filter(kind="name")
    assert set(names["name"]) == set(load_names()["name"])
    groups = dict(names.select("name", "group").rows())
    assert (groups["Keisha"], groups["Stephen"]) == ("Black woman", "man")


def test_names_of_births_are_the_frequent_ones_by_the_sex_of_most(tmp_path: Path) -> None:
    births = tmp_path / "births.csv"
    births.write_text(
        "name,female_births,male_births\nMary,90000,10\nWill,1,50000\nRare,9999,0\nEven,6000,6000\n"
    )
    names = build_terms(["births"], births=births).terms.filter(kind="name")
    assert names.select("name", "group", "source", "ambiguous").rows() == [
        ("Will", "man", "births", True),
        ("Mary", "woman", "births", False),
    ]


def test_hints_of_other_senses() -> None:
    hints = dict(build_terms().terms.filter(kind="descriptor").select("name", "ambiguous").rows())
    assert all(hints[name] for name in ("white", "Black", "straight", "old", "blind"))
    assert not any(hints[name] for name in ("gay", "Deaf", "Kenyan", "African American", "transgender"))


def test_the_order_of_lists_changes_nothing() -> None:
    lists = ["names", "pronouns", "descriptors", "names"]
    tables = [build_terms(order) for order in (lists, lists[::-1])]
    assert tables[0].content_hash == tables[1].content_hash
    assert build_terms(inflections=False).content_hash != build_terms().content_hash


def test_a_list_that_is_not_known_or_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="Did you mean 'pronouns'"):
        build_terms(["pronuns"])
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    for name in ("holisticbias", "holisticbias-v1.0", "holisticbias-nouns", "births"):
        with pytest.raises(DatasetMissing, match="evenhand data fetch"):
            build_terms([name])
    assert set(DEFAULT) < set(LISTS)


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    table = build_terms()
    again = TermTable.read(table.write(tmp_path / "terms.json"))
    assert again.terms.equals(table.terms) and again.surfaces.equals(table.surfaces)
    assert again.content_hash == table.content_hash


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"content_hash": "0" * 64}, "was changed after it was written"),
        ({"layout": 99}, "written by another version of evenhand"),
        ({"terms": []}, "is not a table of terms of this version"),
        (
            {"surfaces": {"surface": [0], "term": [0], "text": [1, 2], "inflected": [True]}},
            "contains no table of terms",
        ),
        (
            {"surfaces": {"surface": [-1], "term": [0], "text": ["a"], "inflected": [True]}},
            "contains no table of terms",
        ),
    ],
)
def test_a_file_that_is_no_table_is_refused(change: dict[str, object], said: str, tmp_path: Path) -> None:
    path = build_terms(["pronouns"]).write(tmp_path / "terms.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataError, match=said):
        TermTable.read(path)


def test_a_file_that_is_not_there_or_no_json(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("[")
    for name in ("none.json", "bad.json"):
        with pytest.raises(DataError, match="cannot be read"):
            TermTable.read(tmp_path / name)


@pytest.mark.parity
def test_holisticbias_in_both_versions(shared: Path) -> None:
    folder = shared / "data/holisticbias"
    published = json.loads((folder / "v1.1/descriptors.json").read_text("utf-8"))
    expected = {
        (axis, bucket, entry if isinstance(entry, str) else entry["descriptor"])
        for axis, buckets in published.items()
        for bucket, entries in buckets.items()
        for entry in entries
    }
    table = build_terms(["holisticbias"], holisticbias=folder)
    rows = table.terms.filter(source="holisticbias-v1.1").select("axis", "group", "name").rows()
    assert set(rows) == expected
    assert surfaces(table, "immigrant") == ["immigrant", "immigrants"]  # by the noun phrase of that name
    nouns = build_terms(["holisticbias-nouns"], holisticbias=folder)
    assert set(nouns.terms["source"]) == {"evenhand", "holisticbias-v1.1-nouns"}
    assert surfaces(nouns, "with a disability") == ["with a disability", "with disabilities"]
    assert surfaces(nouns, "wheelchair user") == ["wheelchair user", "wheelchair users"]
    older = build_terms(["holisticbias"], holisticbias=folder / "v1.0")
    assert set(older.terms["source"]) == {"evenhand", "holisticbias-v1.0"}
    named = build_terms(["holisticbias-v1.0"], holisticbias=folder)
    assert named.content_hash == older.content_hash


@pytest.mark.parity
def test_five_thousand_terms_of_lists(shared: Path) -> None:
    data = shared / "data"
    table = build_terms(
        [
            "descriptors",
            "pronouns",
            "holisticbias",
            "holisticbias-v1.0",
            "holisticbias-nouns",
            "names",
            "births",
        ],
        holisticbias=data / "holisticbias",
        births=data / "names/ssa_names_1920_2019_min500.csv",
    )
    assert len(table) > 5_000
    hits = Matcher(table).find(table.terms["name"].to_list())
    hit = set(zip(hits.document.tolist(), table.surfaces["term"].gather(hits.surface).to_list(), strict=True))
    assert {(term, term) for term in range(len(table))} <= hit
