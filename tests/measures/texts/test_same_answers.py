"""One answer to everything is seen, and ordinary answers are not taken for it."""

import polars as pl
import pytest

from evenhand.measures import given_the_commonest
from evenhand.schema import DataError


def frame(*texts, prompts=None):
    ids = prompts or [f"p{i}" for i in range(len(texts))]
    return pl.DataFrame(
        {"prompt_id": ids, "continuation": list(texts)}, schema_overrides={"continuation": pl.String}
    )


def test_the_text_that_most_prompts_got():
    found = given_the_commonest(frame("Be kind.", " be  KIND.", "no", "no", "Be kind.", None, ""))
    assert found.to_list() == [True, True, False, False, True, None, False]


def test_a_text_of_one_prompt_is_nobodys_commonest():
    assert given_the_commonest(frame("a", "a", "b", prompts=["p", "p", "q"])).to_list() == [False] * 3
    assert given_the_commonest(frame("", " ", "")).to_list() == [False] * 3


def test_failed_answers_are_missing():
    table = frame("a", "a", "b").with_columns(error=pl.Series(["model_error", None, None]))
    assert given_the_commonest(table).to_list() == [None, False, False]
    with pytest.raises(DataError, match="prompt_id"):
        given_the_commonest(pl.DataFrame({"continuation": ["a"]}))
