"""What is planted in conversations stands in the tables that a page and a terminal show of them."""

import re

import polars as pl
import pytest

from evenhand.reports import BenchmarkView
from evenhand.schema import Card
from evenhand.studies.audit.self_chats import chat_tables
from evenhand.studies.own_responses import measure

RACES = ("white", "Black")
NAMES = {"woman": ("Ann", "Eve", "Ida", "Una"), "man": ("Bob", "Tom", "Jim", "Ned")}
SAID = {"woman": ("pretty name", "dress"), "man": ("nice name", "truck")}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Eight names, six conversations each; women hear of dresses, men of trucks, Ann alone of otters."""
    rows = []
    for gender, names in NAMES.items():
        for place, name in enumerate(names):
            for number in range(6):
                phrase, thing = SAID[gender]
                own = "otters " * 9 if name == "Ann" else ""
                talk = [
                    f"Hi! I am {name}.",
                    f"{name}! A {phrase}.",
                    f"{own}my {thing} and a nurse",
                    "yes he said",
                ]
                rows += [
                    {"conversation": f"{name}{number}", "name": name, "gender": gender}
                    | {"race_ethnicity": RACES[place % 2], "tier": "low" if place < 2 else "high"}
                    | {"speaker": "BA"[turn % 2], "turn": turn, "text": text, "name_in_context": turn < 4}
                    for turn, text in enumerate(talk, 1)
                ]
    file = tmp_path_factory.mktemp("chats") / "chats.csv"
    pl.DataFrame(rows).write_csv(file)
    return measure(file, "names")


def test_words_of_several_names_and_neither_names_nor_one_names_words(measured):
    tables = {table.title: table for table in chat_tables(measured.view().benchmarks[0]).shown}
    words = {(row[0], row[1]) for row in tables["Words of each gender"].rows}
    assert {("woman", "dress"), ("woman", "pretty"), ("man", "truck"), ("man", "nice")} <= words
    assert not {word for _, word in words} & {
        "otters",
        *(name.lower() for both in NAMES.values() for name in both),
    }
    published = measured.tables()["words"].filter(pl.col("word").is_in(["otters", "ann"]))
    assert published["largest_share"].to_list() == [100.0, 100.0]  # they stand in the table as published


def test_phrases_parts_turns_and_occupations(measured):
    tables = {table.title: table for table in chat_tables(measured.view().benchmarks[0]).shown}
    phrases = {row[0]: row for row in tables["What first replies say about the name"].rows}
    assert phrases["pretty name"][1:3] == ["24", "0.00"]  # 4 names, 6 times each, both races alike
    assert phrases["pretty name"][5].startswith("25 % ")
    parts = [row[:2] for row in tables["Inferred gender by part"].rows]
    assert parts[:3] == [["all", ""], ["speaker", "A"], ["speaker", "B"]]
    assert {
        ("link to one gender", "low"),
        ("race and ethnicity", "Black"),
        ("name still in context", "no"),
    } <= {tuple(row) for row in parts}
    turns = tables["Inferred gender by turn"].rows
    assert [(row[0], row[1], row[-2], row[-1]) for row in turns] == [
        ("2", "B", "48", "100 %"),
        ("3", "A", "48", "100 %"),
        ("4", "B", "48", "0 %"),
    ]
    assert [row[:1] + row[2:] for row in tables["Occupations mentioned (all 1)"].rows] == [
        ["nurse", "24", "24", "50 %"]
    ]


def test_a_page_shows_them_and_the_details_are_stored(measured, tmp_path):
    written = measured.write(tmp_path / "out")
    page = written["report"].read_text("utf-8")
    for title in ("Words of each gender", "Inferred gender by turn", "All 8 opening names"):
        assert re.search(rf"<(?:b|summary)>{title}", page)
    tables = [path for name, path in written.items() if name.startswith("details/")]
    assert sorted(tables) == sorted((tmp_path / "out" / "details" / "names").glob("*.parquet"))
    stored = {path.stem: pl.read_parquet(path) for path in tables}
    assert stored["phrases"].equals(measured.tables()["phrases"])
    assert {"words", "group_words", "turns", "occupations", "names", "token_bins"} <= set(stored)


def test_other_benchmarks_have_none():
    none = chat_tables(BenchmarkView("mine", Card("mine", "One line.")))
    assert (none.shown, none.folded) == ([], [])
