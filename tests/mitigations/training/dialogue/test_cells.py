"""Cells of a table of self-chats: what is read, and what is refused with its row rather than guessed."""

import re
from pathlib import Path

import polars as pl
import pytest

from evenhand.mitigations.training.dialogue.cells import sentences, truths
from evenhand.mitigations.training.dialogue.self_chats import read_self_chats, split_names
from evenhand.schema import DataError
from tests.helpers.planted_chats import planted_chats, written

CHATS = planted_chats(1)  # Ann, Bob, Eve, ...: four rows each
HERE = Path("chats.parquet")
LATER = pl.col("turn") > 1


def of_ann(column: str, value: object) -> pl.DataFrame:
    """The chats with another value behind Ann's opener, in rows 2 to 4."""
    other = pl.when((pl.col("name") == "Ann") & LATER).then(pl.lit(value)).otherwise(pl.col(column))
    return CHATS.with_columns(other.alias(column))


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (CHATS.with_columns(split=pl.lit("train")), "row 1: 'split' must be tune or test, got 'train'"),
        (
            of_ann("gender", "test").rename({"gender": "split"}),
            "row 1: 'split' must be tune or test, got 'woman'",
        ),
        (
            CHATS.with_columns(split=pl.when(LATER).then(pl.lit("test")).otherwise(pl.lit("tune"))),
            "row 2: 'split' of 'Ann' is 'test', and 'tune' in row 1",
        ),
        (
            CHATS.with_columns(split=pl.when(LATER).then(pl.lit("test")).otherwise(None)),
            "row 1: 'split' must be tune or test, got None",
        ),
        (of_ann("gender", "man"), "row 2: 'gender' of 'Ann' is 'man', and 'woman' in row 1"),
        (of_ann("gender", None), "row 2: 'gender' of 'Ann' is None"),
        (of_ann("word_collision", True), "row 2: 'word_collision' of 'Ann' is True, and False in row 1"),
        (CHATS.with_columns(name=pl.lit(" ")), "row 1: 'name' must be the name .*, got ' '"),
        (of_ann("name", ""), "row 2: 'name' must be the name .*, got ''"),
        (CHATS.with_columns(word_collision=pl.lit("maybe")), "row 1: 'word_collision' is 'maybe'; true or"),
        (CHATS.with_columns(word_collision=pl.lit(7)), "row 1: 'word_collision' is 7"),
        (CHATS.with_columns(word_collision=pl.lit([1])), r"row 1: 'word_collision' is \[1\]"),
        (CHATS.with_columns(persona_a=pl.lit(5)), "row 1: 'persona_a' is 5; a list of sentences"),
        (CHATS.with_columns(persona_a=pl.lit([5])), r"row 1: 'persona_a' is \[5\]"),
        (CHATS.with_columns(persona_a=pl.struct("turn")), r"row 1: 'persona_a' is \{'turn': 1\}"),
        (CHATS.with_columns(persona_a=pl.lit([None, "i run."])), "no null among them"),
        (CHATS.with_columns(persona_a=pl.lit('[[1], "i run."]')), "row 1: 'persona_a' is '.*JSON list such"),
        (CHATS.with_columns(persona_a=pl.lit("[" * 100_000)), r"row 1: 'persona_a' is '\[{79}\.\.\.;"),
        (CHATS.with_columns(persona_a=pl.lit('["\\ud800"]')), "row 1: 'persona_a'"),
    ],
)
def test_what_would_be_guessed_is_refused_with_its_row(
    tmp_path: Path, frame: pl.DataFrame, told: str
) -> None:
    with pytest.raises(DataError) as caught:
        read_self_chats(written(tmp_path, frame))
    assert re.search(told, caught.value.message), caught.value.message


def test_what_is_said_in_other_words_is_read() -> None:
    words = pl.Series("word_collision", ["True", "1", " yes", "no", "0", "FALSE", "", None])
    assert truths(words, HERE).to_list() == [True] * 3 + [False] * 5
    assert truths(pl.Series([1, 0, None]), HERE).to_list() == [True, False, False]
    texts = pl.Series(['["i run.", "i [sing]."]', "i run.\ni [sing].", ""]).append(
        pl.Series([None], dtype=pl.String)
    )
    assert sentences(texts, HERE).to_list() == [["i run.", "i [sing]."]] * 2 + [[], None]
    assert sentences(texts.cast(pl.Categorical), HERE).to_list() == sentences(texts, HERE).to_list()
    pairs = pl.Series([["i run.", "i sing."]], dtype=pl.Array(pl.String, 2))
    assert sentences(pairs, HERE).to_list() == [["i run.", "i sing."]]
    assert sentences(pl.Series([None, None]), HERE).to_list() == [None, None]


def test_a_column_of_splits_without_any_is_no_split(tmp_path: Path) -> None:
    read = read_self_chats(written(tmp_path, CHATS.with_columns(split=pl.lit(None, pl.String))))
    assert "split" not in read.columns and len(split_names(read, 3).test) == 8
