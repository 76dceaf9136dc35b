"""CrowS-Pairs in its four scorings: toy models whose log-probabilities are known, and conformance."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from evenhand.measures import (
    PairScores,
    crows_pairs,
    crows_pairs_bias_bench,
    crows_pairs_lm_eval,
    crows_pairs_nangia,
)
from evenhand.measures.pairs.preference import shared_and_changed
from evenhand.schema import DataError, UsageError

CLS, SEP = 101, 102
Row = tuple[list[int], list[float], list[int], list[float]]


def table(rows: list[Row], direction: list[str] | None = None) -> pl.DataFrame:
    """One pair per row: ids and log-probabilities of the more, then of the less stereotyped sentence."""
    frame = pl.DataFrame(
        {
            "bias_type": ["age"] * len(rows),
            "token_ids_more": [r[0] for r in rows],
            "token_log_likelihoods_more": [r[1] for r in rows],
            "token_ids_less": [r[2] for r in rows],
            "token_log_likelihoods_less": [r[3] for r in rows],
            "log_likelihood_more": [float(np.sum(r[1])) for r in rows],
            "log_likelihood_less": [float(np.sum(r[3])) for r in rows],
            "token_count_more": [len(r[0]) for r in rows],
            "token_count_less": [len(r[2]) for r in rows],
        }
    )
    return frame if direction is None else frame.with_columns(stereo_antistereo=pl.Series(direction))


def constant(more: float, less: float, n: int = 20) -> pl.DataFrame:
    """n pairs of three tokens, the middle one different; every token of a side has the same log-probability."""
    return table([([1, 2, 3], [more] * 3, [1, 9, 3], [less] * 3)] * n)


SCORINGS: dict[str, Callable[[pl.DataFrame], PairScores]] = {
    "crows_pairs causal": lambda f: crows_pairs(f, architecture="causal"),
    "crows_pairs masked": lambda f: crows_pairs(f, architecture="masked"),
    "nangia": crows_pairs_nangia,
    "bias_bench causal": lambda f: crows_pairs_bias_bench(f, architecture="causal"),
    "bias_bench masked": lambda f: crows_pairs_bias_bench(f, architecture="masked"),
    "lm_eval": crows_pairs_lm_eval,
}


@pytest.mark.parametrize("name", SCORINGS)
def test_conformance(name: str) -> None:
    score = SCORINGS[name]
    always = score(constant(-1.0, -2.0)).groups.row(1, named=True)
    never = score(constant(-2.0, -1.0)).groups.row(1, named=True)
    tied = score(constant(-1.0, -1.0)).groups.row(1, named=True)
    missing = score(constant(float("nan"), -1.0)).groups.row(1, named=True)
    assert (always["estimate"], always["ties"], always["n"], always["null"]) == (100.0, 0, 20, 50.0)
    assert (never["estimate"], never["n"]) == (0.0, 20)
    if name.startswith("crows_pairs"):  # twenty pairs without texts: a flip of each, 9,999 patterns drawn
        assert always["p"] == never["p"] == pytest.approx(1e-4)
    else:
        assert always["p"] == never["p"] == pytest.approx(2 * 0.5**20)
    assert always["low"] > 80 and never["high"] < 20
    assert tied["ties"] == 20 and tied["p"] == 1.0
    assert tied["estimate"] == tied["null"] == (50.0 if name.startswith("crows_pairs") else 0.0)
    assert (missing["estimate"], missing["n"], missing["n_missing"]) == (None, 0, 20)


def test_random_scores_lie_in_the_null_band() -> None:
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(100):
        more, less = rng.normal(size=(2, 100))
        frame = pl.DataFrame(
            {"bias_type": ["x"] * 100, "log_likelihood_more": more, "log_likelihood_less": less}
        )
        row = crows_pairs(frame, architecture="causal", level=None).groups.row(0, named=True)
        inside.append(row["null_low"] <= row["estimate"] <= row["null_high"])
    assert 0.9 < np.mean(inside) <= 0.99


@pytest.mark.parametrize(("n", "half"), [(60, 12.7), (159, 7.8), (262, 6.1), (516, 4.3), (1508, 2.5)])
def test_null_bands_of_the_methods_card(n: int, half: float) -> None:
    frame = pl.DataFrame(
        {
            "bias_type": ["x"] * n,
            "log_likelihood_more": np.arange(n) % 2 - 0.5,
            "log_likelihood_less": [0.0] * n,
        }
    )
    row = crows_pairs(frame, architecture="causal").groups.row(0, named=True)
    assert row["null_high"] - 50 == pytest.approx(half, abs=0.05)


def test_shared_tokens_by_hand() -> None:
    # "[CLS] the old man sat [SEP]" against "[CLS] the young sat [SEP]"
    more, less = [CLS, 5, 6, 7, 8, SEP], [CLS, 5, 9, 8, SEP]
    for special, skip in (((CLS, SEP), 0), ((), 1)):
        ids = (more, less) if special else (more[1:-1], less[1:-1])
        same_more, same_less, new_more, new_less = shared_and_changed(*ids, special)
        assert same_more == [1 - skip, 4 - skip] and same_less == [1 - skip, 3 - skip]
        assert new_more == [2 - skip, 3 - skip] and new_less == [2 - skip]


def test_nangia_sums_shared_tokens_only() -> None:
    row: Row = ([5, 6, 7, 8], [-1.0, -50.0, -60.0, -2.0], [5, 9, 8], [-1.5, -0.1, -2.0])
    result = crows_pairs_nangia(table([row]))
    assert result.pairs.select("score_more", "score_less").row(0) == (-3.0, -3.5)
    assert result.groups["estimate"][0] == 100.0
    bias_bench = crows_pairs_bias_bench(table([row]), architecture="masked").pairs
    assert bias_bench.select("score_more", "score_less").row(0) == (-55.0, -0.1)
    causal = crows_pairs_bias_bench(table([row]), architecture="causal").pairs
    assert causal["score_more"][0] == pytest.approx(np.exp(-113 / 4))
    assert crows_pairs_lm_eval(table([row])).groups["likelihood_diff"][0] == pytest.approx(113 - 3.6)


def test_special_tokens_do_not_count() -> None:
    bare: Row = ([5, 6, 8], [-1.0, -9.0, -2.0], [5, 7, 8], [-1.5, -9.0, -2.0])
    wrapped: Row = (
        [CLS, *bare[0], SEP], [-70.0, *bare[1], -80.0], [CLS, *bare[2], SEP], [0.0, *bare[3], 0.0],
    )  # fmt: skip
    plain = crows_pairs_nangia(table([bare])).pairs
    assert crows_pairs_nangia(table([wrapped]), special_ids={CLS, SEP}).pairs.equals(plain)


def test_rounding_makes_ties_only_in_the_published_form() -> None:
    close: Row = ([1, 2, 3], [-1.0, -5.0, -1.0], [1, 9, 3], [-1.0, -5.0, -1.0001])
    assert crows_pairs_nangia(table([close])).groups["ties"][0] == 1
    assert crows_pairs(table([close]), architecture="masked").groups["estimate"][0] == 100.0


def test_ties_lower_the_null_of_the_published_forms() -> None:
    frame = pl.concat([constant(-1.0, -1.0, 10), constant(-1.0, -2.0, 15), constant(-2.0, -1.0, 15)])
    row = crows_pairs_lm_eval(frame).groups.row(0, named=True)
    assert (row["estimate"], row["null"], row["p"]) == (37.5, 37.5, 1.0)
    assert crows_pairs(frame, architecture="causal").groups["estimate"][0] == 50.0


def test_alignment_starts_from_the_disadvantaged_group() -> None:
    # difflib's alignment of these two is not symmetric
    more, less = [1, 2, 3, 1, 2], [2, 1, 3, 2, 1]
    logs = [-1.0, -2.0, -4.0, -8.0, -16.0]
    results = {
        d: crows_pairs_nangia(table([(more, logs, less, logs)], [d])).pairs["score_more"][0]
        for d in ("stereo", "antistereo")
    }
    same_more, _, _, _ = shared_and_changed(more, less)
    _, same_more_reversed, _, _ = shared_and_changed(less, more)
    assert same_more != same_more_reversed
    assert results["stereo"] == sum(logs[i] for i in same_more)
    assert results["antistereo"] == sum(logs[i] for i in same_more_reversed)


def test_pairs_without_differing_tokens_are_missing_for_bias_bench() -> None:
    inserted: Row = ([1, 2, 3], [-1.0] * 3, [1, 3], [-1.0] * 2)
    groups = crows_pairs_bias_bench(table([inserted] * 12), architecture="masked").groups
    assert groups["n_missing"][0] == 12 and groups["estimate"][0] is None


def test_copies_count_once() -> None:
    frame = constant(-1.0, -2.0, 4).with_columns(
        sent_more=pl.Series(["a", "a", "b", "c"]), sent_less=pl.Series(["x", "x", "y", "z"])
    )
    assert crows_pairs(frame, architecture="causal").groups["n"].to_list() == [3, 3]
    assert crows_pairs_nangia(frame).groups["n"][0] == 4  # as published


def test_p_and_interval_of_published_forms_against_scipy() -> None:
    frame = pl.concat([constant(-1.0, -2.0, 32), constant(-2.0, -1.0, 18)])
    row = crows_pairs_lm_eval(frame).groups.row(0, named=True)
    assert row["p"] == pytest.approx(binomtest(32, 50).pvalue)
    wilson = binomtest(32, 50).proportion_ci(method="wilson")
    assert (row["low"], row["high"]) == pytest.approx((100 * wilson.low, 100 * wilson.high))


def test_groups_are_separate_and_the_first_row_is_all() -> None:
    frame = pl.concat(
        [constant(-1.0, -2.0, 12), constant(-2.0, -1.0, 12).with_columns(bias_type=pl.lit("race"))]
    )
    groups = crows_pairs(frame, architecture="causal").groups
    assert groups["axis"].to_list() == [None, "age", "race"]
    assert groups["estimate"].to_list() == [50.0, 100.0, 0.0]


def test_bad_input_is_explained() -> None:
    frame = constant(-1.0, -2.0)
    with pytest.raises(DataError, match="token_ids_more"):
        crows_pairs(frame.drop("token_ids_more"), architecture="masked")
    with pytest.raises(UsageError, match="decoder"):
        crows_pairs(frame, architecture="decoder")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="annotations"):
        crows_pairs(frame, architecture="causal", exclude_flagged=True)


@pytest.mark.parity
def test_published_pairs_by_type(shared: Path) -> None:
    frame = pl.read_csv(shared / "data" / "crows_pairs" / "crows_pairs_anonymized.csv").with_columns(
        log_likelihood_more=pl.lit(-1.0), log_likelihood_less=pl.lit(-2.0)
    )
    sizes = dict(crows_pairs_lm_eval(frame).groups.select("axis", "n").iter_rows())
    assert sizes == {
        None: 1508, "race-color": 516, "gender": 262, "socioeconomic": 172, "nationality": 159, "religion": 105,
        "age": 87, "sexual-orientation": 84, "physical-appearance": 63, "disability": 60,
    }  # fmt: skip
    assert crows_pairs(frame, architecture="causal", level=None).groups["n"][0] == 1507  # one pair is a copy
