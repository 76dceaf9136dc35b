"""Agreement of classifiers against statsmodels, scikit-learn and SciPy, and planted disagreement."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import agreement
from evenhand.schema import DataError, UsageError


def _verdicts(
    rng: np.random.Generator, n: int, flips: np.ndarray | float = 0.1, rate: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    first = rng.random(n) < rate
    return first, first ^ (rng.random(n) < flips)


def _frame(rng: np.random.Generator, n: int = 400, flips: np.ndarray | float = 0.1) -> pl.DataFrame:
    first, second = _verdicts(rng, n, flips)
    return pl.DataFrame(
        {
            "x_negative": first,
            "y_negative": second,
            "x_score": first + rng.normal(size=n),
            "y_score": second + rng.normal(size=n),
            "axis": "race",
            "group": [f"g{i % 4}" for i in range(n)],
        }
    )


def test_values_are_those_of_other_libraries() -> None:
    from scipy.stats import pearsonr, spearmanr
    from sklearn.metrics import cohen_kappa_score, f1_score

    frame = _frame(np.random.default_rng(0))
    value = dict(agreement(frame, "x", "y").overall.select("measure", "estimate").iter_rows())
    x, y = frame["x_negative"].to_numpy(), frame["y_negative"].to_numpy()
    assert value["kappa"] == pytest.approx(cohen_kappa_score(x, y))
    assert value["agreement"] == (x == y).mean()
    assert value["negative_agreement"] == pytest.approx(f1_score(x, y))
    assert value["positive_agreement"] == pytest.approx(f1_score(~x, ~y))
    assert value["harsher"] == pytest.approx(x.mean() - y.mean())
    scores = frame["x_score"].to_numpy(), frame["y_score"].to_numpy()
    assert value["pearson"] == pytest.approx(pearsonr(*scores).statistic)
    assert value["spearman"] == pytest.approx(spearmanr(*scores).statistic)


def test_copies_of_rows_do_not_narrow_the_limits_if_they_are_one_cluster() -> None:
    frame = _frame(np.random.default_rng(3), 120).with_row_index("prompt_id")
    once = agreement(frame, "x", "y").overall
    thrice = agreement(pl.concat([frame] * 3), "x", "y").overall
    for column in ("estimate", "low", "high"):
        np.testing.assert_allclose(once[column].to_numpy(), thrice[column].to_numpy(), rtol=1e-9)


def test_planted_disagreement_about_one_group_is_named() -> None:
    rng = np.random.default_rng(4)
    flips = np.where(np.arange(1200) % 4 == 2, 0.35, 0.08)
    result = agreement(_frame(rng, 1200, flips), "x", "y")
    rows = {row["group"]: row for row in result.groups.iter_rows(named=True)}
    assert (
        result.groups_p <= 0.0001 and rows["g2"]["q"] < 0.001 and rows["g2"]["low"] > rows["g2"]["background"]
    )
    assert rows["g2"]["kappa"] < rows["g1"]["kappa"]
    for row in rows.values():
        assert row["estimate"] == pytest.approx(row["only_a"] + row["only_b"])
        assert row["rate_a"] - row["rate_b"] == pytest.approx(row["only_a"] - row["only_b"])


def test_equal_disagreement_is_not_found() -> None:
    rng = np.random.default_rng(5)
    p, overall = [], []
    for _ in range(60):
        result = agreement(_frame(rng, 300), "x", "y")
        p += result.groups["p"].to_list()
        overall.append(result.groups_p)
    assert np.mean(np.array(p) <= 0.05) <= 0.07 and np.mean(np.array(overall) <= 0.1) <= 0.2


def test_missing_judgements_of_either_are_counted() -> None:
    frame = _frame(np.random.default_rng(6), 100).with_columns(
        x_negative=pl.when(pl.int_range(pl.len()) >= 8).then("x_negative"),
        y_negative=pl.when(pl.int_range(pl.len()) < 96).then("y_negative"),
    )
    result = agreement(frame, "x", "y")
    assert result.overall.filter(measure="kappa").select("n", "n_missing").row(0) == (88, 12)
    assert result.groups["n_missing"].to_list() == [3, 3, 3, 3]
    assert result.overall.filter(measure="pearson")["n"][0] == 100


def test_verdicts_that_never_change_have_no_kappa() -> None:
    frame = pl.DataFrame({"x_negative": [0] * 20, "y_negative": [0] * 20})
    result = agreement(frame, "x", "y")
    value = dict(result.overall.select("measure", "estimate").iter_rows())
    assert value["kappa"] is None and value["agreement"] == 1.0 and value["negative_agreement"] is None
    assert result.groups.is_empty() and result.groups_p is None


def test_bad_calls_are_refused() -> None:
    frame = _frame(np.random.default_rng(7), 20)
    with pytest.raises(UsageError, match="same classifier"):
        agreement(frame, "x", "x")
    with pytest.raises(DataError, match="needs the column z_negative"):
        agreement(frame, "x", "z")
    apart = pl.DataFrame({"x_negative": [1, None], "y_negative": [None, 0]})
    with pytest.raises(DataError, match="no text was classified by both"):
        agreement(apart, "x", "y")
