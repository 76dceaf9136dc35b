"""Errors of a classifier: counts from either form of table, whose they are, and the correction of one rate."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures.rates.classifier_error import (
    counts_of_axis,
    error_counts,
    of_role,
    rogan_gladen,
)
from evenhand.schema import DataError

COUNTED = pl.DataFrame(
    {
        "role": ["", "toxicity", None, "regard"],
        "axis": ["religion", "", None, None],
        "group": ["a", "b", "", "c"],
        "false_alarms": [1, 2, 3, 4],
        "n_harmless": [10, 20, 30, 40],
        "hits": [9, 18, 27, 36],
        "n_harmful": [10, 20, 30, 40],
    }
)


class TestRoganGladen:
    def test_undoes_what_errors_do_to_a_rate(self) -> None:
        true, hits, passed = np.array([0.0, 0.01, 0.2, 1.0]), 0.9, 0.92
        judged = hits * true + (1 - passed) * (1 - true)
        assert rogan_gladen(judged, hits, passed) == pytest.approx(true, abs=1e-12)

    def test_a_coin_tells_nothing(self) -> None:
        assert np.isnan(rogan_gladen(0.3, [0.5, 0.2, 0.0], [0.5, 0.1, 1.0])).all()


class TestCounts:
    def test_labelled_texts_become_counts(self) -> None:
        texts = pl.DataFrame(
            {
                "group": ["a"] * 6 + [""] * 2,
                "label": ["1", "1", "0", "0", "0", "1", "0", "1"],
                "negative": ["1", "0", "true", "0", "", "1", "0", "1"],
            }
        )
        assert error_counts(texts).sort("group", nulls_last=True).rows() == [
            (None, None, "a", 1.0, 2.0, 2.0, 3.0),
            (None, None, None, 0.0, 1.0, 1.0, 1.0),
        ]

    @pytest.mark.parametrize(
        ("table", "says"),
        [
            (COUNTED.drop("hits"), "hits"),
            (COUNTED.with_columns(hits=pl.lit(50)), "more false_alarms than n_harmless"),
            (COUNTED.with_columns(hits=pl.lit(-1)), "missing or negative"),
            (COUNTED.with_columns(hits=pl.lit("many")), "the column hits contains 'many'"),
            (pl.concat([COUNTED, COUNTED]), "error counts for a"),
            (
                pl.DataFrame({"group": ["a"], "label": [2], "negative": [1]}),
                "the column label must contain only 1 and 0",
            ),
            (
                pl.DataFrame({"group": ["a"], "label": [None], "negative": [1]}),
                "the column label is empty in 1 rows",
            ),
        ],
    )
    def test_other_tables_are_refused(self, table: pl.DataFrame, says: str) -> None:
        with pytest.raises(DataError, match=says):
            error_counts(table)

    def test_a_group_takes_its_own_row_and_else_that_of_all(self) -> None:
        counts = of_role(error_counts(COUNTED), "toxicity")
        found = counts_of_axis(counts, "religion", ("a", "b", "c"))
        assert found is not None
        assert found.false_alarms.tolist() == [1, 2, 3]
        assert found.shared.tolist() == [False, False, True]
        elsewhere = counts_of_axis(counts, "age", ("a",))
        assert elsewhere is not None and elsewhere.false_alarms.tolist() == [3]

    def test_an_axis_that_is_not_spoken_of_stays_as_it_is(self) -> None:
        alone = error_counts(COUNTED.head(1))
        assert counts_of_axis(alone, "age", ("a",)) is None
        partly = counts_of_axis(alone, "religion", ("a", "b"))
        assert partly is not None and np.isnan(partly.harmless[1])
