"""People's answers in an export compared: published numbers, scales question by question, and who is left out."""

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.schema import DataError, UsageError, write_votes
from evenhand.studies.agreement import agreement_of_raters
from tests.helpers.simulated_people import table, text_vote, vote

# Krippendorff 2019, chapter 12: four observers, twelve units
CLASSIC = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
ALPHA = {"nominal": 0.7434, "ordinal": 0.8154, "interval": 0.8491}
LEVELS = ("one", "two", "three", "four", "five")
ORDERED: dict[str, Any] = {
    "questions": [
        {"id": "ordinal", "kind": "choice", "ordered": True, "options": [{"id": name} for name in LEVELS]}
    ]
}


def classic(question: str, measurement: str, *, words: bool = False, **more: Any) -> list[dict[str, Any]]:
    return [
        text_vote(
            person=f"p{p}",
            item=f"i{i}",
            presentation=f"{p}-{i}",
            question=question,
            measurement=measurement,
            answer=LEVELS[int(letter) - 1] if words else letter,
            **more,
        )
        for p, row in enumerate(CLASSIC)
        for i, letter in enumerate(row)
        if letter != "."
    ]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_each_question_has_its_own_scale(tmp_path: Path, ending: str) -> None:
    rows = [row for name in ("nominal", "interval") for row in classic(name, name)]
    rows += classic("ordinal", "ordinal")
    study = agreement_of_raters([write_votes(tmp_path / f"export.{ending}", table(rows), {})])
    found = {row["question"]: (row["measurement"], row["estimate"]) for row in study.result.to_dicts()}
    assert found == {name: (name, pytest.approx(alpha, abs=0.00006)) for name, alpha in ALPHA.items()}
    assert study.notes == ()
    assert "ordinal (ordinal)" in study.html()


def test_options_stand_in_the_order_of_the_study(tmp_path: Path) -> None:
    rows = classic("ordinal", "ordinal", words=True)
    known = agreement_of_raters([write_votes(tmp_path / "export.jsonl", table(rows), ORDERED)])
    assert known.result["estimate"].item() == pytest.approx(ALPHA["ordinal"], abs=0.00006)
    unknown = agreement_of_raters([write_votes(tmp_path / "export.csv", table(rows), {})])
    assert unknown.result["estimate"].item() == pytest.approx(ALPHA["nominal"], abs=0.00006)
    assert "treated as nominal" in unknown.notes[0]
    counted = [{**row, "value": float(LEVELS.index(row["answer"]))} for row in rows]
    valued = agreement_of_raters([write_votes(tmp_path / "valued.csv", table(counted), {})])
    assert valued.result["estimate"].item() == pytest.approx(ALPHA["ordinal"], abs=0.00006)


def test_pairs_are_compared_by_what_was_chosen_not_by_its_side(tmp_path: Path) -> None:
    rows = [
        vote(person=f"p{p}", item=f"i{i}", answer="ab"[i % 2], shown_left="ab"[(i + p) % 2])
        for p in range(3)
        for i in range(12)
    ]
    chosen = agreement_of_raters([write_votes(tmp_path / "pairs.jsonl", table(rows), {})])
    assert chosen.result["estimate"].item() == 1.0
    by_side = [{**row, "answer": row["shown_left"]} for row in rows]
    sides = agreement_of_raters([write_votes(tmp_path / "sides.jsonl", table(by_side), {})])
    assert sides.result["estimate"].item() < 0


def test_who_is_left_out_is_counted(tmp_path: Path) -> None:
    rows = classic("nominal", "nominal")
    rows += [
        text_vote(person="fast", item=f"i{i}", question="nominal", answer="5", excluded="too_fast")
        for i in range(12)
    ]
    rows += [text_vote(person="p0", item="g", question="nominal", answer="5", role="gold")]
    rows += [text_vote(person="p0", item="i0", question="nominal", answer="5", role="duplicate")]
    rows += [text_vote(person="p0", item=None, kind=None, question="age", answer="5", role="survey")]
    rows += [text_vote(item="i0", question="why", measurement="text", answer="so")]
    rows += [text_vote(item="i0", question="where", measurement="marks", answer="bad", turn=1)]
    study = agreement_of_raters([write_votes(tmp_path / "export.jsonl", table(rows), {})])
    assert study.result["estimate"].item() == pytest.approx(ALPHA["nominal"], abs=0.00006)
    assert (
        study.notes[0] == "12 judgements of 1 annotators are excluded, by the study's rules or by a reviewer."
    )
    assert [note.split()[0] for note in study.notes] == ["12", "why", "where"]
    written = study.write(tmp_path / "out")
    assert json.loads(written["numbers"].read_text())["notes"] == list(study.notes)
    assert "12 judgements of 1 annotators" in written["report"].read_text()


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    file = write_votes(tmp_path / "export.jsonl", table(classic("nominal", "nominal")), {})
    with pytest.raises(UsageError, match="`--measurement` cannot be used with"):
        agreement_of_raters([file], "ordinal")
    with pytest.raises(UsageError, match="Give one export only"):
        agreement_of_raters([file, file])
    nobody = write_votes(tmp_path / "nobody.csv", table([text_vote(excluded="rejected")]), {})
    with pytest.raises(DataError, match="No question of this study has rating judgements that"):
        agreement_of_raters([nobody])
    file.write_text(file.read_text().replace('"role":"real"', '"role":"boss"', 1))
    with pytest.raises(DataError, match="line 2"):
        agreement_of_raters([file])
