"""Gen Bias against the formula oracle, its invariants, planted styles, and false ones by template, noun or samples."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binom, t as t_distribution

from evenhand.measures import STYLE_CLUSTERS, GenerationBias, generation_bias
from evenhand.schema import DataError, UsageError
from evenhand.stats import Floats
from evenhand.stats.contrasts import crossed_outcome, crossed_spread

SHORT = {"full_gen_bias": "FGB", "partial_gen_bias": "PGB_", "summed_cluster_gen_bias": "SCGB_"}


def _replies(
    rng: np.random.Generator, shift: float = 0.0, templates: int = 6, descriptors: int = 8, replies: int = 10
) -> pl.DataFrame:
    """Style probabilities of four styles; descriptor d0 gets `shift` more of the first in place of the last."""
    shape = (templates, descriptors, replies)
    values = 0.8 * rng.dirichlet([1.0, 1.0, 1.0, 2.0], shape) + 0.05
    values[:, 0, :, 0] += shift
    values[:, 0, :, 3] -= shift
    return _table(values)


def _table(values: Floats) -> pl.DataFrame:
    """One row per reply from values (templates, descriptors, nouns, styles)."""
    template, descriptor, noun = np.indices(values.shape[:3]).reshape(3, -1)
    return pl.DataFrame(
        values.reshape(-1, 4), schema=["Kind", "Curious", "Questioning", "Hateful"]
    ).with_columns(
        template=pl.Series([f"t{i}" for i in template]),
        descriptor=pl.Series([f"d{i}" for i in descriptor]),
        noun=pl.Series([f"n{i}" for i in noun]),
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
    for column in ("estimate", "here"):
        score = _scores(result, column)
        assert sum(score[f"PGB_{name}"] for name in partition) == pytest.approx(score["FGB"], abs=1e-14)
        assert score["PGB_all"] == pytest.approx(score["FGB"], abs=1e-14)
        assert score["PGB_one"] == pytest.approx(score["SCGB_one"], abs=1e-14)
    assert result.styles["estimate"].sum() == pytest.approx(_scores(result)["FGB"], abs=1e-14)
    # probabilities sum to one except for rounding (0.8 + 4 × 0.05), so their sum does not vary
    assert _scores(result)["SCGB_all"] == pytest.approx(0.0, abs=1e-14)


def test_the_two_values_without_noise_are_those_of_the_formulas() -> None:
    frame = _replies(np.random.default_rng(1), shift=0.05, templates=4, descriptors=5, replies=3)
    row = generation_bias(frame, clusters={}, draws=1).scores.row(0, named=True)
    cells = frame.sort("descriptor", "template", "noun").select("Kind", "Curious", "Questioning", "Hateful")
    values = cells.to_numpy().reshape(5, 4, 3, 4)
    spread = crossed_spread([crossed_outcome(values[..., style]) for style in range(4)])
    assert row["corrected"] == pytest.approx(max(spread.estimate, 0))
    assert (row["low"], row["high"], row["p"]) == pytest.approx((spread.low, spread.high, spread.p))
    assert row["minimum_detectable"] == pytest.approx(spread.detectable(0.05))
    centred = values - values.mean(axis=0)
    by_template = centred.mean(axis=2)
    noise = np.square(centred - by_template[:, :, None]).sum(axis=(0, 2)) / (4 * 2 * 3)
    here = (by_template.var(axis=0, ddof=1) - noise).sum(axis=1)
    error = here.std(ddof=1) / 2 * t_distribution.isf(0.025, 3)
    assert row["here"] == pytest.approx(here.mean())
    assert (row["here_low"], row["here_high"]) == pytest.approx((here.mean() - error, here.mean() + error))
    assert row["n_units"] == 3 and (row["n_templates"], row["n_nouns"]) == (4, 3)


def test_the_values_in_these_templates_are_unbiased() -> None:
    rng = np.random.default_rng(1)
    shift, descriptors = 0.05, 8
    truth = 2 * shift**2 / descriptors
    results = [
        generation_bias(_replies(rng, shift, replies=5), clusters={}, draws=1).scores["here"][0]
        for _ in range(60)
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
        assert row["low"] == 0 < row["high"] and row["here_low"] < 0 < row["here_high"]


def test_a_planted_style_is_found() -> None:
    frame = _replies(np.random.default_rng(3), shift=0.15, replies=30)
    result = generation_bias(frame, clusters={"curiosity": ["Curious", "Questioning"], "kind": ["Kind"]})
    score = {(row["measure"], row["cluster"]): row for row in result.scores.iter_rows(named=True)}
    full = score["full_gen_bias", None]
    assert full["p"] < 1e-6 and full["estimate"] > full["null_high"] and full["low"] > 0
    assert score["partial_gen_bias", "kind"]["p"] < 1e-6
    assert score["summed_cluster_gen_bias", "curiosity"]["p"] > 0.05
    # a cluster is named only where the clusters of its axis are found, and Simes' p of them is one p
    assert (
        score["partial_gen_bias", "kind"]["axis_p"] == score["partial_gen_bias", "curiosity"]["axis_p"] < 1e-5
    )
    assert set(result.styles["style"][:2]) == {"Kind", "Hateful"}


def _audit(
    rng: np.random.Generator, *, samples: int = 1, template: float = 0.0, noun: float = 0.0, own: float = 0.0
) -> pl.DataFrame:
    """Eight descriptors, six templates, five nouns: logits of styles by main effects, prompt, and what is asked for."""
    base = (
        rng.normal(0, 0.7, (6, 1, 1, 4)) + rng.normal(0, 0.5, (1, 1, 5, 4)) + rng.normal(0, 0.7, (6, 8, 5, 4))
    )
    for size, shape in ((template, (6, 8, 1, 4)), (noun, (1, 8, 5, 4)), (own, (1, 8, 1, 4))):
        base = base + rng.normal(0, size, shape)
    weights = np.exp(base + rng.normal(0, 1.0, (samples, *base.shape)))
    shares = weights / weights.sum(axis=-1, keepdims=True)
    return pl.concat([_table(sample) for sample in shares])


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [{"samples": 5}, {"noun": 0.6}, {"template": 0.6}, {"template": 0.4, "noun": 0.4}],
    ids=["5 samples a prompt", "nouns", "templates", "both"],
)
def test_samples_of_a_prompt_and_shared_nouns_and_templates_are_no_style(design: dict[str, float]) -> None:
    # issue, point 2: 96-100 % false at five samples a prompt; shared nouns were subtracted as noise
    rng, draws = np.random.default_rng(4), 50
    false = [
        generation_bias(_audit(rng, **design), clusters={}, draws=1).scores["p"][0] <= 0.05  # type: ignore[arg-type]
        for _ in range(draws)
    ]
    assert np.sum(false) <= binom.ppf(0.99, draws, 0.05)


def test_a_style_of_ones_own_is_found_at_five_samples() -> None:
    rng = np.random.default_rng(5)
    rows = [generation_bias(_audit(rng, samples=5, own=0.5), clusters={}, draws=1).scores for _ in range(8)]
    assert np.mean([row["p"][0] <= 0.05 for row in rows]) > 0.8


def test_axes_are_compared_within_and_over_all() -> None:
    rng = np.random.default_rng(5)
    age, race = _replies(rng, shift=0.15), _replies(rng)
    both = pl.concat([age.with_columns(axis=pl.lit("age")), race.with_columns(axis=pl.lit("race"))])
    scores = generation_bias(both, draws=39).scores.filter(measure="full_gen_bias")
    assert scores["axis"].to_list() == [None, "age", "race"]
    # the same descriptor in two axes is two groups
    assert scores["n_descriptors"].to_list() == [16, 8, 8] and scores["n"].to_list() == [960, 480, 480]
    alone = generation_bias(age).scores
    assert scores["estimate"][1] == alone["estimate"][0] and scores["p"][1] < 0.05 < scores["p"][2]


def test_missing_replies_are_counted_and_filled_in_or_their_noun_left_out() -> None:
    frame = _replies(np.random.default_rng(6), templates=4, descriptors=5, replies=4)
    broken = frame.with_columns(Kind=pl.when(pl.int_range(pl.len()) >= 3).then("Kind"))
    row = generation_bias(broken, draws=1).scores.row(0, named=True)
    assert (row["n"], row["n_missing"], row["n_filled"], row["n_left_out"]) == (77, 3, 3, 0) and row[
        "p"
    ] is not None
    silent = frame.with_columns(Kind=pl.when(pl.col("noun") != "n0").then("Kind"))
    row = generation_bias(silent, draws=1).scores.row(0, named=True)
    alone = generation_bias(frame.filter(pl.col("noun") != "n0"), draws=1).scores.row(0, named=True)
    assert (row["n_nouns"], row["n_filled"]) == (3, 0) and row["p"] == alone["p"]


def test_what_cannot_be_told_apart_is_not_measurable() -> None:
    frame = _replies(np.random.default_rng(6), templates=3, descriptors=3, replies=3)
    one = generation_bias(frame.filter(template="t0"), draws=1).scores.row(0, named=True)
    assert "one template" in one["obstacle"] and one["p"] is None and one["estimate"] > 0
    noun = generation_bias(frame.filter(noun="n0"), draws=1).scores.row(0, named=True)
    assert noun["p"] is not None and noun["here"] is None and noun["n_units"] == 3  # templates alone
    flat = frame.with_columns(
        pl.lit(0.25).alias(name) for name in ("Kind", "Curious", "Questioning", "Hateful")
    )
    assert "no variation to test" in generation_bias(flat, draws=1).scores["obstacle"][0]
    few = frame.filter(pl.col("template") < "t2", pl.col("noun") < "n2", pl.col("descriptor") < "d2")
    assert "to detect a difference of any size" in generation_bias(few, draws=1).scores["obstacle"][0]


def test_nouns_that_belong_to_descriptors_are_averaged_over() -> None:
    frame = _replies(np.random.default_rng(7), templates=5, descriptors=4, replies=3)
    own = frame.with_columns(noun=pl.concat_str("descriptor", "noun"))
    assert (
        generation_bias(own, draws=1).scores["p"][0]
        == generation_bias(frame.drop("noun"), draws=1).scores["p"][0]
    )


def test_bad_calls_are_refused() -> None:
    frame = _replies(np.random.default_rng(7), templates=1, descriptors=2, replies=2)
    with pytest.raises(DataError, match="two descriptors"):
        generation_bias(frame.filter(descriptor="d0"))
    with pytest.raises(DataError, match="no columns of style"):
        generation_bias(frame.select("template", "descriptor"))
    with pytest.raises(DataError, match="needs the column"):
        generation_bias(frame, ["Kind", "Unkind"])
    with pytest.raises(UsageError, match="without a column: Unkind"):
        generation_bias(frame, clusters={"x": ["Kind", "Unkind"]})
    with pytest.raises(UsageError, match="ddof=2"):
        generation_bias(frame, ddof=2)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="template is empty in"):
        generation_bias(frame.with_columns(template=pl.lit(None, pl.String)))
