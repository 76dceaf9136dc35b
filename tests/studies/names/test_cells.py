"""Cells: verdicts over the rows of a measure, perplexity as a ratio paired by name."""

import numpy as np
import polars as pl
import pytest

from evenhand.stats import holm
from evenhand.studies.names.cells import CELLS, judged_cells, perplexity_cell


def test_changes_are_judged_by_holm_over_the_rows_of_a_measure() -> None:
    told = [("a", 0.01, -2.0), ("b", 0.03, 1.0), ("c", 0.2, 5.0)]
    rows = [
        {"row": row, "decoding": decoding, "benchmark": "names", "measure": "classifier_bias", "part": part,
         "change": change, "change_p": p}
        for decoding in ("greedy",)
        for row, p, change in told
        for part in ("", "speaker A")
    ]  # fmt: skip
    table = judged_cells(
        [{"row": "original", "measure": "classifier_bias", "benchmark": "names", "part": ""}, *rows], 0.05
    )
    assert table.columns == list(CELLS) and table.height == 7
    whole = table.filter((pl.col("part") == "") & (pl.col("row") != "original"))
    assert whole["change_q"].to_list() == pytest.approx(holm([p for _, p, _ in told]))
    assert whole["change_verdict"].to_list() == ["lower", "not detected", "not detected"]
    assert table.filter(part="speaker A")["change_verdict"].null_count() == 3  # described only


def test_perplexity_is_per_word_and_its_change_a_ratio() -> None:
    rng = np.random.default_rng(0)
    names = [f"N{number // 5}" for number in range(100)]
    base = pl.DataFrame({"name": names, "words": [10] * 100, "nats": rng.normal(40, 4, 100)})
    row = base.with_columns(nats=pl.col("nats") + 10 * np.log(1.25))
    groups = [[f"N{number}"] for number in range(20)]
    alone = perplexity_cell(base, None, groups)
    assert alone["estimate"] == pytest.approx(np.exp(base["nats"].sum() / 1_000)) and "change" not in alone
    assert alone["low"] < alone["estimate"] < alone["high"]
    changed = perplexity_cell(row, base, groups)
    assert changed["change"] == pytest.approx(1.25)
    silent = perplexity_cell(base.with_columns(nats=pl.lit(None, pl.Float64)), None, groups)
    assert silent["obstacle"] == "The model gives these texts no likelihood."
