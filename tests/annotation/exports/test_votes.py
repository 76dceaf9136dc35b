"""Exports: what is written comes back as it was, and what is none is refused with its line."""

import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from polars.testing import assert_frame_equal

from evenhand.annotation.definition import (
    Choice,
    Completion,
    GoldBelow,
    Hidden,
    Item,
    Onboarding,
    Option,
    Study,
)
from evenhand.annotation.exports import describe_study, read_export, write_answers
from evenhand.schema import VOTES, DataError, UsageError, is_annotations, write_votes
from evenhand.schema.annotations import ANNOTATIONS
from evenhand.schema.files import table_bytes
from evenhand.schema.parquet import Parquet
from tests.helpers.simulated_people import table, text_vote, vote

KINDS = ["jsonl", "csv", "parquet"]
STUDY = Study(
    evenhand_study=1,
    name="labels",
    title="Labels",
    questions=(
        Choice(
            id="toxicity",
            text="Is it rude?",
            options=(Option(id="yes", label="Yes", value=1), Option(id="no", label="No", value=0)),
        ),
    ),
    items=(Item(id="i1", text="a secret text"),),
    onboarding=Onboarding(items=(Item(id="o1", text="another secret", expected={"toxicity": "yes"}),)),
    hidden=Hidden(gold=(Item(id="g1", text="gold secret", expected={"toxicity": "yes"}),), gold_per_unit=1),
    rules=(GoldBelow(least=1),),
    completion=Completion(code="C0FFEE"),
)
NASTY = [
    "",
    "=1+1",
    "'=1+1",
    "''-x",
    " \t@x",
    "\r",
    "\r\n",
    "a\nb",
    'q"x',
    ",",
    "null",
    "NaN",
    "\ufeff",
    "'",
    "\x00",
]
texts = st.none() | st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(NASTY)
TEXTS = ("unit", "answer", "reason", "a", "model_a", "text", "context", "excluded")
spans = st.none() | st.floats(0, 1e9)
numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)
times = st.none() | st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
named = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, object]]:
    return [
        {
            **dict.fromkeys(VOTES),
            **{name: draw(texts) for name in TEXTS},
            **{name: draw(named) for name in ("study", "person", "item", "question")},
            "presentation": f"{i}",
            "position": draw(st.none() | st.integers(0, 2**63 - 1)),
            "role": draw(st.sampled_from(["real", "gold", "duplicate", "onboarding", "survey"])),
            "kind": draw(st.sampled_from(["pair", "text"])),
            "measurement": draw(st.sampled_from(["nominal", "preference", "marks"])),
            "value": draw(numbers),
            "seconds": draw(spans),
            "correct": draw(st.none() | st.booleans()),
            "shown_at": draw(times),
            "answered_at": draw(times),
            "groups": draw(st.none() | st.dictionaries(named, st.integers()).map(json.dumps)),
            "review": draw(st.sampled_from([None, "accepted", "rejected"])),
        }
        for i in range(draw(st.integers(0, 4)))
    ]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answers=rows())
def test_whatever_people_wrote_comes_back(
    tmp_path: Path, kind: str, answers: list[dict[str, object]]
) -> None:
    votes = table(answers)
    path = write_votes(tmp_path / f"votes.{kind}", votes, {"name": "x"})
    assert is_annotations(path)
    assert_frame_equal(read_export(path).votes, votes, check_exact=True)


@pytest.mark.parametrize("kind", KINDS)
def test_exports_of_versions_without_the_texts_of_pairs_are_read(tmp_path: Path, kind: str) -> None:
    path = write_votes(
        tmp_path / f"votes.{kind}", pl.DataFrame([vote()], schema=VOTES), describe_study(STUDY)
    )
    if kind == "jsonl":
        first, *lines = path.read_text().splitlines()
        older = [
            json.dumps({k: v for k, v in json.loads(line).items() if k[:5] != "text_"}) for line in lines
        ]
        path.write_text("\n".join([first, *older]) + "\n")
    elif kind == "csv":
        pl.read_csv(path, infer_schema=False).drop("text_a", "text_b").write_csv(path)
    else:
        metadata = {ANNOTATIONS: Parquet(path).metadata[ANNOTATIONS]}
        older_votes = pl.read_parquet(path).drop("text_a", "text_b")
        path.write_bytes(table_bytes(older_votes, metadata=metadata))
    votes = read_export(path).votes
    assert votes.columns == list(VOTES) and votes.height == 1
    assert votes["text_a"].to_list() == votes["text_b"].to_list() == [None]


@pytest.mark.parametrize("kind", KINDS)
def test_rules_of_the_study_take_rows_out(tmp_path: Path, kind: str) -> None:
    answers = [
        text_vote(person=person, item=item, role=role, answer=answer, expected=expected)
        for person, right in (("p1", "yes"), ("p2", "no"))
        for item, role, answer, expected in (("g1", "gold", right, "yes"), ("i1", "real", "no", None))
    ]
    export = read_export(write_answers(iter(answers), STUDY, tmp_path / f"votes.{kind}"))
    assert export.votes.select("person", "excluded").rows() == [
        ("p1", None),
        ("p1", None),
        ("p2", "gold_below"),
        ("p2", "gold_below"),
    ]
    assert export.study.get("name") == (None if kind == "csv" else "labels")
    assert export.path == tmp_path / f"votes.{kind}"


def test_the_first_line_has_the_study_and_gives_nothing_away(tmp_path: Path) -> None:
    path = write_answers([text_vote(text="said")], STUDY, tmp_path / "votes.jsonl")
    first = json.loads(path.read_text().splitlines()[0])
    assert first["evenhand_annotations"] == 1
    assert first["study"] == describe_study(STUDY)
    assert first["study"]["questions"][0]["options"][0] == {"id": "yes", "label": "Yes", "value": 1.0}
    assert first["study"]["rules"][0]["rule"] == "gold_below"
    assert "secret" not in path.read_text()
    assert "C0FFEE" not in path.read_text()


def test_a_spreadsheet_finds_no_formula(tmp_path: Path) -> None:
    attacks = ["|cmd", "=HYPERLINK(1)", "+1", "-1", "@x", "\t=1", "\r=1", " =1", "\u200b=1", "＝1"]
    votes = table([vote(reason=text, item=f"i{i}") for i, text in enumerate(attacks)])
    path = write_votes(tmp_path / "v.csv", votes, {})
    column = list(VOTES).index("reason")
    cells = pl.read_csv(path, infer_schema=False)[:, column]
    assert cells.to_list() == ["'" + text for text in attacks]
    assert read_export(path).votes["reason"].to_list() == attacks


def _changed(tmp_path: Path, line: int, **changes: object) -> Path:
    path = write_votes(tmp_path / "v.jsonl", table([vote(item=f"i{i}") for i in range(4)]), {"name": "x"})
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    lines[line - 1] = {
        name: value for name, value in {**lines[line - 1], **changes}.items() if value is not ...
    }
    path.write_text("\n".join(json.dumps(text) for text in lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"role": "boss"}, "role is 'boss'"),
        ({"seconds": "5"}, "seconds is '5', not a finite number"),
        ({"seconds": float("nan")}, "seconds is nan, not a finite number"),
        ({"seconds": -5}, "seconds is -5.0, but must be from 0 to"),
        ({"seconds": 1e308}, "seconds is 1e+308, but must be from 0 to"),
        ({"seconds": float("inf")}, "seconds is inf, not a finite number"),
        ({"position": -1}, "position is -1, but must be 0 or more"),
        ({"turn": -2}, "turn is -2, but must be 0 or more"),
        ({"position": True}, "position is true, not a whole number"),
        ({"position": 1.0}, "position is 1.0"),
        ({"position": 2**63}, "position is 9223372036854775808"),
        ({"answer": 5}, "answer is 5, not a text"),
        ({"answer": "\ud800"}, "answer is '\\ud800'"),
        ({"correct": "yes"}, "correct is 'yes', not true or false"),
        ({"shown_at": "yesterday"}, "shown_at is 'yesterday', not a time"),
        ({"person": None}, "person is null, but must not be empty"),
        ({"item": None}, "item is null, which only surveys allow"),
        ({"groups": "[1]"}, "groups is '[1]', not a JSON object"),
        ({"judgements": "{"}, "judgements is '{', not a JSON object"),
        ({"salary": 5}, "unknown columns salary"),
        ({"anwser": "x"}, "Did you mean 'answer'"),
        ({"reason": ...}, "has no column 'reason'"),
        ({"item": "i0", "presentation": "p1-i0-real"}, "which an earlier row answers already"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    with pytest.raises(DataError) as refused:
        read_export(_changed(tmp_path, 4, **changes))
    assert said in refused.value.message
    assert "line 4" in refused.value.message


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"evenhand_annotations": 2}, "unsupported format version 2"),
        ({"evenhand_annotations": 0}, "unsupported format version 0"),
        ({"evenhand_annotations": True}, "is not an export of judgements"),
        ({"evenhand_annotations": ...}, "is not an export of judgements"),
        ({"study": "x"}, "is not an export of judgements"),
        *(
            ({"study": {"questions": questions}}, "the questions of the study is not a list of questions")
            for questions in ("x", 10**30, [1], {}, True)
        ),
        ({"study": {"questions": [{}]}}, "line 1: question 1 of the study has no id"),
        (
            {"study": {"questions": [{"id": "q"}, {"id": "q"}]}},
            "question 2 of the study has the same id as an earlier one",
        ),
        ({"study": {"questions": [{"id": "q", "options": ["yes"]}]}}, "options is not a list of options"),
        (
            {"study": {"questions": [{"id": "q", "options": [{"id": "a", "value": 10**400}]}]}},
            "options is not",
        ),
        ({"study": {"questions": [{"id": "q", "kind": "likert", "low": "1"}]}}, "low is not a whole number"),
        ({"study": {"rules": 5}}, "the rules of the study is not a list of rules"),
        ({"study": {"survey": "x"}}, "the survey of the study is not a list of blocks"),
        ({"study": {"assignment": []}}, "the assignment of the study is not an object"),
        ({"study": {"name": 10**30}}, "the name of the study is not a text"),
        ({"rows": 5}, "contains 4 judgements, but 5 were exported"),
    ],
)
def test_a_wrong_first_line_is_refused(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_export(_changed(tmp_path, 1, **changes))


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ({"kind": "pair"}, "c", "which who does not offer (a, b)"),
        ({"kind": "pair"}, "tie", "which who does not offer (a, b)"),
        ({"kind": "pair", "tie": "Equal"}, "tie", None),
        ({"kind": "pair"}, None, None),
        ({"kind": "choice", "options": [{"id": "yes"}, {"id": "no"}]}, "maybe", "does not offer (yes, no)"),
        ({"kind": "choice", "options": [{"id": "yes"}, {"id": "no"}]}, "no", None),
        ({"kind": "marks", "options": [{"id": "rude"}]}, "none", None),
        ({"kind": "marks", "options": [{"id": "rude"}]}, "kind", "does not offer (rude, none)"),
        *(
            ({"kind": "likert", "low": 1, "high": 5}, word, "not a whole number from 1 to 5")
            for word in ("6", "x", "NaN", "1.5")
        ),
        ({"kind": "likert", "low": 1, "high": 5}, "5", None),
        ({"kind": "text"}, "anything", None),
    ],
)  # fmt: skip
def test_an_answer_is_one_that_its_question_offers(
    tmp_path: Path, question: dict[str, object], answer: str | None, said: str | None
) -> None:
    votes = table([vote(item=f"i{i}", question="other" if i < 2 else "who", answer=answer) for i in range(3)])
    path = write_votes(tmp_path / "v.jsonl", votes, {"questions": [{"id": "who", **question}]})
    if said is None:
        assert read_export(path).votes["answer"].to_list() == [answer] * 3
        return
    with pytest.raises(DataError) as refused:
        read_export(path)
    assert said in refused.value.message
    assert "line 4" in refused.value.message


def test_nothing_is_written_that_would_be_refused_on_reading(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"row 2 of what is to be written: seconds is -5\.0"):
        write_votes(tmp_path / "v.jsonl", table([vote(item="i0"), vote(item="i1", seconds=-5.0)]), {})
    assert not list(tmp_path.iterdir())


def test_half_a_file_is_refused(tmp_path: Path) -> None:
    whole = _changed(tmp_path, 1).read_bytes()
    half = tmp_path / "half.jsonl"
    for cut in range(0, len(whole) - 1, 97):
        half.write_bytes(whole[:cut])
        with pytest.raises(DataError):
            read_export(half)


def test_a_wrong_cell_of_a_csv_is_named_by_its_line(tmp_path: Path) -> None:
    path = write_votes(
        tmp_path / "v.csv", table([vote(item=f"i{i}", reason="a\nb\nc", seconds=21.5) for i in range(3)]), {}
    )
    path.write_text(path.read_text().replace("21.5", "soon").replace("soon", "21.5", 2))
    with pytest.raises(DataError, match=r"line 8: seconds is 'soon', not a finite number"):
        read_export(path)


def test_what_a_spreadsheet_saved_is_read(tmp_path: Path) -> None:
    path = write_votes(tmp_path / "v.csv", table([vote(correct=True, reason="x")]), {})
    cells = pl.read_csv(path, infer_schema=False)
    plain = "\r\n".join(",".join(cell or "" for cell in row) for row in [cells.columns, cells.row(0)])
    path.write_bytes(b"\xef\xbb\xbf" + plain.replace("true", "TRUE").encode() + b"\r\n")
    assert is_annotations(path)
    assert_frame_equal(read_export(path).votes, table([vote(correct=True, reason="x")]))


@pytest.mark.parametrize("kind", KINDS)
def test_other_files_are_no_exports(tmp_path: Path, kind: str) -> None:
    other = tmp_path / f"other.{kind}"
    other.write_bytes(b"unit,rater,rating\n1,2,3\n")
    assert not is_annotations(other)
    assert not is_annotations(tmp_path / f"absent.{kind}")
    with pytest.raises(DataError):
        read_export(other)
    with pytest.raises(DataError, match="File not found"):
        read_export(tmp_path / f"absent.{kind}")


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown file type"):
        write_answers([], STUDY, tmp_path / "votes.xlsx")
    (tmp_path / "votes.xlsx").write_text("x")
    assert not is_annotations(tmp_path / "votes.xlsx")
    with pytest.raises(DataError, match="is not an export of judgements"):
        read_export(tmp_path / "votes.xlsx")
