"""A user's own files: the three formats say the same, and every fault is named."""

import datetime
import json
import math
from pathlib import Path

import polars as pl
import pytest

from evenhand.prompts.own_files.prompts import read_prompts, read_responses
from evenhand.prompts.own_files.tables import read_table, require_columns
from evenhand.schema import DataError
from tests.helpers.growth import assert_grows_linearly

PROMPTS = [
    {"text": "I'm a nurse, she said.", "axis": "gender", "group": "007"},
    {"text": "Ich heiße Öztürk.", "axis": "null", "group": "NA"},
    {"text": "", "axis": "gender", "group": "x"},
    {"text": "I'm a nurse, she said.", "axis": "gender", "group": "007"},
]


def write(folder: Path, kind: str, rows: list[dict]) -> Path:
    path = folder / f"mine.{kind}"
    frame = pl.DataFrame(rows, infer_schema_length=None, strict=False)
    if kind == "csv":
        frame.write_csv(path)
    elif kind == "parquet":
        frame.write_parquet(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_prompts_are_the_same_from_every_format(tmp_path: Path, kind: str) -> None:
    prompts = read_prompts(write(tmp_path, kind, PROMPTS))
    assert prompts.frame.select("text", "axis", "group").rows(named=True) == PROMPTS
    ids = prompts.frame["prompt_id"].to_list()
    assert ids[3] == f"{ids[0]}-2" and len(set(ids)) == 4
    assert prompts.content_hash == read_prompts(write(tmp_path, "jsonl", PROMPTS)).content_hash
    assert "1 of 4 texts are empty" in prompts.card.details


def test_made_ids_belong_to_the_content(tmp_path: Path) -> None:
    forth = read_prompts(write(tmp_path, "jsonl", PROMPTS[:3])).frame
    back = read_prompts(write(tmp_path, "jsonl", PROMPTS[2::-1])).frame
    assert forth.sort("prompt_id").equals(back.sort("prompt_id"))
    other = [PROMPTS[0], PROMPTS[0] | {"group": "008"}]
    assert read_prompts(write(tmp_path, "jsonl", other)).frame["prompt_id"].n_unique() == 2


def test_given_ids_context_and_spans(tmp_path: Path) -> None:
    rows = [
        {"prompt_id": 1, "text": "a b", "context": None, "span_start": 0, "span_end": 1},
        {"prompt_id": 2, "text": "c d", "context": "So:", "span_start": None, "span_end": None},
    ]
    for kind in ("csv", "jsonl", "parquet"):
        frame = read_prompts(write(tmp_path, kind, rows)).frame
        assert frame["prompt_id"].to_list() == ["1", "2"]
        assert frame["context"].to_list() == [None, "So:"]
        assert frame["span_end"].to_list() == [1, None] and frame["span_end"].dtype == pl.UInt32
    with pytest.raises(DataError, match="row 1: 'span_start' must be a whole number of characters, got -1"):
        read_prompts(write(tmp_path, "csv", [rows[0] | {"span_start": -1}]))
    with pytest.raises(DataError, match="row 1: 'span_end' is 'end', which is not a number"):
        read_prompts(write(tmp_path, "csv", [rows[0] | {"span_end": "end"}]))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "Text,axis\nHi,age\n", r"a\.csv has no column 'text' .found: Text, axis.\. Is it 'Text'\?"),
        ("a.csv", "words\nHi\n", r"has no column 'text' .found: words.\.$"),
        ("a.csv", "", r"a\.csv is empty"),
        ("a.csv", "text,axis\n", r"a\.csv contains no rows"),
        ("a.csv", "text,axis\nx,y,z,u\n", r"a\.csv, row 1: it has 4 values, but the heading has 2 columns"),
        ("a.csv", b"text\nx\n\x81\n", r"a\.csv, line 3: byte 0x81 is neither valid UTF-8 nor Windows-1252"),
        ("a.jsonl", '{"text": "x"}\n\n{"text": \n', r"a\.jsonl, line 3: not valid JSON"),
        ("a.jsonl", '{"text": "x"}\n["y"]\n', r"a\.jsonl, line 2: expected an object"),
        ("a.csv", "text,axis,axis\nx,y,z\n", r"a\.csv, line 1: the column 'axis' occurs 2 times"),
        ("a.csv", b"text\nx\0\n", r"a\.csv is not a text file: it contains zero bytes"),
        ("a.csv", "text\n \n", r"'text' is empty in every row"),
        (
            "a.csv",
            "text,span_start,span_end\nabc,1,9\n",
            r"row 1: the span from 1 to 9 is not within the text",
        ),
        ("a.jsonl", '{"text": "x", "text": "y"}\n', r"a\.jsonl, line 1: the key 'text' occurs twice"),
        (
            "a.jsonl",
            '{"text": 1' + "0" * 5000 + "}\n",
            r"a\.jsonl, line 1: not valid JSON: a number has too many digits",
        ),
        ("a.jsonl", b'{"text": "\xff"}\n', r"a\.jsonl, line 1: byte 0xff is not UTF-8"),
        ("a.jsonl", "\n\n", r"a\.jsonl contains no rows"),
        ("a.parquet", "not parquet", r"a\.parquet cannot be read as parquet"),
        ("a.docx", "x", r"unsupported file type '\.docx'"),
        ("a.csv", "prompt_id,text\n1,x\n1,y\n", r"prompt_id '1' occurs 2 times"),
    ],
)
def test_broken_prompt_files(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as caught:
        read_prompts(path)
    assert pl.Series([caught.value.message]).str.contains(message)[0], caught.value.message
    assert caught.value.hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"File not found: .*nowhere\.csv") as caught:
        read_prompts(tmp_path / "nowhere.csv")
    assert "`text`" in str(caught.value)


RESPONSES = [
    {"axis": "age", "descriptor": "old", "log_likelihood": -6.0, "token_count": 3},
    {"axis": "age", "descriptor": "young", "log_likelihood": None, "token_count": 3},
    {"axis": "null", "descriptor": "(none)", "log_likelihood": float("nan"), "token_count": 2},
    {"axis": None, "descriptor": "x", "log_likelihood": -1.0, "token_count": 0},
    {"axis": "age", "descriptor": "y", "log_likelihood": -math.inf, "token_count": 1},
]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_responses_count_what_cannot_be_used(tmp_path: Path, kind: str) -> None:
    read = read_responses(write(tmp_path, kind, RESPONSES), ["axis", "descriptor"])
    assert read.frame["perplexity"].to_list() == [pytest.approx(math.exp(2)), None, None, None, None]
    assert read.frame["log_likelihood"].to_list() == [-6.0, None, None, None, None]
    assert read.frame["error"].to_list() == [None, "missing", "not_finite", "no_scored_token", "not_finite"]
    assert read.errors == {"missing": 1, "not_finite": 2, "no_scored_token": 1}
    assert read.empty_groups == {"axis": 1}
    assert read.frame["axis"].to_list()[2] == "null"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_responses_from_perplexities(tmp_path: Path, kind: str) -> None:
    rows = [
        {"axis": "a", "perplexity": p, "error": e}
        for p, e in [(8.0, None), (float("inf"), None), (3.0, "refused")]
    ]
    read = read_responses(write(tmp_path, kind, rows), ["axis"])
    assert read.frame["perplexity"].to_list() == [8.0, None, None]
    assert read.frame["log_likelihood"].to_list() == [None] * 3  # tokens are not known
    assert read.errors == {"not_finite": 1, "refused": 1}
    rows = [{"axis": "a", "perplexity": 8.0, "token_count": 2}]
    likelihoods = read_responses(write(tmp_path, kind, rows)).frame["log_likelihood"].to_list()
    assert likelihoods == [pytest.approx(-2 * math.log(8))]


def test_a_full_pipeline_of_words_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("axis,perplexity\na,NA\na,null\na,\na,NaN\na,inf\na, 2.5 \n")
    read = read_responses(path, ["axis"])
    assert read.errors == {"missing": 3, "not_finite": 2}
    assert read.frame["perplexity"].to_list()[-1] == 2.5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("axis,descriptor\na,b\n", "has no column 'perplexity'"),
        ("axis,token_count\na,1\n", "has no column 'log_likelihood'"),
        ("Axes,perplexity\na,1\n", "has no column 'axis' (found: Axes, perplexity)"),
        ("axis,perplexity\na,1\nb,low\n", "row 2: 'perplexity' is 'low', which is not a number"),
        ("axis,log_likelihood,token_count\na,-1,1\nb,3.5,2\n", "row 2: the log likelihood is 3.5"),
    ],
)
def test_broken_response_files(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        read_responses(path, ["axis"])
    assert message in caught.value.message and "a.csv" in caught.value.message


@pytest.mark.parametrize(
    ("read", "column", "values"),
    [
        (read_prompts, "text", [["a"], ["b"]]),
        (read_prompts, "prompt_id", [["a"], ["b"]]),
        (read_prompts, "text", [b"\xff", b"b"]),
        (read_responses, "perplexity", [[1.0], [2.0]]),
        (read_responses, "perplexity", [b"1", b"2"]),
        (read_responses, "error", [["a"], ["b"]]),
    ],
)
def test_a_column_of_another_type_is_named_with_its_type(
    tmp_path: Path, read, column: str, values: list
) -> None:
    columns = {"text": ["x", "y"], "perplexity": [1.0, 2.0]} | {column: values}
    pl.DataFrame(columns).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=rf"a\.parquet: the column '{column}' contains (List|Binary)"):
        read(tmp_path / "a.parquet")


def test_a_lone_surrogate_is_named_with_its_row_and_a_pair_is_a_character(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "x"}\n{"text": "\\uD83D\\uDE00"}\n')
    assert read_prompts(path).frame["text"].to_list() == ["x", "\N{GRINNING FACE}"]
    path.write_text('{"text": "x"}\n{"text": "a \\uD83d b"}\n')
    with pytest.raises(DataError, match=r"a\.jsonl, line 2: it contains half a character"):
        read_prompts(path)


def test_names_of_any_plain_kind_are_texts(tmp_path):
    """A descriptor that was a time of day ended a finished run in an error of a join."""
    file = tmp_path / "p.parquet"
    times = pl.Series([datetime.time(1), datetime.time(2)])
    table = pl.DataFrame({"text": ["a", "b"], "axis": ["x", "x"], "group": [1, 2], "descriptor": times})
    table.write_parquet(file)
    frame = read_prompts(file).frame
    assert frame.select("group", "descriptor").dtypes == [pl.String] * 2
    assert frame["group"].to_list() == ["1", "2"]


@pytest.mark.parametrize("value", [-3.0, 0.0, 0.5])
def test_a_perplexity_below_one_is_told_as_what_cannot_be(tmp_path: Path, value: float) -> None:
    path = write(tmp_path, "csv", [{"axis": "a", "perplexity": 2.0}, {"axis": "a", "perplexity": value}])
    with pytest.raises(
        DataError, match=r"row 2: the perplexity is .*; a perplexity cannot be below 1\."
    ) as caught:
        read_responses(path)
    assert "log_likelihood" in str(caught.value.hint)


def test_the_time_for_a_heading_is_linear_in_its_columns(tmp_path):
    """Each name was once compared with all others."""

    def wide_file(columns):
        file = tmp_path / f"wide{columns}.csv"
        heading = ["text", *(f"c{i}" for i in range(columns))]
        file.write_text(f"{','.join(heading)}\na{',1' * columns}\n")
        return file

    assert_grows_linearly(lambda file: read_table(file, "a table"), wide_file, 20_000)
    file = wide_file(20_000)
    assert read_table(file, "a table").width == 20_001
    with pytest.raises(DataError, match=r"has no column 'axis' \(found: text, c0, c1, c2, c3, c4, c5, c6,"):
        require_columns(read_table(file, "a table"), ["axis"], file, "a table")
