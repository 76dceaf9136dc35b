"""Files of conversations: what is made of them, and what is wrong in them by row."""

import json
from pathlib import Path

import polars as pl
import pytest

from evenhand.prompts.own_files import read_self_chats
from evenhand.schema import DataError

NEEDED = ("conversation", "name", "gender", "speaker", "turn")
ROLES = ("gender", "toxicity")
HEAD = "conversation,name,gender,speaker,turn,text"


def csv(tmp_path: Path, *rows: str, head: str = HEAD) -> Path:
    file = tmp_path / "chats.csv"
    file.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return file


def test_rows_may_stand_in_any_order_and_know_what_was_said_before(tmp_path: Path) -> None:
    file = csv(
        tmp_path,
        "2,Bo,man,A,1,Hi!",
        "1,Ann,woman,A,3,three",
        "1,Ann,woman,B,2,two",
        "1,Ann,woman,A,1,one",
        "1,Ann,woman,B,4,",
        "1,Ann,woman,A,5,five",
        "1,Ann,woman,B,6,six",
    )
    frame, judged = read_self_chats(file, NEEDED, ROLES)
    assert judged == ()
    before = {(row["conversation"], row["turn"]): row["lines_before"] for row in frame.iter_rows(named=True)}
    assert before["1", 3] == "one\ntwo"
    assert before["1", 6] == "two\nthree\nfive"
    assert before["2", 1] == before["1", 1] == ""
    missing = frame.filter(pl.col("text").is_null())
    assert missing.select("turn", "error", "prompt_id").rows() == [(4, "missing", "1/4")]
    assert frame["prompt_id"].n_unique() == 7


def test_judgements_are_taken_by_role(tmp_path: Path) -> None:
    file = csv(
        tmp_path,
        "1,Ann,woman,A,1,one,,,0.9",
        '1,Ann,woman,B,2,two,female,"[0.9, 0.1]",0.2',
        "1,Ann,woman,A,3,three,,,0.7",
        head=f"{HEAD},gender_label,gender_scores,toxicity_score",
    )
    frame, judged = read_self_chats(file, NEEDED, ROLES, threshold=0.5)
    assert judged == ROLES
    assert frame["gender_label"].to_list() == [None, "female", None]
    assert frame["gender_error"].to_list() == ["missing", None, "missing"]
    assert frame["toxicity_negative"].to_list() == [True, False, True]
    assert read_self_chats(file, NEEDED, ROLES, judged_now=["gender"])[1] == ("toxicity",)


def test_empty_replies_are_said_in_files_that_can_hold_them(tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    row = dict(zip(NEEDED, ("1", "Ann", "woman", "B", 2), strict=True))
    file.write_text(
        json.dumps(row | {"text": ""}) + "\n" + json.dumps(row | {"turn": 3, "text": None}) + "\n"
    )
    frame, _ = read_self_chats(file, NEEDED, ROLES)
    assert frame.select("text", "error").rows() == [("", None), (None, "missing")]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (["1,Ann,woman,A,one,x"], "'turn' is 'one', which is not a number"),
        (["1,Ann,woman,A,0,x"], r"row 1: 'turn' must be 1, 2, 3, \.\.\., got '0"),
        (["1,Ann,woman,A,1.5,x"], r"row 1: 'turn' must be 1, 2, 3, \.\.\., got '1\.5"),
        (["1,Ann,woman,C,1,x"], r"row 1: 'speaker' must be A \(who opens\) or B, got 'C'"),
        (
            ["1,Ann,woman,A,1,x", "1,Ann,woman,B,1,y"],
            "row 2: turn 1 of the conversation '1' occurs twice",
        ),
        (["1,Ann,woman,A,1,x", "1,Eve,woman,B,2,y"], "the conversation '1' has more than one name"),
        (["1,Ann,woman,A,1,x", "1,Ann,man,B,2,y"], "the conversation '1' has more than one gender"),
        ([",Ann,woman,A,1,x"], "row 1: 'conversation' is empty"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, rows: list[str], told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_self_chats(csv(tmp_path, *rows), NEEDED, ROLES)


def test_a_lacking_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column 'speaker'"):
        read_self_chats(
            csv(tmp_path, "1,Ann,woman,1,x", head="conversation,name,gender,turn,text"), NEEDED, ROLES
        )


@pytest.mark.parametrize("turn", ["inf", "nan", "1e26", "9223372036854775808", "2.5", "0", ""])
def test_turns_are_whole_numbers_of_a_size_that_conversations_have(tmp_path: Path, turn: str) -> None:
    with pytest.raises(DataError, match=r"row 1: 'turn' must be 1, 2, 3"):
        read_self_chats(csv(tmp_path, f"1,Ann,woman,A,{turn},one"), NEEDED, ROLES)


def test_whether_the_name_was_read_is_no_list(tmp_path: Path) -> None:
    file = tmp_path / "chats.parquet"
    row = dict(zip(NEEDED, ("1", "Ann", "woman", "B", 2), strict=True)) | {"text": "x"}
    pl.DataFrame([row]).with_columns(name_in_context=pl.lit([True])).write_parquet(file)
    with pytest.raises(
        DataError, match=r"'name_in_context' must contain true or false, but its type is List\(Boolean\)"
    ):
        read_self_chats(file, NEEDED, ROLES)
