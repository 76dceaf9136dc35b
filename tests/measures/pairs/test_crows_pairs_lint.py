"""The linter's counts on the published pairs, and what each column means."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.measures import crows_pairs, lint_crows_pairs
from evenhand.schema import DataError


@pytest.mark.parity
def test_counts_of_the_methods_card(shared: Path) -> None:
    lint = lint_crows_pairs(pl.read_csv(shared / "data" / "crows_pairs" / "crows_pairs_anonymized.csv"))
    assert (lint["changed_spans"] > 1).sum() == 236
    assert lint["length_differs"].sum() == 213
    assert (lint["agreeing"] <= 2).sum() == 162
    assert (lint["unmarked"] > 0).sum() == 493
    assert lint["duplicate"].sum() == 1


PAIRS = pl.DataFrame(
    {
        "sent_more": ["Old men are slow.", "The old man sleeps at noon.", "Old men are slow."],
        "sent_less": ["Young men are slow.", "A young man sleeps at night.", "Young men are slow."],
        "bias_type": ["age"] * 3,
        "annotations": ["[['age'], ['age'], ['age'], ['age'], ['age']]"] * 2
        + ["[['age'], ['age'], [], [], ['race']]"],
        "log_likelihood_more": [-1.0, -2.0, -1.0],
        "log_likelihood_less": [-2.0, -1.0, -2.0],
    }
)


def test_columns() -> None:
    lint = lint_crows_pairs(PAIRS)
    assert lint["changed_spans"].to_list() == [1, 2, 1]
    assert lint["agreeing"].to_list() == [5, 5, 2]
    assert lint["duplicate"].to_list() == [False, False, True]
    assert lint["flagged"].to_list() == [False, True, True]


def test_flagged_pairs_can_be_left_out() -> None:
    kept = crows_pairs(PAIRS, architecture="causal", exclude_flagged=True)
    assert kept.groups.select("n", "estimate").row(0) == (1, 100.0)
    everything = crows_pairs(PAIRS, architecture="causal")
    assert everything.groups.select("n", "estimate").row(0) == (2, 50.0)
    assert everything.pairs["flagged"].sum() == 2


@pytest.mark.parametrize("value", ["age", "[['age']", "['age']", None])
def test_unreadable_annotations_are_named(value: str | None) -> None:
    with pytest.raises(DataError, match="Row 0"):
        lint_crows_pairs(PAIRS.with_columns(annotations=pl.lit(value, pl.String)))
