"""People's tables compared: one long table, or one labelled table of each rater."""

import csv
import json
from pathlib import Path

import pytest

from evenhand.schema import DataError, UsageError
from evenhand.studies.agreement import agreement_of_raters

BINARY = ["101100", "101000", "11100 "]


def long_table(tmp_path: Path) -> Path:
    lines = ["unit,rater,rating"] + [
        f"u{unit},r{rater},{value.strip()}"
        for rater, row in enumerate(BINARY)
        for unit, value in enumerate(row)
    ]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def labelled_tables(tmp_path: Path) -> list[Path]:
    """The same ratings as phrases that three people labelled; of the comments they say 1 alone."""
    paths = []
    for rater, row in enumerate(BINARY):
        path = tmp_path / f"{rater}.csv"
        with path.open("w", newline="") as handle:
            writer = csv.writer(handle)
            writer.writerow(["id", "attribute_in_window", "comment", "phrase", "bias_sent", "bias_phrase"])
            for unit, value in enumerate(row):
                writer.writerow(
                    [unit, "TRUE", f"comment {unit}", "a phrase", "1", value.replace(" ", "unsure")]
                )
        paths.append(path)
    return paths


def test_one_long_table(tmp_path: Path) -> None:
    study = agreement_of_raters([long_table(tmp_path)])
    row = study.result.row(0, named=True)
    assert row["estimate"] == pytest.approx(5 / 9)
    assert [row[f"n_{what}"] for what in ("units", "ratings", "raters", "missing")] == [6, 17, 3, 1]
    written = study.write(tmp_path / "out")
    assert json.loads(written["numbers"].read_text())["alpha"][0]["estimate"] == pytest.approx(5 / 9)
    assert "Krippendorff&#39;s alpha (nominal)" in written["report"].read_text()
    interval = agreement_of_raters([long_table(tmp_path)], "interval").result
    assert interval["estimate"].item() == pytest.approx(5 / 9)  # of two values all are the same


def test_a_labelled_table_of_each_rater(tmp_path: Path) -> None:
    rows = agreement_of_raters(labelled_tables(tmp_path)).result.rows(named=True)
    assert [row["question"] for row in rows] == ["bias_sent", "bias_phrase"]
    assert (rows[0]["estimate"], rows[0]["reason"]) == (None, "all ratings are equal")
    assert rows[1]["estimate"] == pytest.approx(5 / 9)


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    tables = labelled_tables(tmp_path)
    with pytest.raises(DataError, match="contains the labels of one rater only"):
        agreement_of_raters(tables[:1])
    with pytest.raises(DataError, match="File not found"):
        agreement_of_raters([tmp_path / "none.csv", tables[0]])
    with pytest.raises(
        DataError, match=r"has no columns 'comment', 'phrase', 'bias_sent', 'bias_phrase' \(found: unit,"
    ):
        agreement_of_raters([long_table(tmp_path), *tables])
    (tmp_path / "x.csv").write_text("unit,rater\na,b\n")
    with pytest.raises(DataError, match=r"has no column 'rating' \(found: unit, rater"):
        agreement_of_raters([tmp_path / "x.csv"])
    with pytest.raises(UsageError, match="No table"):
        agreement_of_raters([])
    with pytest.raises(UsageError, match="measurement='ratio'"):
        agreement_of_raters([long_table(tmp_path)], "ratio")  # type: ignore[arg-type]


@pytest.mark.parametrize("rating", ["9" * 400, "inf", "-1e309"])
def test_ratings_beyond_all_numbers_are_not_called_equal(tmp_path: Path, rating: str) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f"unit,rater,rating\n1,a,{rating}\n1,b,1\n2,a,1\n2,b,1\n")
    with pytest.raises(DataError, match="infinite or too large"):
        agreement_of_raters([file], "ordinal")


def test_a_heading_of_many_letters(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f"{'a' * 200_000},rater,rating\n1,a,1\n")
    with pytest.raises(DataError, match="is not a valid CSV"):
        agreement_of_raters([file])
