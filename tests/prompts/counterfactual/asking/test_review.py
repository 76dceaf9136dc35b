"""A review goes out and comes back: edited, shortened, and safe to open in a spreadsheet."""

import csv
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, strategies as st

from evenhand.prompts.counterfactual import asked_about, read_own, read_review, write_review
from evenhand.prompts.counterfactual.asking.review import escape_formulas, unescape_formulas
from evenhand.schema import DataError

OWN = pl.DataFrame(
    {
        "base": ["a", "b", "c"],
        "text": ["She left.", "=HYPERLINK(A1) for Fatima", "Dear {name}, hello."],
        "note": ["@x", "-1", "plain"],
    }
)


@pytest.fixture
def review(tmp_path: Path) -> Path:
    return write_review(tmp_path / "review.csv", asked_about(OWN, ["gender", "name"]))


def rewritten(path: Path, change) -> Path:
    frame = pl.read_csv(path, infer_schema=False)
    change(frame).write_csv(path)
    return path


def test_what_goes_out_comes_back(review: Path) -> None:
    assert read_review(review).frame.equals(asked_about(OWN, ["gender", "name"]).frame)


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_review_that_a_spreadsheet_saved_as_windows_1252_is_read(tmp_path: Path, delimiter: str) -> None:
    own = OWN.with_columns(
        text=pl.Series(["She likes the café, Müller says.", "He left.", "Dear {name}, hello."])
    )
    asked = asked_about(own, ["gender"])
    path = write_review(tmp_path / "review.csv", asked)
    text = pl.read_csv(path, infer_schema=False).write_csv(separator=delimiter)
    path.write_bytes(text.encode("cp1252"))
    found = read_review(path)
    assert found.frame.equals(asked.frame)
    assert "review.csv: Read as Windows-1252, as line 2 is not UTF-8." in found.describe_notes()


def test_own_prompts_in_windows_1252_are_read_and_noted(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_bytes("text\nShe likes the café.\n".encode("cp1252"))
    notes: list[str] = []
    assert read_own(path, notes)["text"].to_list() == ["She likes the café."]
    assert notes == ["own.csv: Read as Windows-1252, as line 2 is not UTF-8."]
    with pytest.raises(DataError, match="is not UTF-8"):
        read_own(path)


def test_no_cell_is_a_formula(review: Path) -> None:
    with review.open(newline="") as handle:
        cells = [cell for row in csv.reader(handle) for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=+-@\t\r" and cell]
    assert any(cell.startswith("'=HYPERLINK") for cell in cells)


@given(st.lists(st.text(alphabet="'=+-@\t\ra")))
def test_quoting_is_undone_whatever_a_cell_holds(cells: list[str]) -> None:
    series = pl.Series("x", cells, pl.String)
    assert unescape_formulas(escape_formulas(series)).to_list() == cells
    assert not [cell for cell in escape_formulas(series) if cell[:1] in tuple("=+-@\t\r")]


def test_rows_that_are_deleted_or_not_kept_are_not_asked(review: Path) -> None:
    def change(frame: pl.DataFrame) -> pl.DataFrame:
        dropped = frame.filter(~((pl.col("base") == "b") & (pl.col("group") == "men")))
        no = (pl.col("base") == "a") & (pl.col("group") == "women")
        return dropped.with_columns(keep=pl.when(no).then(pl.lit("no")).otherwise("keep"))

    found = read_review(rewritten(review, change))
    assert set(found.frame.filter(axis="gender")["base"]) == {"c"}
    assert found.left_out.select("base", "axis").rows() == [("a", "gender"), ("b", "gender")]
    assert "only one of its groups is left" in found.describe_notes()[0]


def test_an_edited_text_is_no_longer_the_users_own_wording(review: Path) -> None:
    own = (pl.col("base") == "a") & (pl.col("group") == "women")
    found = read_review(
        rewritten(
            review,
            lambda frame: frame.with_columns(
                text=pl.when(own).then(pl.lit("She has left.")).otherwise("text")
            ),
        )
    )
    row = found.frame.filter(base="a", group="women").row(0, named=True)
    assert (row["text"], row["original"]) == ("She has left.", False)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda f: f.with_columns(text=pl.lit("All the same.")),
            "rows 1 and 2: a has the same text for women and men (gender).",
        ),
        (lambda f: f.with_columns(group=pl.lit("")), "row 1: 'group' is empty"),
        (lambda f: f.drop("axis"), "no column 'axis'"),
        (lambda f: f.with_columns(keep=pl.lit("perhaps")), "row 1: 'keep' must be true or false, got 'perhaps"),
        (lambda f: f.filter(pl.col("group") == "women"), "no prompt is left with texts about two groups"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_row(review: Path, change, told: str) -> None:
    with pytest.raises(DataError) as error:
        read_review(rewritten(review, change))
    assert told in error.value.message
    assert "score" not in (error.value.hint or "")
