"""RedditBias's comments and phrases, as its own build writes them."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.annotation.building import build_study
from evenhand.prompts.redditbias.annotation import to_annotate
from evenhand.schema import DataError

PHRASES = pl.DataFrame(
    {
        "id": ["1", "2", "2"],
        "attribute_in_window": [True, False, True],
        "comment": ["well the reds are loud at home", "reds play and reds sing", "reds play and reds sing"],
        "phrase": ["the reds are loud", "reds play", "reds sing"],
    }
)


def test_each_phrase_stands_above_its_comment(tmp_path: Path) -> None:
    to_annotate(PHRASES).write_csv(tmp_path / "to_annotate.csv")
    for source in (tmp_path, tmp_path / "to_annotate.csv"):
        items = build_study([source], "redditbias").study.items
        assert [(item.text, item.context) for item in items] == list(
            zip(PHRASES["comment"], PHRASES["phrase"], strict=True)
        )
        assert [item.groups["id"] for item in items] == ["1", "2", "2"]


def test_the_phrases_of_a_build_are_found(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    PHRASES.write_parquet(tmp_path / "tables" / "phrases.parquet")
    items = build_study([tmp_path], "redditbias").study.items
    assert [item.groups["attribute_in_window"] for item in items] == [True, False, True]


def test_rows_without_a_phrase_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("comment,phrase\nreds are loud,reds are loud\nnobody,\n")
    built = build_study([path], "redditbias")
    assert len(built.study.items) == 1
    assert "1 rows of t.csv without a comment or a phrase are left out." in built.notes
    path.write_text("comment\nreds are loud\n")
    with pytest.raises(DataError, match="phrase"):
        build_study([path], "redditbias")
