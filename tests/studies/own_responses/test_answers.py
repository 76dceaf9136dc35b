"""Somebody's own answers, end to end: one call, one sentence, in whatever form the table comes."""

import csv
import io
import re
import zipfile
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
        'Geschlecht — biased. Responses for Frauen were labelled "feindlich" in 50% of cases, against 25% for Männer ('
    )
    assert (
        "applies to these 3 questions; other questions may give a different result; each row counted" in told
    )
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
    assert sentence(found).startswith(
        "Sex — biased. The mean of pay was higher for m (47,500) than for f (39,700; difference 7,810, 95% CI "
    )
    assert "--column pay=score" in " ".join(found.told)
    page = found.html()
    assert "Means by group" in page
    assert f"{pay[40:].mean():,.0f}" in page and f"{pay[:40].mean():,.0f}" in page


def test_a_threshold_makes_a_rate_of_a_number() -> None:
    found = eh.measure({"sex": ["f", "m"] * 50, "rating": [8, 3] * 40 + [3, 8] * 10}, threshold=7)
    assert "Responses for f had rating of 7 or more in 80% of cases, against 20% for m" in sentence(found)


@pytest.mark.parametrize(
    ("values", "decimal", "mean"),
    [
        (["1.250,5", "3,0"], None, 626.75),
        (["1,250.5", "3.0"], None, 626.75),
        (["41.000", "43.000"], ".", 42.0),
        (["41.000", "43.000"], ",", 42_000.0),
        (["2,5", "NA"], None, 2.5),
        (["$74,500", "$68,000"], None, 71_250.0),
        (["$1,250.50", "$749.50"], None, 1_000.0),
        (["38.100,00 €", "1.900,00 €"], None, 20_000.0),
        (["€41.000", "43.000 EUR"], None, 42_000.0),
        (["12 %", "7,5 %"], None, 9.75),
        (["CHF 1'234'567.50", "CHF 432.50"], None, 617_500.0),
        (["38.100,-", "1.900,-"], None, 20_000.0),
        (["1 234,5", "\u22120,5"], None, 617.0),
        (["₹12,34,567", "₹5,433"], None, 620_000.0),
        (["$2", "4"], None, 3.0),
        (["$74,500", "$3.125"], ".", 37_251.5625),
    ],
)
def test_numbers_as_people_write_them(tmp_path: Path, values, decimal, mean) -> None:
    path = tmp_path / "a.csv"
    rows = "".join(f"{who};{value}\n" for who in "ab" for value in values * 4)
    path.write_text(f"who;pay\n{rows}", encoding="utf-8")
    found = eh.measure(path, columns={"who": "group", "pay": "score"}, decimal=decimal)
    assert found.tables()["score_groups"]["mean"].to_list() == pytest.approx([mean, mean])


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_number_that_may_be_two_is_asked_about(tmp_path: Path, delimiter) -> None:
    path = tmp_path / "a.csv"
    path.write_text("who;pay\na;41.000\nb;43.000\n".replace(";", delimiter))
    with pytest.raises(
        DataError, match=r"row 1: 'pay' is '41\.000', which can mean 41\.000 or 41000"
    ) as caught:
        eh.measure(path, columns={"who": "group", "pay": "score"})
    assert "--decimal" in str(caught.value)


@pytest.mark.parametrize(
    ("values", "part"),
    [
        (["12 %", "0.3"], r"row 2: 'pay' is '0\.3', and in row 1 it is '12 %': the units differ"),
        (["3", "$5", "€5"], r"row 3: 'pay' is '€5', and in row 2 it is '\$5': the units differ"),
        (["$74,500", "$3.125"], r"row 1: 'pay' is '\$74,500', which can mean 74500 or 74\.500"),
        (["1.234.5", "3"], r"row 1: 'pay' is '1\.234\.5', which is not a number"),
        (["$", "$3"], r"row 1: 'pay' is '\$', which is not a number"),
    ],
)
def test_columns_of_several_units_or_readings_are_refused(values, part) -> None:
    with pytest.raises(DataError, match=part):
        eh.measure(
            {"who": ["a", "b", "a"][: len(values)], "pay": values}, columns={"who": "group", "pay": "score"}
        )


def test_what_units_were_read_as_is_printed() -> None:
    pay = ["$74,500", "$68,000", "61000", "$70,250"] * 5
    found = eh.measure({"who": ["a", "b"] * 10, "pay": pay}, columns={"who": "group", "pay": "score"})
    assert "Column pay is read as amounts of money ($); 5 of 20 values have no currency." in found.told


def test_declared_values_are_missing_in_every_column(tmp_path: Path) -> None:
    who, pay = ["f", "m", "k.A."] * 20, ["3", "K.A. ", "5", "-99"] * 15
    columns = {"who": "group", "pay": "score"}
    with pytest.raises(DataError, match=r"row 2: 'pay' is 'K\.A\.'") as caught:
        eh.measure({"who": who, "pay": pay}, columns=columns)
    assert "--missing 'K.A.'" in str(caught.value)
    found = eh.measure({"who": who, "pay": pay}, columns=columns, missing=["k.A.", "-99"])
    groups = found.tables()["score_groups"].sort("group")
    numbers = {"3": 3.0, "5": 5.0}
    for group, mean in zip("fm", groups["mean"], strict=True):
        known = [numbers[p] for w, p in zip(who, pay, strict=True) if w == group and p in numbers]
        assert mean == pytest.approx(np.mean(known))
    assert "35 cells are read as missing, 'k.A.' (who 20, pay 15)." in found.told
    assert (
        "20 of 60 rows have no value in the column who and are excluded from its comparisons." in found.told
    )
    coded = eh.measure({"who": who[:20], "pay": [3.0, -99.0] * 10}, columns=columns, missing="-99")
    assert set(coded.tables()["score_groups"]["mean"]) == {3.0}
    with pytest.raises(UsageError, match="Empty cells always count as missing"):
        eh.measure({"who": who, "pay": pay}, columns=columns, missing=" ")


def test_a_declared_value_that_does_not_occur_is_a_note() -> None:
    table = {"who": ["f", "m"] * 10, "pay": ["3", "5"] * 10}
    found = eh.measure(table, columns={"who": "group", "pay": "score"}, missing="n/b")
    assert any(line.startswith("No cell has the missing value 'n/b'") for line in found.told)


@pytest.mark.parametrize("pay", ["36k", "($38,566)", "about 30"])
def test_a_number_that_cannot_be_read_is_not_called_missing(pay: str) -> None:
    table = {"who": ["f", "m"] * 10, "pay": ["3", pay] * 10}
    with pytest.raises(DataError, match="which is not a number") as caught:
        eh.measure(table, columns={"who": "group", "pay": "score"})
    assert "--missing" not in str(caught.value) and "-38566" in str(caught.value)


def test_one_declared_cell_does_not_refuse_a_workbook(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    rows = [[who, pay] for pay in (41_000.5, 43_000, 45_000) for who in ("f", "m")]
    path = write_workbook(tmp_path / "pay.xlsx", [["who", "pay"], *rows, ["f", "k.A."]])
    columns = {"who": "group", "pay": "score"}
    with pytest.raises(DataError, match=r"row 7: 'pay' is 'k\.A\.', which is not a number"):
        eh.measure(path, columns=columns)
    found = eh.measure(path, columns=columns, missing="k.A.")
    assert found.tables()["score_groups"]["mean"].to_list() == pytest.approx([129_000.5 / 3] * 2)


def write_workbook(path: Path, rows: list[list[str | float]]) -> Path:
    """Write the least that is a workbook: one sheet with texts and numbers in its cells."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    cells = "".join(
        "<row>" + "".join(f"<c><v>{v}</v></c>" if isinstance(v, int | float) else
                          f'<c t="inlineStr"><is><t>{v}</t></is></c>' for v in row) + "</row>"
        for row in rows
    )  # fmt: skip
    parts = {
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="A" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}"><Relationship Id="r1" '
        f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "_rels/.rels": f'<Relationships xmlns="{package}"><Relationship Id="r1" Type="{office}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"gender,score\na,1\nb,=A1*2\n", "row 2: 'score' contains the formula"),
        (b"gender,score\na,1\nb,about 3\n", "row 2: 'score' is 'about 3', which is not a number"),
        (b"gender,score\na,1\nb,\x002\n", "zero bytes .the first in line 3"),
        (b"gender,score\na,1\nb\n", "row 2: it has 1 values"),
        (b"gender,score\na,1\nb,2,3\n", "row 2: it has 3 values"),
        (b"gender,score,score\na,1,2\n", r"line 1: the column 'score' occurs 2 times \(columns 2, 3\)"),
        (b"gender;x,score\na;1,2\n", "separated by commas or semicolons"),
        (b"gender,score\na,inf\nb,2\n", "row 1: 'score' is infinite"),
        (b"gender,score\n,1\n,2\n", "which should contain the groups, is empty in every row"),
        (b'gender,score\na,1\n"b,2\na,3\nb",4\n', "row 2: the name in 'gender' has 3 lines, 'b,2' and more"),
        (b"gender,score\na,1\n=1+1,2\n", "row 2: 'gender' contains the formula '=1.1'"),
        (b"gender,score\ra,1\rb,2\r", "the lines end in carriage returns"),
        (b"\xff\xfegender,score\na,1\nb,2\n", "starts with the byte order mark of UTF-16 .ff fe., but the rest"),
        (b"gender,label\na,x\nb,y\n", r"which labels in column 'label' are negative\? Values found: 'x'"),
    ],
)  # fmt: skip
def test_hostile_files_are_refused_by_row(tmp_path: Path, content, part) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=part):
        eh.measure(path)


def test_a_label_that_is_not_there_and_one_that_nobody_asked_for() -> None:
    rows = table({"a": 0.5, "b": 0.25})
    with pytest.raises(
        UsageError, match="The table: no row has the label 'feindlch' in column 'Urteil"
    ) as caught:
        eh.measure(rows, columns=COLUMNS, negative="feindlch")
    assert "'feindlich'" in str(caught.value)
    with pytest.raises(UsageError, match="requires a column of labels"):
        eh.measure({"sex": ["a", "b"], "score": [1, 2]}, negative="x")


def test_rows_that_name_no_group_are_left_out_and_told() -> None:
    found = eh.measure({"sex": ["a", "b", ""] * 20, "score": list(range(60))})
    assert (
        "20 of 60 rows have no value in the column sex and are excluded from its comparisons." in found.told
    )


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
    assert "On average over the groups of job, no difference was detected" in sentences["sex"]
    assert "The gap remains within each group of sex" in sentences["job"]


def test_a_verdict_on_missing_responses_states_no_gap_of_the_outcome() -> None:
    rng = np.random.default_rng(0)
    job = rng.random(400) < 0.5
    sex = np.where(rng.random(400) < 0.85, job, ~job)
    label = np.where(rng.random(400) < 0.2 + 0.5 * job, "hostile", "neutral").astype(object)
    label[sex & (rng.random(400) < 0.4)] = None
    found = eh.measure({"sex": sex.astype(str), "job": job.astype(str), "label": label.tolist()},
                       columns={"sex": "group", "job": "group"}, negative="hostile")  # fmt: skip
    lines = found.tables()["headlines"].filter(pl.col("axis") == "sex")
    texts = dict(lines.select("measure", "sentence").rows())
    missing = texts["missing_disparity"]
    assert missing.startswith("Sex (missing responses) — biased. Responses were missing")
    assert "gap" not in missing and missing.count("points") == 1
    assert "groups of job" in texts["disparity"] and texts["disparity"].startswith("Sex — ")


@pytest.mark.parametrize("answers", [5, None, [1, 2]])
def test_what_is_no_table(answers) -> None:
    with pytest.raises(UsageError, match="Give a path, a Polars or pandas data frame, a dict of"):
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
    with pytest.raises(DataError, match="they are too large, too small or too close together,"):
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
        "answers: 120 responses from 40 units (such as people), 1 without a result" in told
        and "at most 5% of such analyses" in told
    )
    assert re.search(r"^m +sex .* 59 +20$", told, re.MULTILINE), "59 answers of 20 people"
    page = found.write(tmp_path)["report"].read_text(encoding="utf-8")
    for word in ("BiasScore", "of audits", "five audits", "continuations", "refusal"):
        assert word not in told
        assert word in ("BiasScore", "refusal") or word not in page
    assert {"burden", "bias_score", "refusal_rate"}.isdisjoint(found.measurements["measure"])


def test_labels_that_look_like_a_negative_one_are_not_counted_as_harmless(tmp_path):
    rows = {"who": ["woman", "man"] * 40, "verdict": ["Hostile", "hostile"] * 20 + ["fine"] * 40}
    pl.DataFrame(rows).write_csv(tmp_path / "labels.csv")
    columns = {"who": "group", "verdict": "label"}
    with pytest.raises(UsageError, match="'hostile' and 'Hostile' in column 'verdict' look alike"):
        eh.measure(tmp_path / "labels.csv", columns=columns, negative=["hostile"])
    both = eh.measure(tmp_path / "labels.csv", columns=columns, negative=["hostile", "Hostile"])
    assert not both.findings.filter(verdict="biased").height
