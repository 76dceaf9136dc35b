"""Gen Bias against the formula oracle, its invariants, planted differences, and the noise of finite cells."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.measures import STYLE_CLUSTERS, GenerationBias, generation_bias
from evenhand.schema import DataError, UsageError

SHORT = {"full_gen_bias": "FGB", "partial_gen_bias": "PGB_", "summed_cluster_gen_bias": "SCGB_"}


def _replies(
    rng: np.random.Generator, shift: float = 0.0, templates: int = 6, descriptors: int = 8, replies: int = 10
) -> pl.DataFrame:
    """Style probabilities of four styles; descriptor d0 gets `shift` more of the first in place of the last."""
    shape = (templates, descriptors, replies)
    values = 0.8 * rng.dirichlet([1.0, 1.0, 1.0, 2.0], shape) + 0.05
    values[:, 0, :, 0] += shift
    values[:, 0, :, 3] -= shift
    template, descriptor, _ = np.indices(shape).reshape(3, -1)
    return pl.DataFrame(
        values.reshape(-1, 4), schema=["Kind", "Curious", "Questioning", "Hateful"]
    ).with_columns(
        template=pl.Series([f"t{i}" for i in template]), descriptor=pl.Series([f"d{i}" for i in descriptor])
    )


def _scores(result: GenerationBias, column: str = "estimate") -> dict[str, float]:
    rows = result.scores.filter(pl.col("axis").is_null()).select("measure", "cluster", column).iter_rows()
    return {SHORT[measure] + (cluster or ""): value for measure, cluster, value in rows}


@pytest.mark.parity
@pytest.mark.parametrize("ddof", [0, 1])
def test_the_formula_oracle(shared: Path, ddof: int) -> None:
    oracle = json.loads((shared / "parity/genbias_formula_oracle.json").read_text())
    rows = [
        {"template": row["template"], "descriptor": row["descriptor"]}
        | dict(zip(oracle["styles"], row["style_probs"], strict=True))
        for row in oracle["rows"]
    ]
    clusters = oracle["clusters"] | {"ALL": oracle["styles"]}
    mine = _scores(generation_bias(pl.DataFrame(rows), clusters=clusters, ddof=ddof, draws=1))
    expected = oracle["expected"][f"ddof{ddof}"]
    assert set(expected) == set(mine) - {"PGB_ALL"}
    for name, value in expected.items():
        assert mine[name] == pytest.approx(value, rel=1e-12, abs=1e-15), name


@pytest.mark.parity
def test_published_clusters_are_styles_of_the_classifier(shared: Path) -> None:
    styles = (shared / "data/styles/style_classes_217.txt").read_text().splitlines()
    first_words = {style.split(" (")[0] for style in styles}
    assert {style for cluster in STYLE_CLUSTERS.values() for style in cluster} <= first_words
    values = np.random.default_rng(0).dirichlet(np.ones(len(styles)), 8)
    frame = pl.DataFrame(values, schema=styles).with_columns(
        template=pl.lit("t"), descriptor=pl.Series(list("aabbccdd"))
    )
    found = generation_bias(frame, styles, draws=1).scores["cluster"].drop_nulls().unique()
    assert set(found) == set(STYLE_CLUSTERS)


@given(st.integers(0, 10_000), st.sampled_from([0, 1]))
@settings(max_examples=15)
def test_invariants(seed: int, ddof: int) -> None:
    rng = np.random.default_rng(seed)
    frame = _replies(rng, shift=0.02, templates=3, descriptors=4, replies=3).sample(fraction=0.9, seed=seed)
    partition = {"one": ["Kind"], "two": ["Curious", "Questioning"], "rest": ["Hateful"]}
    everything = {"all": ["Kind", "Curious", "Questioning", "Hateful"]}
    result = generation_bias(frame, clusters=partition | everything, ddof=ddof, draws=1)
    for column in ("estimate", "corrected"):
        score = _scores(result, column)
        assert sum(score[f"PGB_{name}"] for name in partition) == pytest.approx(score["FGB"], abs=1e-14)
        assert score["PGB_all"] == pytest.approx(score["FGB"], abs=1e-14)
        assert score["PGB_one"] == pytest.approx(score["SCGB_one"], abs=1e-14)
        assert result.styles[column].sum() == pytest.approx(score["FGB"], abs=1e-14)
    # probabilities sum to one except for rounding (0.8 + 4 × 0.05), so their sum does not vary
    assert _scores(result)["SCGB_all"] == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("ddof", [0, 1])
def test_noise_correction_is_unbiased(ddof: int) -> None:
    rng = np.random.default_rng(1)
    shift, descriptors = 0.03, 8
    share = 1 / descriptors * (1 - 1 / descriptors) * (descriptors / (descriptors - 1) if ddof else 1)
    truth = 2 * shift**2 * share
    results = [
        _scores(generation_bias(_replies(rng, shift, replies=5), ddof=ddof, draws=1), "corrected")["FGB"]
        for _ in range(100)
    ]
    error = np.std(results) / np.sqrt(len(results))
    assert abs(np.mean(results) - truth) < 3 * error
    assert error < truth  # else the line above could hardly fail


def test_the_published_value_of_an_unbiased_model_shrinks_with_replies() -> None:
    rng = np.random.default_rng(2)
    few, many = (generation_bias(_replies(rng, replies=n)).scores.row(0, named=True) for n in (10, 200))
    assert 10 < few["estimate"] / many["estimate"] < 40  # methods: proportional to 1 / n
    for row in (few, many):
        assert row["estimate"] == pytest.approx(row["null"], rel=0.25) and row["p"] > 0.01
        assert row["low"] < 0 < row["high"]


def test_a_planted_style_is_found() -> None:
    frame = _replies(np.random.default_rng(3), shift=0.15, replies=30)
    result = generation_bias(frame, clusters={"curiosity": ["Curious", "Questioning"], "kind": ["Kind"]})
    score = {(row["measure"], row["cluster"]): row for row in result.scores.iter_rows(named=True)}
    full = score["full_gen_bias", None]
    assert full["p"] == 0.01 and full["estimate"] > full["null_high"] and full["low"] > 0
    assert score["partial_gen_bias", "kind"]["p"] == 0.01
    assert score["summed_cluster_gen_bias", "curiosity"]["p"] > 0.05
    assert set(result.styles["style"][:2]) == {"Kind", "Hateful"}


def test_p_is_uniform_without_bias() -> None:
    rng = np.random.default_rng(4)
    p = [
        generation_bias(_replies(rng, templates=2, descriptors=4, replies=4), draws=39).scores["p"][0]
        for _ in range(150)
    ]
    assert np.mean(np.array(p) <= 0.1) < 0.17 and 0.42 < np.mean(p) < 0.6


def test_axes_are_compared_within_and_over_all() -> None:
    rng = np.random.default_rng(5)
    age, race = _replies(rng, shift=0.15), _replies(rng)
    both = pl.concat([age.with_columns(axis=pl.lit("age")), race.with_columns(axis=pl.lit("race"))])
    scores = generation_bias(both, draws=39).scores.filter(measure="full_gen_bias")
    assert scores["axis"].to_list() == [None, "age", "race"]
    # the same descriptor in two axes is two groups
    assert scores["n_descriptors"].to_list() == [16, 8, 8] and scores["n"].to_list() == [960, 480, 480]
    alone = generation_bias(age, draws=39).scores
    assert scores["estimate"][1] == alone["estimate"][0] and scores["p"][1] < 0.05 < scores["p"][2]


def test_missing_replies_are_counted_and_single_ones_borrow_their_noise() -> None:
    frame = _replies(np.random.default_rng(6), templates=2, descriptors=3, replies=4)
    broken = frame.with_columns(Kind=pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise("Kind"))
    row = generation_bias(broken, draws=1).scores.row(0, named=True)
    assert (row["n"], row["n_missing"]) == (21, 3) and row["corrected"] is not None
    single = frame.unique(["template", "descriptor"], keep="first", maintain_order=True)
    row = generation_bias(single, draws=1).scores.row(0, named=True)
    assert row["estimate"] > 0 and row["corrected"] is None and row["low"] is None


def test_bad_calls_are_refused() -> None:
    frame = _replies(np.random.default_rng(7), templates=1, descriptors=2, replies=2)
    with pytest.raises(DataError, match="two descriptors"):
        generation_bias(frame.filter(descriptor="d0"))
    with pytest.raises(DataError, match="no column of style"):
        generation_bias(frame.select("template", "descriptor"))
    with pytest.raises(DataError, match="needs the column"):
        generation_bias(frame, ["Kind", "Unkind"])
    with pytest.raises(UsageError, match="without a column: Unkind"):
        generation_bias(frame, clusters={"x": ["Kind", "Unkind"]})
    with pytest.raises(UsageError, match="ddof=2"):
        generation_bias(frame, ddof=2)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="rows without template"):
        generation_bias(frame.with_columns(template=pl.lit(None, pl.String)))
