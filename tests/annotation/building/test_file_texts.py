"""A user's own table of texts."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.annotation.building import build_study
from evenhand.schema import DataError

TABLE = pl.DataFrame(
    {
        "prompt": ["The man", "The woman", "The man", "The woman"],
        "continuation": ["cooks.", "sings.", "runs.", None],
        "model": ["m", "m", "n", "n"],
        "group": ["men", "women", "men", "women"],
        "length": [1, 2, 3, 4],
        "toxicity_score": [0.1, 0.9, None, 0.5],
        "toxicity_negative": [False, True, None, True],
        "regard_label": ["neutral", "positive", "negative", "other"],
    }
)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_columns_become_what_items_have(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"texts.{kind}"
    {"csv": TABLE.write_csv, "jsonl": TABLE.write_ndjson, "parquet": TABLE.write_parquet}[kind](path)
    built = build_study([path], "labels")
    items = built.study.items
    assert [(item.context, item.text, item.model) for item in items] == [
        ("The man", "cooks.", "m"),
        ("The woman", "sings.", "m"),
        ("The man", "runs.", "n"),
    ]
    assert items[1].groups["group"] == "women"
    assert float(str(items[1].groups["length"])) == 2
    assert items[1].judgements == {
        "toxicity": {"score": 0.9, "negative": True},
        "regard": {"label": "positive"},
    }
    assert items[2].judgements == {"regard": {"label": "negative"}}
    assert "1 rows of texts." + kind + " without a text are left out." in built.notes


def test_the_prompt_is_called_text_where_the_answer_has_a_name_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("text,response\nWho?,Me.\n")
    item = build_study([path], "robbie").study.items[0]
    assert (item.context, item.text) == ("Who?", "Me.")
    path.write_text("text,context\nMe.,Who?\n")
    item = build_study([path], "robbie").study.items[0]
    assert (item.context, item.text) == ("Who?", "Me.")
    path.write_text("text\nMe.\n")
    item = build_study([path], "robbie").study.items[0]
    assert (item.context, item.text, item.model, item.groups) == (None, "Me.", None, {})


def test_a_table_without_texts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"has no column of texts \(found: a, b\)"):
        build_study([path], "labels")
    path.write_text("texts,b\n1,2\n")
    with pytest.raises(DataError, match=r"no column of texts .*If 'texts' contains the texts, rename it to"):
        build_study([path], "labels")
    with pytest.raises(DataError, match="File not found"):
        build_study([tmp_path / "nothing.csv"], "labels")
