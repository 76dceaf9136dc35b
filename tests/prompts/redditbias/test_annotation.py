"""Tables that people have labelled: what counts, what does not, and in which encodings and shapes they come."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.prompts.redditbias import read_annotations
from evenhand.prompts.redditbias.annotation import COLUMNS, biased_phrases, label_counts, to_annotate
from evenhand.schema import DataError

HEADING = "id,attribute_in_window,comment,phrase,bias_sent,bias_phrase"


def table(tmp_path: Path, *rows: str, heading: str = HEADING, encoding: str = "utf-8") -> Path:
    path = tmp_path / "labelled.csv"
    path.write_bytes("\n".join([heading, *rows, ""]).encode(encoding))
    return path


def test_labels(tmp_path: Path) -> None:
    labels = ["1", "0", "", "2", " 1 ", "1.0", "1 - context needed", "question"]
    found = read_annotations(table(tmp_path, *(f"i,TRUE,a comment,a phrase,{label},1" for label in labels)))
    assert found["bias_sent"].to_list() == [1, 0, None, None, 1, 1, None, None]
    assert found["bias_sent_label"].to_list() == [label.strip() for label in labels]
    assert found["bias_phrase"].to_list() == [1] * 8
    assert found["attribute_in_window"].to_list() == [True] * 8
    counts = label_counts(found).filter(pl.col("column") == "bias_sent")
    assert counts.rows()[0] == ("bias_sent", "1", 2, 1)
    assert dict(counts.filter(pl.col("taken_as").is_null()).select("label", "count").rows()) == {
        "": 1, "2": 1, "1 - context needed": 1, "question": 1,
    }  # fmt: skip


def test_published_shapes(tmp_path: Path) -> None:
    """Latin-1, no id, a column without a name at the end, a byte order mark, values in quotes."""
    found = read_annotations(table(tmp_path, "i,False,señor,señor,1,1", encoding="latin-1"))
    assert found["phrase"].to_list() == ["señor"]
    heading = HEADING.removeprefix("id,") + ","
    found = read_annotations(
        table(tmp_path, 'false,"a, b","a ""b""",0,1,', ",,,,,", "TRUE,c,c,0,1", heading=heading)
    )
    assert found.select("id", "attribute_in_window", "comment", "phrase").rows() == [
        (None, False, "a, b", 'a "b"'),
        (None, True, "c", "c"),
    ]
    assert read_annotations(table(tmp_path, "i,TRUE,a,a,1,1", encoding="utf-8-sig"))["id"].to_list() == ["i"]


def test_out_and_in_again(tmp_path: Path) -> None:
    phrases = pl.DataFrame(
        {"id": ["x"], "attribute_in_window": [True], "comment": ["a, comment"], "phrase": ["a"]}
    )
    empty = to_annotate(phrases)
    assert empty.columns == list(COLUMNS)
    empty.with_columns(bias_phrase=pl.lit("1")).write_csv(tmp_path / "x.csv")
    found = read_annotations(tmp_path / "x.csv")
    assert found.select(phrases.columns).equals(phrases)
    assert found.select("bias_sent", "bias_phrase").rows() == [(None, 1)]


def test_biased_phrases_are_those_labelled_one_also_twice(tmp_path: Path) -> None:
    rows = ["a,TRUE,c,same,0,1", "b,TRUE,d,same,1,1", "c,TRUE,e,other,1,0", "d,TRUE,f,more,1,2"]
    found = biased_phrases(read_annotations(table(tmp_path, *rows)))
    assert found.select("id", "comments_processed", "bias_sent").rows() == [
        ("a", "same", 0),
        ("b", "same", 1),
    ]
    with pytest.raises(DataError, match="None of the 2 annotated phrases is labelled as biased"):
        biased_phrases(read_annotations(table(tmp_path, *rows[2:])))


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="File not found"):
        read_annotations(tmp_path / "none.csv")
    with pytest.raises(
        DataError, match=r"has no columns 'bias_sent', 'bias_phrase' \(found: id, comment, phrase\)"
    ):
        read_annotations(table(tmp_path, heading="id,comment,phrase"))
    with pytest.raises(DataError, match="row 1: it has 7 values, but the heading has 6 columns"):
        read_annotations(table(tmp_path, "a,TRUE,c,p,1,1,more"))
    (tmp_path / "x.csv").write_bytes(b"")
    with pytest.raises(DataError, match=r"x\.csv has no columns 'comment', 'phrase', 'bias_sent',"):
        read_annotations(tmp_path / "x.csv")
    with pytest.raises(DataError, match="has the column phrase 2 times"):
        read_annotations(table(tmp_path, heading=f"{HEADING},phrase"))
    with pytest.raises(DataError, match="is not a valid CSV: field larger than field limit"):
        read_annotations(table(tmp_path, f"a,TRUE,{'x' * 200_000},p,1,1"))
    with pytest.raises(DataError, match="1 of 2 phrases that are labelled as biased are empty"):
        biased_phrases(read_annotations(table(tmp_path, "a,TRUE,c,p,1,1", "b,TRUE,c, ,1,1")))
    (tmp_path / "x.csv").write_bytes(b"\0\1")
    with pytest.raises(DataError, match="is not a valid CSV: it contains zero bytes"):
        read_annotations(tmp_path / "x.csv")


def test_a_field_longer_than_any_comment(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a valid CSV: field larger than field limit"):
        read_annotations(table(tmp_path, f'i,TRUE,"{"a" * 200_000}",x,1,1'))
