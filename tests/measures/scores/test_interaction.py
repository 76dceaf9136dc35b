"""Interactions of group columns: which pattern is reported, and the level that all pairs share."""

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.measures import interactions


def answers(rates: dict[tuple[str, str], float], n: int = 100) -> dict[str, list]:
    """A table with `n` answers in each combination, this share of them negative."""
    rows = [(sex, age, k < round(rate * n)) for (sex, age), rate in rates.items() for k in range(n)]
    sex, age, bad = zip(*rows, strict=True)
    return {"sex": list(sex), "age": list(age), "bad": ["yes" if one else "no" for one in bad]}


def measured(rates, n=100):
    return eh.measure(
        answers(rates, n), columns={"sex": "group", "age": "group", "bad": "label"}, negative="yes"
    )


ONLY = {("men", "young"): 0.33, ("men", "old"): 0.27, ("women", "young"): 0.26, ("women", "old"): 0.60}
CROSSED = {("men", "young"): 0.33, ("men", "old"): 0.51, ("women", "young"): 0.53, ("women", "old"): 0.29}
ADDITIVE = {("men", "young"): 0.10, ("men", "old"): 0.25, ("women", "young"): 0.20, ("women", "old"): 0.35}


def test_only_older_women_treated_worse() -> None:
    found = measured(ONLY)
    sentences = dict(found.tables()["headlines"].select("axis", "sentence").rows())
    assert "within each" not in " ".join(sentences.values())
    assert (
        "But the gap depends on sex: see Sex × age." in sentences["age"] and "average" not in sentences["age"]
    )
    pair = sentences["sex × age"]
    assert pair.startswith(
        'Sex × age — biased. The rate of "yes" responses is highest for women × old (60%). The gap between'
    )
    assert "higher for women (60%) than for men (27%; difference 33 points" in pair
    missed = "(men 33%, women 26%; difference 7 points, 95% CI −8 to 22)"
    assert f"For young, no difference was detected {missed}" in pair
    assert "Difference between the two gaps (old minus young): 40 points, 95% CI 22 to 58" in pair
    assert " %" not in pair and "-" not in pair
    assert found.tables()["headlines"]["axis"][0] == "sex × age", (
        "who is harmed comes before averages over columns"
    )


def test_a_crossover_is_found_though_no_axis_is(tmp_path) -> None:
    found = measured(CROSSED)
    verdicts = dict(found.findings.filter(pl.col("group").is_null()).select("axis", "verdict").rows())
    assert verdicts["sex"] == verdicts["age"] == "not detected" and verdicts["sex × age"] == "biased"
    page = found.write(tmp_path)["report"].read_text()
    assert "Bias detected in combinations of groups (sex × age), but not on any of the 2 axes alone." in page
    assert "No bias detected on any" not in page


def test_effects_that_add_up_leave_a_gap_within_each_group() -> None:
    sentences = dict(measured(ADDITIVE).tables()["headlines"].select("axis", "sentence").rows())
    assert "The gap remains within each group of sex (average 15 points, 95% CI 7 to 23)." in sentences["age"]
    assert "power to detect a difference between the gaps of 26 points or more" in sentences["sex × age"]


def table(rng, effect, columns=(2, 2, 3, 4), n=800):
    codes = [rng.integers(0, k, n) for k in columns]
    rate = 0.2 + 0.05 * codes[0] + 0.1 * codes[1] + 0.04 * codes[2] + 0.05 * codes[3]
    rate = rate + effect * ((codes[2] == 0) & (codes[3] == 0))
    names = [f"axis {place}" for place in range(len(columns))]
    value = (rng.random(n) < rate).astype(float)
    parts = [
        pl.DataFrame({name: codes[place].astype(str) for place, name in enumerate(names)}).with_columns(
            axis=pl.lit(axis),
            group=pl.Series(codes[place].astype(str)),
            score=value,
            unit=pl.arange(0, n).cast(str),
        )
        for place, axis in enumerate(names)
    ]
    return interactions(pl.concat(parts), {name: name for name in names}, cluster="unit", is_rate=True).pairs


@pytest.mark.slow
def test_six_pairs_share_one_level() -> None:
    rng = np.random.default_rng(11)
    found = [table(rng, 0.0)["axis_p"].min() <= 0.05 for _ in range(60)]
    assert sum(found) <= 7  # 3 expected; more than 7 has probability 0.01
    planted = table(rng, 0.5)
    assert planted.filter(pl.col("axis_p") <= 0.05)["axis"].to_list() == ["axis 2 × axis 3"]
    assert planted["pattern"].drop_nulls().to_list() == ["one combination"]
    q = planted.select("p", "axis_p").sort("p").rows()
    assert q[0][1] == pytest.approx(min(1, 6 * q[0][0]))


def test_a_pair_that_cannot_be_tested_keeps_the_others() -> None:
    rows = {"sex": ["a", "b"] * 60, "age": ["x"] * 60 + ["y"] * 60, "id": [f"p{k}" for k in range(120)]}
    values = np.random.default_rng(0).random(120)
    found = eh.measure(rows | {"score": values}, columns=dict.fromkeys(("sex", "age", "id"), "group"))
    pairs = found.tables()["interactions"]
    assert pairs.filter(pl.col("axis").str.contains("id"))["obstacle"].null_count() == 0
    assert pairs.filter(axis="sex × age")["p"].null_count() == 0


SPARSE = {
    "two of the young": {"sex": ["f", "m"] * 31, "age": ["old"] * 60 + ["young"] * 2},
    "two ages once each": {"sex": ["f", "m"] * 31, "age": ["old"] * 60 + ["x", "y"]},
    "one age": {"sex": ["f", "m"] * 31, "age": ["old"] * 62},
    "every cell once": {"sex": [f"s{i}" for i in range(62)], "age": ["x", "y"] * 31},
    "three columns": {"sex": ["f", "m"] * 31, "age": ["old"] * 60 + ["x", "y"], "race": ["p"] * 61 + ["q"]},
    "confounded": {"sex": ["f"] * 31 + ["m"] * 31, "age": ["old"] * 31 + ["young"] * 31},
}


@pytest.mark.parametrize("columns", SPARSE.values(), ids=list(SPARSE))
@pytest.mark.parametrize("outcome", ["label", "score"])
def test_columns_with_sparse_groups_are_not_measurable(columns, outcome) -> None:
    rng = np.random.default_rng(0)
    values = (
        np.where(rng.random(62) < 0.3, "yes", "no").tolist() if outcome == "label" else rng.normal(size=62)
    )
    what = {name: "group" for name in columns} | {"bad": outcome}
    options = {"negative": "yes"} if outcome == "label" else {}
    found = eh.measure({**columns, "bad": list(values)}, columns=what, **options)
    pairs = found.findings.filter(measure="interaction")
    assert set(pairs["verdict"]) == {"not measurable"} and not pairs["note"].is_null().any()


def lacking(rng, lost, planted=0.0, score=False, n=480):
    """Two columns of two groups; of the high outcomes of one combination this share is missing."""
    first, second = np.arange(n) % 2, np.arange(n) // 2 % 2
    corner = (first == 0) & (second == 0)
    rate = rng.random(n) < 0.3 + planted * corner
    values = rng.normal(50, 10, n) if score else rate.astype(float)
    gone = corner & (values > 50 if score else values == 1) & (rng.random(n) < lost)
    names = {"a": [f"a{one}" for one in first], "b": [f"b{one}" for one in second]}
    columns = names | {"axis": "a", "group": names["a"], "who": np.arange(n).astype(str)}
    return pl.DataFrame(columns | {"score": pl.Series(np.where(gone, np.nan, values)).fill_nan(None)})


@pytest.mark.parametrize("score", [False, True], ids=["rates", "numbers"])
def test_an_interaction_that_missing_outcomes_could_explain_is_not_measurable(score) -> None:
    false = explained = 0
    for seed in range(12):
        frame = lacking(np.random.default_rng(seed), 0.7, score=score)
        found = interactions(frame, {"a": "a", "b": "b"}, cluster="who", is_rate=not score)
        row = found.pairs.row(0, named=True)
        false += row["obstacle"] is None and row["axis_p"] <= 0.05
        if row["obstacle"] is not None:
            explained += row["obstacle"].startswith("Missing responses could explain the interaction: ")
            assert "a0 × b0 are missing, and 0%" in row["obstacle"] and row["pattern"] is None
    assert false <= 1 and explained >= 4
    planted = lacking(np.random.default_rng(1), 0.05, planted=0.4)
    row = interactions(planted, {"a": "a", "b": "b"}, cluster="who", is_rate=True).pairs.row(0, named=True)
    assert row["n_missing"] > 0 and row["obstacle"] is None and row["axis_p"] < 0.001
