"""Rates after toxic and benign prompts: against statsmodels' intervals, SciPy's test, planted and absent effects."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import rates_by_prompt_toxicity
from evenhand.schema import DataError, UsageError


def _frame(
    rng: np.random.Generator, benign: float, toxic: float, prompts: int = 80, samples: int = 1
) -> pl.DataFrame:
    score = rng.random(prompts)
    rate = np.where(score >= 0.5, toxic, benign)
    chance = rng.beta(2 * rate + 1e-9, 2 * (1 - rate) + 1e-9) if samples > 1 else rate
    return pl.DataFrame(
        {
            "prompt_id": np.repeat(np.arange(prompts), samples),
            "prompt_toxicity": np.repeat(score, samples),
            "negative": (rng.random((prompts, samples)) < chance[:, None]).ravel(),
        }
    )


def test_limits_and_test_are_the_known_ones() -> None:
    from statsmodels.stats.proportion import confint_proportions_2indep

    frame = pl.DataFrame(
        {"prompt_toxicity": [0.5] * 60 + [0.49] * 90, "negative": [1] * 24 + [0] * 36 + [1] * 18 + [0] * 72}
    )
    row = rates_by_prompt_toxicity(frame).contrasts.row(0, named=True)
    low, high = confint_proportions_2indep(24, 60, 18, 90, method="newcomb")
    assert (row["low"], row["high"]) == pytest.approx((100 * low, 100 * high))
    assert (row["benign"], row["toxic"], row["ratio"]) == pytest.approx((20.0, 40.0, 2.0))
    katz = confint_proportions_2indep(24, 60, 18, 90, compare="ratio", method="log")
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx(katz, rel=0.05)


def test_groups_bins_and_prompts_without_toxicity() -> None:
    rng = np.random.default_rng(1)
    parts = [
        _frame(rng, 0.1, toxic, 200).with_columns(group=pl.lit(name), axis=pl.lit("x"))
        for name, toxic in (("a", 0.6), ("b", 0.1))
    ]
    frame = pl.concat([*parts, parts[0].head(5).with_columns(prompt_toxicity=pl.lit(None, pl.Float64))])
    result = rates_by_prompt_toxicity(frame, bins=[0.25, 0.75])
    contrasts = {row["group"]: row for row in result.contrasts.iter_rows(named=True)}
    assert contrasts["a"]["low"] > 0 > contrasts["b"]["low"]
    assert (
        contrasts["a"]["n_unknown"] == contrasts[None]["n_unknown"] == 5 and contrasts["b"]["n_unknown"] == 0
    )
    rates = result.rates.filter(group="a")
    assert rates["stratum"].to_list() == ["benign", "toxic", "0-0.25", "0.25-0.75", "0.75-1"]
    middle = parts[0].filter(pl.col("prompt_toxicity").is_between(0.25, 0.75, closed="left"))
    assert rates.filter(stratum="0.25-0.75").select("n", "estimate").row(0) == pytest.approx(
        (middle.height, 100 * middle["negative"].mean())
    )
    assert rates["n"][:2].sum() == rates["n"][2:].sum() == 200


def test_labels_serve_as_well_as_scores() -> None:
    frame = _frame(np.random.default_rng(2), 0.2, 0.5)
    flags = frame.with_columns(pl.col("prompt_toxicity") >= 0.5)
    assert rates_by_prompt_toxicity(flags).contrasts.equals(rates_by_prompt_toxicity(frame).contrasts)


def test_without_effect_and_with_clusters_nothing_is_found() -> None:
    rng = np.random.default_rng(3)
    rows = [
        rates_by_prompt_toxicity(_frame(rng, 0.2, 0.2, 50, samples=6)).contrasts.row(0, named=True)
        for _ in range(80)
    ]
    assert np.mean([row["low"] <= 0 <= row["high"] for row in rows]) > 0.92


def test_one_kind_of_prompt_has_rates_but_no_contrast() -> None:
    frame = pl.DataFrame({"prompt_toxicity": [0.1] * 10, "negative": [1] * 5 + [0] * 4 + [None]})
    result = rates_by_prompt_toxicity(frame)
    row = result.contrasts.row(0, named=True)
    assert row["toxic"] is None and row["estimate"] is None and row["n_missing"] == 1
    assert result.rates.select("stratum", "n", "n_missing").rows() == [("benign", 9, 1)]


def test_bad_calls_are_refused() -> None:
    frame = _frame(np.random.default_rng(5), 0.2, 0.5)
    with pytest.raises(DataError, match="outside 0 to 1"):
        rates_by_prompt_toxicity(frame.with_columns(pl.col("prompt_toxicity") * 100))
    with pytest.raises(UsageError, match=r"bins=\[2\]"):
        rates_by_prompt_toxicity(frame, bins=[2])
    with pytest.raises(DataError, match="needs the column prompt_toxicity"):
        rates_by_prompt_toxicity(frame.drop("prompt_toxicity"))
