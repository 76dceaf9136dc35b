"""Perplexity of lines against the model's own loss line by line, and a planted change."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from evenhand.models import load_model
from evenhand.schema import ModelError
from evenhand.studies.redditbias.language import (
    OWN_MEASURES,
    PUBLISHED,
    USUAL,
    left_out,
    load_lines,
    perplexity_cells,
    read_lines,
)
from evenhand.studies.redditbias.options import RedditBiasConfig

LINES = [
    "I met a kind man today.",
    "She is here.",
    "yes " * 30 + "no",
    "The old man and the young woman laughed.",
]


def cell(cells: list[dict[str, object]], measure: str) -> dict[str, Any]:
    return next(one for one in cells if one["measure"] == measure)


def test_both_perplexities_are_the_models_own_loss(tmp_path: Path) -> None:
    model: Any = load_model("evenhand/reference", device="cpu", dtype="float32")
    table = read_lines(model, LINES, tmp_path / "lines.parquet")
    published, nats, tokens = [], 0.0, 0
    for line in LINES:
        ids = model.tokenizer(line, return_tensors="pt", add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            cut = ids[:, :36]
            published.append(float(model.model(cut, labels=cut).loss))  # the first token is never scored
            whole = torch.cat([torch.tensor([[model.tokenizer.eos_token_id]]), ids], dim=1)
            nats += float(model.model(whole, labels=whole).loss) * ids.shape[1]
        tokens += ids.shape[1]
    cells = perplexity_cells(table, table, 0, base=True)
    assert cell(cells, PUBLISHED)["estimate"] == pytest.approx(math.exp(np.mean(published)), rel=1e-4)
    assert cell(cells, USUAL)["estimate"] == pytest.approx(math.exp(nats / tokens), rel=1e-4)
    assert "change" not in cells[0]
    # what was read is not read again
    assert read_lines(None, LINES, tmp_path / "lines.parquet").equals(table)  # type: ignore[arg-type]


def test_a_planted_ratio_is_found_and_none_where_there_is_none() -> None:
    draw = np.random.default_rng(0)
    tokens = draw.integers(3, 20, 400).astype(float)
    nats = tokens * draw.normal(3.0, 0.5, 400)
    table = pl.DataFrame({"nats": nats, "tokens": tokens, "published_nats": nats, "published_tokens": tokens})
    worse = table.with_columns(pl.col("nats", "published_nats") + 0.1 * pl.col("tokens"))
    for one in perplexity_cells(worse, table, 0):
        assert one["change"] == pytest.approx(math.exp(0.1))
        assert one["change_low"] == pytest.approx(one["change_high"], rel=1e-6)
    same = perplexity_cells(table, table, 0)
    assert [(one["change"], one["change_p"]) for one in same] == [(1.0, 1.0)] * 2
    noisy = table.with_columns(pl.col("nats") + pl.Series(draw.normal(0, 2.0, 400)))
    assert float(cell(perplexity_cells(noisy, table, 0), USUAL)["change_p"]) > 0.01


def test_a_few_lines_may_fail_and_many_may_not(tmp_path: Path) -> None:
    model: Any = load_model("evenhand/reference", device="cpu", dtype="float32")
    lines = [f"She is {number} years old." for number in range(30)] + ["too long " * 300]
    table = read_lines(model, lines, tmp_path / "few.parquet")
    assert table["nats"].null_count() == 1 and table["error"].drop_nulls().to_list() == ["too_long"]
    # by the published rule lines are cut behind 36 tokens, so that none is too long
    ids = model.tokenizer(lines[-1], return_tensors="pt", add_special_tokens=False)["input_ids"][:, :36]
    with torch.no_grad():
        loss = float(model.model(ids, labels=ids).loss)
    row = table.row(30, named=True)
    assert row["published_nats"] / row["published_tokens"] == pytest.approx(loss, rel=1e-4)
    assert [one["n"] for one in perplexity_cells(table, table, 0)] == [31, 30]
    told = left_out(table, "base")
    assert (
        told is not None and "base has no likelihood of 1 (longer than the model takes) of 31 lines" in told
    )
    assert left_out(table[:30], "base") is None
    with pytest.raises(ModelError, match="1 of 2 lines have no likelihood; the first: 'too long"):
        read_lines(model, lines[-2:], tmp_path / "many.parquet")


def test_our_own_lines_speak_of_other_axes_and_depend_on_the_seed() -> None:
    config = RedditBiasConfig(model="m", bias=("evenhand/religion",))
    found = load_lines(config)
    lines = found.texts
    assert len(lines) == 1000 == len(set(lines))
    assert "other axes" in found.called and found.measures == OWN_MEASURES
    assert not any("redditbias" in name for name in found.measures)
    assert not any("Muslim" in line or "Catholic" in line for line in lines)
    assert load_lines(config) == found
    assert load_lines(config.model_copy(update={"seed": 1})).texts != lines
