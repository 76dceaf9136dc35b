"""Tables and files: what comes in, what goes out, what is said of wrong ones."""

import polars as pl
import pytest

import evenhand as eh
from evenhand.prompts.counterfactual import counterfactuals, list_changes, write_counterfactuals
from evenhand.schema import DataError, UsageError

TEXTS = ["She took her hat.", "It rained.", None, "Two women left."]


@pytest.fixture
def table():
    return pl.DataFrame({"id": [7, 8, 9, 10], "text": TEXTS})


def test_rows_and_columns_stay_and_every_change_is_listed(table):
    made = eh.counterfactuals(table, "gender", target="male")
    assert made.columns == ["id", "text", "counterfactual", "changes", "contradiction"]
    assert made["counterfactual"].to_list() == ["He took his hat.", "It rained.", None, "Two men left."]
    assert made["changes"].list.len().to_list() == [2, 0, 0, 1]
    assert made["text"].to_list() == TEXTS


def test_a_row_for_each_change_to_review(table):
    rows = list_changes(counterfactuals(table, "gender", target="male"))
    assert rows.select("row", "start", "end", "from", "to").rows() == [
        (1, 0, 3, "She", "He"),
        (1, 9, 12, "her", "his"),
        (4, 4, 9, "women", "men"),
    ]
    for row in rows.iter_rows(named=True):
        assert row["original"][row["start"] : row["end"]] == row["from"]
    nothing = counterfactuals(pl.DataFrame({"text": ["It rained."]}), "gender", target="male")
    assert list_changes(nothing).height == 0
    assert list_changes(nothing).columns == rows.columns


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "txt"])
def test_files_of_every_kind_give_the_same(table, tmp_path, kind):
    file = tmp_path / f"texts.{kind}"
    texts = ["She left.", 'He said: "her".', "naïve her"]
    frame = pl.DataFrame({"text": texts})
    match kind:
        case "csv":
            frame.write_csv(file)
        case "jsonl":
            frame.write_ndjson(file)
        case "parquet":
            frame.write_parquet(file)
        case "txt":
            file.write_text("\n".join(texts) + "\n", encoding="utf-8")
    made = counterfactuals(file, "gender", target="male")
    assert made["text"].to_list() == texts
    assert made["counterfactual"].to_list() == ["He left.", 'He said: "her".', "naïve him"]


def test_what_is_written_is_read_back(table, tmp_path):
    made = counterfactuals(table, "gender", target="male")
    review = pl.read_csv(write_counterfactuals(tmp_path / "review.csv", made))
    assert review.height == 3
    assert review["rule"].to_list() == ["pronoun", "pronoun", "person"]
    whole = pl.read_parquet(write_counterfactuals(tmp_path / "whole.parquet", made))
    assert whole.equals(made)
    lines = pl.read_ndjson(write_counterfactuals(tmp_path / "whole.jsonl", made))
    assert lines["counterfactual"].to_list() == made["counterfactual"].to_list()


def test_another_column_may_hold_the_texts(table):
    renamed = table.rename({"text": "sentence"})
    made = counterfactuals(renamed, "gender", target="male", column="sentence")
    assert list_changes(made, "sentence")["original"][0] == TEXTS[0]


def test_wrong_files_and_tables_are_refused(table, tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("\n\n")
    latin = tmp_path / "latin.txt"
    latin.write_bytes("Señora".encode("latin-1"))
    for file, says in (
        (tmp_path / "none.txt", "File not found"),
        (tmp_path / "none.csv", "File not found"),
        (empty, "empty in every row"),
        (latin, "cannot be read as UTF-8: 'utf-8' codec can't decode byte 0xf1"),
    ):
        with pytest.raises(DataError, match=says):
            counterfactuals(file, "gender", target="male")
    with pytest.raises(DataError, match="no column 'sentence'"):
        counterfactuals(table, "gender", target="male", column="sentence")
    with pytest.raises(DataError, match="the table already has a column 'changes"):
        counterfactuals(table.with_columns(changes=1), "gender", target="male")
    with pytest.raises(UsageError, match=r"x\.xlsx: unsupported file type"):
        write_counterfactuals(tmp_path / "x.xlsx", table)
