"""Somebody's own answers, end to end: one call, one sentence, in whatever form the table comes."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from rich.console import Console

import evenhand as eh
from evenhand.schema import DataError, UsageError
from evenhand.studies.audit.terminal import render_audit

COLUMNS = {"Frage": "question", "Geschlecht": "group", "Urteil": "label"}


def table(shares: dict[str, float], people: int = 40) -> list[dict[str, str]]:
    """Three questions, so many people a group; the same share of hostile answers to each."""
    return [
        {"Frage": question, "Geschlecht": group, "Urteil": "feindlich" if i < share * people else "neutral"}
        for question in ("Lohn", "Beruf", "Alltag")
        for group, share in shares.items()
        for i in range(people)
    ]


def sentence(found) -> str:
    return found.tables()["headlines"]["sentence"].item()


@pytest.mark.parametrize(
    ("delimiter", "encoding"), [(",", "utf-8"), (";", "utf-8-sig"), ("\t", "utf-16"), ("|", "cp1252")]
)
def test_a_file_of_any_delimiter_and_encoding_gives_one_sentence(tmp_path: Path, encoding, delimiter) -> None:
    path = tmp_path / "antworten.csv"
    with path.open("w", encoding=encoding, newline="") as handle:
        writer = csv.DictWriter(handle, COLUMNS, delimiter=delimiter)
        writer.writeheader()
        writer.writerows(table({"Frauen": 0.5, "Männer": 0.25}))
    found = eh.measure(path, columns=COLUMNS, negative="feindlich")
    told = sentence(found)
    assert told.startswith(
        "Geschlecht: worse for Frauen than for Männer: 50 % feindlich against 25 % (gap 25 points,"
    )
    assert "It speaks of these 3 questions; others may come out otherwise; each row counted" in told
    assert any("separated" in line for line in found.told) == (delimiter != ",")
    assert any("Windows-1252" in line for line in found.told) == (encoding == "cp1252")


def test_a_table_in_memory_gives_what_its_file_gives(tmp_path: Path) -> None:
    rows = table({"Frauen": 0.5, "Männer": 0.25})
    frame = pl.DataFrame(rows)
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ndjson(tmp_path / "a.jsonl")
    forms = [
        rows, frame, frame.lazy(), frame.to_dict(as_series=False), pd.DataFrame(rows), tmp_path / "a.parquet",
        str(tmp_path / "a.jsonl"),
    ]  # fmt: skip
    told = [sentence(eh.measure(form, columns=COLUMNS, negative=["feindlich"])) for form in forms]
    assert len(set(told)) == 1


def test_the_gap_and_its_mean_are_those_of_the_numbers() -> None:
    rng = np.random.default_rng(0)
    pay = rng.normal(40_000, 5_000, size=80)
    pay[40:] += 6_000
    found = eh.measure({"sex": ["f"] * 40 + ["m"] * 40, "pay": pay})
    axes = found.tables()["score_axes"]
    assert axes["gap"].item() == pytest.approx(pay[40:].mean() - pay[:40].mean())
    assert sentence(found).startswith("Sex: more pay for m than for f: 47,500 against 39,700 (gap 7,810,")
    assert "--column pay=score" in " ".join(found.told)
    page = found.html()
    assert "Means by group" in page
    assert f"{pay[40:].mean():,.0f}" in page and f"{pay[:40].mean():,.0f}" in page


def test_a_threshold_makes_a_rate_of_a_number() -> None:
    found = eh.measure({"sex": ["f", "m"] * 50, "rating": [8, 3] * 40 + [3, 8] * 10}, threshold=7)
    assert "80 % with rating from 7 on against 20 %" in sentence(found)


@pytest.mark.parametrize(
    ("values", "decimal", "mean"),
    [
        (["1.250,5", "3,0"], None, 626.75),
        (["1,250.5", "3.0"], None, 626.75),
        (["41.000", "43.000"], ".", 42.0),
        (["41.000", "43.000"], ",", 42_000.0),
        (["2,5", "NA"], None, 2.5),
    ],
)
def test_numbers_as_people_write_them(tmp_path: Path, values, decimal, mean) -> None:
    path = tmp_path / "a.csv"
    path.write_text("who;pay\n" + "".join(f"{who};{value}\n" for who in "ab" for value in values * 4))
    found = eh.measure(path, columns={"who": "group", "pay": "score"}, decimal=decimal)
    assert found.tables()["score_groups"]["mean"].to_list() == pytest.approx([mean, mean])


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_number_that_may_be_two_is_asked_about(tmp_path: Path, delimiter) -> None:
    path = tmp_path / "a.csv"
    path.write_text("who;pay\na;41.000\nb;43.000\n".replace(";", delimiter))
    with pytest.raises(
        DataError, match=r"row 1: 'pay' is '41\.000', which may be 41\.000 or 41000"
    ) as caught:
        eh.measure(path, columns={"who": "group", "pay": "score"})
    assert "--decimal" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"gender,score\na,1\nb,=A1*2\n", "row 2: 'score' is the formula"),
        (b"gender,score\na,1\nb,about 3\n", "row 2: 'score' is 'about 3', which is not a number"),
        (b"gender,score\na,1\nb,\x002\n", "zero, the first in line 3"),
        (b"gender,score\na,1\nb\n", "row 2: it has 1 values"),
        (b"gender,score\na,1\nb,2,3\n", "row 2: it has 3 values"),
        (b"gender,score,score\na,1,2\n", "'score' stands there 2 times"),
        (b"gender;x,score\na;1,2\n", "separated by commas or semicolons"),
        (b"gender,score\na,inf\nb,2\n", "row 1: 'score' is infinite"),
        (b"gender,score\n,1\n,2\n", "names no group in any row"),
        (b'gender,score\na,1\n"b,2\na,3\nb",4\n', "row 2: 'gender' is a name of 3 lines, 'b,2' and more"),
        (b"gender,score\na,1\n=1+1,2\n", "row 2: 'gender' is the formula '=1.1'"),
        (b"gender,score\ra,1\rb,2\r", "its lines end in carriage returns alone"),
        (b"\xff\xfegender,score\na,1\nb,2\n", "begins with the mark of UTF-16 .ff fe., and what follows"),
        (b"gender,label\na,x\nb,y\n", "which of the labels in 'label' are negative is not said"),
    ],
)  # fmt: skip
def test_hostile_files_are_refused_by_row(tmp_path: Path, content, part) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=part):
        eh.measure(path)


def test_a_label_that_is_not_there_and_one_that_nobody_asked_for() -> None:
    rows = table({"a": 0.5, "b": 0.25})
    with pytest.raises(UsageError, match="no row of 'Urteil' says 'feindlch'") as caught:
        eh.measure(rows, columns=COLUMNS, negative="feindlch")
    assert "'feindlich'" in str(caught.value)
    with pytest.raises(UsageError, match="no column holds labels"):
        eh.measure({"sex": ["a", "b"], "score": [1, 2]}, negative="x")


def test_rows_that_name_no_group_are_left_out_and_told() -> None:
    found = eh.measure({"sex": ["a", "b", ""] * 20, "score": list(range(60))})
    assert "20 of 60 rows name no sex and are left out there." in found.told


def test_an_axis_that_hangs_together_with_another_is_looked_at_inside_it() -> None:
    rng = np.random.default_rng(0)
    job = rng.random(400) < 0.5
    sex = np.where(rng.random(400) < 0.85, job, ~job)
    score = 3.0 * job + rng.normal(size=400)
    found = eh.measure({"sex": sex.astype(str), "job": job.astype(str), "score": score},
                       columns={"sex": "group", "job": "group"})  # fmt: skip
    inside = found.tables()["inside"]
    of_sex, of_job = (inside.row(by_predicate=pl.col("axis") == axis, named=True) for axis in ("sex", "job"))
    assert of_sex["gap_low"] < 0.3 and of_sex["p"] > 0.05 and of_job["gap"] == pytest.approx(3, abs=0.4)
    sentences = dict(found.tables()["headlines"].select("axis", "sentence").rows())
    assert "on average over the groups of job, no difference was detected" in sentences["sex"]
    assert "within each group of sex the gap remains" in sentences["job"]


@pytest.mark.parametrize("answers", [5, None, [1, 2]])
def test_what_is_no_table(answers) -> None:
    with pytest.raises(UsageError, match="It takes a path"):
        eh.measure(answers)


def test_the_old_name_is_refused_with_the_new_one() -> None:
    with pytest.raises(AttributeError, match=r"evenhand\.measure"):
        eh.measure_file  # noqa: B018


def test_a_workbook_gives_what_the_file_gives(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    openpyxl = pytest.importorskip("openpyxl")
    rows = table({"Frauen": 0.5, "Männer": 0.25})
    book = openpyxl.Workbook()
    book.active.append(list(COLUMNS))
    for row in rows:
        book.active.append(list(row.values()))
    book.save(tmp_path / "a.xlsx")
    found = eh.measure(tmp_path / "a.xlsx", columns=COLUMNS, negative="feindlich")
    assert sentence(found) == sentence(eh.measure(rows, columns=COLUMNS, negative="feindlich"))
    book.create_sheet("other").append(["x"])
    book.save(tmp_path / "b.xlsx")
    with pytest.raises(DataError, match="several sheets: Sheet, other"):
        eh.measure(tmp_path / "b.xlsx", columns=COLUMNS, negative="feindlich")


def test_an_answer_counts_once_over_everything_however_many_axes_there_are() -> None:
    rng = np.random.default_rng(1)
    label = np.where(rng.random(240) < 0.4, "hostile", "neutral").tolist()
    label[3] = label[50] = label[100] = None
    rows = {"sex": ["f", "m"] * 120, "region": ["east"] * 100 + ["west"] * 140, "label": label}
    both = eh.measure(rows, columns={"sex": "group", "region": "group"}, negative="hostile")
    alone = eh.measure({name: rows[name] for name in ("sex", "label")}, negative="hostile")
    whole = pl.col("axis").is_null() & (pl.col("measure") == "negative_rate")
    same = ["estimate", "low", "high", "n", "n_missing"]
    assert both.measurements.filter(whole)[same].rows() == alone.measurements.filter(whole)[same].rows()
    assert both.measurements.filter(whole)["n"].item() == 237
    view = both.view().benchmarks[0]
    assert (view.n_prompts, view.n_errors) == (240, 3)


@pytest.mark.parametrize(
    "options", [{"delimiter": "ab"}, {"encoding": "nope"}, {"columns": {"nope": "group"}}]
)
def test_wrong_values_of_flags_are_wrong_usage(tmp_path: Path, options) -> None:
    path = tmp_path / "a.csv"
    path.write_text("sex,score\na,1\nb,2\n")
    with pytest.raises(UsageError):
        eh.measure(path, **options)


@pytest.mark.parametrize(
    "scores",
    [[*range(59), 1e308], [value * 1e-200 for value in range(60)], [10**17 + 16 * value for value in range(60)],
     [value * 1e150 for value in range(60)]],
    ids=["one huge", "tiny", "close", "huge"],
)  # fmt: skip
def test_numbers_that_doubles_cannot_tell_apart_are_refused(scores) -> None:
    with pytest.raises(DataError, match="too large, too small or too close together to compute with"):
        eh.measure({"sex": ["a", "b"] * 30, "score": [float(score) for score in scores]})
    shifted = eh.measure({"sex": ["a", "b"] * 30, "score": [1e6 + value for value in range(60)]})
    assert shifted.tables()["score_axes"]["gap"].item() == pytest.approx(1)


def test_what_is_shown_speaks_of_answers_and_people_not_of_an_audit(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = {"sex": ["f", "m"] * 60, "person": [f"p{i % 40}" for i in range(120)],
            "label": np.where(rng.random(120) < 0.5, "hostile", "neutral").tolist()}  # fmt: skip
    rows["label"][3] = None
    found = eh.measure(rows, columns={"sex": "group", "person": "unit"}, negative="hostile")
    console = Console(file=io.StringIO(), width=100)
    render_audit(found.view(), console)
    told = console.file.getvalue()
    assert (
        "answers: 120 answers of 40 units, 1 without a number" in told
        and "at most 5 % of such tables" in told
    )
    assert re.search(r"^m +sex .* 59 +20$", told, re.MULTILINE), "59 answers of 20 people"
    page = found.write(tmp_path)["report"].read_text(encoding="utf-8")
    for word in ("BiasScore", "of audits", "five audits", "continuations", "refusal"):
        assert word not in told
        assert word in ("BiasScore", "refusal") or word not in page
    assert {"burden", "bias_score", "refusal_rate"}.isdisjoint(found.measurements["measure"])
