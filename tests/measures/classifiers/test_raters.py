"""Alpha of labelled tables: questions, missing ratings, words and numbers, and why there is no number."""

import polars as pl
import pytest

from evenhand.measures import rater_agreement
from evenhand.schema import DataError


def long(rows: list[str], names: dict[str, str] | None = None) -> pl.DataFrame:
    """Rows of ratings, one letter a unit and a blank where one is missing, as one row a rating."""
    return pl.DataFrame(
        [
            {"unit": unit, "rater": f"r{rater}", "rating": None if r == " " else (names or {}).get(r, r)}
            for rater, row in enumerate(rows)
            for unit, r in enumerate(row)
        ]
    )


def classic(names: dict[str, str] | None = None) -> pl.DataFrame:
    return long(["123321412   ", "1233224125 3", " 3332342251 ", "12332441251 "], names)


@pytest.mark.parametrize(
    ("measurement", "expected"), [("nominal", 0.7434), ("ordinal", 0.8154), ("interval", 0.8491)]
)
def test_the_classic_example_as_texts(measurement: str, expected: float) -> None:
    found = rater_agreement(classic(), measurement).row(0, named=True)
    assert found["estimate"] == pytest.approx(expected, abs=5e-5)
    assert (found["question"], found["measurement"], found["reason"]) == ("all", measurement, None)
    assert [found[f"n_{what}"] for what in ("units", "ratings", "raters", "missing")] == [11, 40, 4, 8]


def test_words_are_as_good_as_numbers_where_only_equality_counts() -> None:
    words = {"1": "no", "2": "yes", "3": "perhaps", "4": "never", "5": "ja"}
    one, other = rater_agreement(classic(words)), rater_agreement(classic())
    assert one["estimate"].item() == pytest.approx(other["estimate"].item())
    with pytest.raises(DataError, match="'ordinal' requires numbers, but the column rating contains 'no'"):
        rater_agreement(classic(words), "ordinal")


def test_each_question_has_its_row() -> None:
    both = pl.concat(
        [
            classic().with_columns(question=pl.lit("first")),
            long(["11", "11"]).with_columns(question=pl.lit("second")),
            long(["12"]).with_columns(question=pl.lit("third")),
        ]
    )
    found = rater_agreement(both)
    assert found["question"].to_list() == ["first", "second", "third"]
    assert found["estimate"].is_null().to_list() == [False, True, True]
    assert found["reason"].to_list() == [None, "all ratings are equal", "no unit has two ratings"]


def test_what_is_no_table_of_ratings() -> None:
    with pytest.raises(DataError, match="rating"):
        rater_agreement(classic().drop("rating"))
    with pytest.raises(DataError, match="'r0' rated the unit '0' more than once"):
        rater_agreement(pl.concat([classic(), classic()]))
