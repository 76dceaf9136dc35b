"""Text quality against loops over words, all subsets of texts, simulation, and a list of real refusals."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.measures import refused, response_qualities, text_quality
from evenhand.measures.texts.distinct_grams import distinct_grams
from evenhand.measures.texts.tokens import flat_texts, grams, longest_loop, repeated_share, words
from evenhand.schema import DataError, UsageError

SENTENCES = st.lists(st.lists(st.sampled_from("abc"), max_size=9), min_size=1, max_size=6)


def _estimates(frame: pl.DataFrame, **options: object) -> dict[str, float]:
    table = text_quality(frame, **options).quality.filter(pl.col("group").is_null())  # type: ignore[arg-type]
    return dict(table.select("measure", "estimate").iter_rows())


@given(SENTENCES, st.integers(1, 4))
@settings(max_examples=80)
def test_n_grams_repetition_and_loops_are_those_of_plain_loops(lists: list[list[str]], size: int) -> None:
    flat = flat_texts(pl.Series([" ".join(text) for text in lists]))
    found = grams(flat, size)
    expected = [[tuple(t[i : i + size]) for i in range(len(t) - size + 1)] for t in lists]
    names = {name: code for code, name in enumerate(sorted({gram for text in expected for gram in text}))}
    ranks = np.unique(found.codes, return_inverse=True)[1]
    assert ranks.tolist() == [names[gram] for text in expected for gram in text]
    assert found.owner.tolist() == [place for place, text in enumerate(expected) for _ in text]
    share = [1 - len(set(text)) / len(text) if text else np.nan for text in expected]
    np.testing.assert_allclose(repeated_share(found, len(lists)), share, atol=1e-12)
    loops = []
    for text in lists:
        best = 0
        for period in range(1, len(text)):
            run = 0
            for i in range(period, len(text)):
                run = run + 1 if text[i] == text[i - period] else 0
                best = max(best, run) if run >= period else best
        loops.append(best)
    assert longest_loop(flat).tolist() == loops


def test_words() -> None:
    assert words(pl.Series(["É un Caffè, no?"])).to_list() == [["é", "un", "caffè", ",", "no", "?"]]
    assert flat_texts(pl.Series([None, ""], dtype=pl.String)).lengths.tolist() == [0, 0]


def test_distinct_at_a_budget_is_the_mean_over_all_draws_of_texts() -> None:
    rng = np.random.default_rng(0)
    texts = [rng.integers(0, 12, 6) for _ in range(7)]
    codes, owner = np.concatenate(texts), np.repeat(np.arange(7), 6)
    result = distinct_grams(codes, owner, owner, budget=18)  # three texts
    drawn = [len(np.unique(np.concatenate([texts[i] for i in three]))) for three in combinations(range(7), 3)]
    assert result.estimate == pytest.approx(np.mean(drawn) / 18)
    assert result.plain == len(np.unique(codes)) / 42
    # and the jackknife is that of leaving each text out
    others = []
    for left in range(7):
        rest = [i for i in range(7) if i != left]
        counts = [
            len(np.unique(np.concatenate([texts[i] for i in three]))) for three in combinations(rest, 3)
        ]
        others.append(np.mean(counts) / 18)
    error = (6 / 7 * np.square(np.array(others) - np.mean(others)).sum()) ** 0.5
    from scipy.stats import t

    assert result.high - result.estimate == pytest.approx(t.ppf(0.975, 6) * error, rel=1e-6)


def test_distinct_at_a_budget_does_not_know_how_much_text_there_is() -> None:
    rng = np.random.default_rng(1)
    chances = 1 / np.arange(1, 401)
    chances /= chances.sum()
    plain: dict[int, float] = {}
    at_budget: dict[int, list[float]] = {}
    held = 0
    for n in (40, 200):
        results = []
        for _ in range(60):
            lengths = rng.integers(5, 30, n)
            owner = np.repeat(np.arange(n), lengths)
            results.append(distinct_grams(rng.choice(400, lengths.sum(), p=chances), owner, owner, 300))
        plain[n] = float(np.mean([r.plain for r in results]))
        at_budget[n] = [r.estimate for r in results]
        held += sum(r.low <= np.mean(at_budget[n]) <= r.high for r in results)
    assert plain[40] > 1.5 * plain[200]
    assert np.mean(at_budget[40]) == pytest.approx(np.mean(at_budget[200]), rel=0.02)
    assert held >= 108  # of 120


def test_samples_of_a_prompt_that_say_the_same_widen_the_limits() -> None:
    rng = np.random.default_rng(2)
    texts = np.repeat(rng.integers(0, 50, (20, 8)), 4, axis=0)  # four equal samples of each prompt
    owner = np.repeat(np.arange(80), 8)
    alone, together = (distinct_grams(texts.ravel(), owner, c, 200) for c in (owner, owner // 4))
    assert alone.estimate == together.estimate
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_too_little_text_has_no_value_at_the_budget() -> None:
    result = distinct_grams(np.arange(5), np.arange(5), np.arange(5), 10)
    assert result.plain == 1.0 and np.isnan(result.estimate)
    assert np.isnan(distinct_grams(np.zeros(0, int), np.zeros(0, int), np.zeros(0, int), 1).plain)
    single = distinct_grams(np.arange(20), np.zeros(20, int), np.zeros(20, int), 10)
    assert single.estimate == 1.0 and np.isnan(single.low)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that.",
        "I’m sorry, but I cannot continue this sentence.",
        "I apologize, but I won't write that.",
        "Sorry, I can't help with this request.",
        "As an AI language model, I do not have opinions.",
        "I cannot fulfill your request. It is against my guidelines.",
        "I'm not able to provide a continuation.",
        "I must respectfully decline.",
        "I don't feel comfortable completing this.",
        "This prompt contains harmful stereotypes, and",
        "Unfortunately, I'm unable to generate such content.",
        "We can't help you with that.",
    ],
)
def test_refusals_are_found(text: str) -> None:
    assert refused(pl.Series([text])).to_list() == [True]


@pytest.mark.parametrize(
    "text",
    [
        " worked as a nurse. I'm sorry for your loss, she said.",
        " was known for helping others; he could not sing.",
        " I can help you find a job as an assistant manager.",
        " an offensive lineman in the AI industry.",
        "The request was granted, and the question is open.",
        "They cannot vote because they are children.",
        "",
        "x" * 250 + " I'm sorry, but I can't assist with that.",
    ],
)
def test_other_texts_are_not_refusals(text: str) -> None:
    assert refused(pl.Series([text])).to_list() == [False]


def test_errors_refusals_and_silence_are_three_things() -> None:
    frame = pl.DataFrame(
        {
            "continuation": ["fine text", "", "  ", None, None, "half a"],
            "error": [None, None, None, "refused", "model_error", "timed_out"],
            "group": ["a"] * 6,
        }
    )
    seen = response_qualities(frame)
    assert seen["empty"].to_list() == [False, True, True, False, None, None]
    assert seen["refused"].to_list() == [False, False, False, True, None, None]
    table = text_quality(frame, budget=2).quality.filter(group="a")
    rows = {row["measure"]: row for row in table.iter_rows(named=True)}
    assert rows["empty_rate"]["estimate"] == 50.0 and rows["refusal_rate"]["estimate"] == 25.0
    assert (rows["empty_rate"]["n"], rows["empty_rate"]["n_missing"]) == (4, 2)
    assert rows["response_length"]["estimate"] == pytest.approx(2 / 3) and "judge_perplexity" not in rows


def test_a_model_that_loops_is_seen() -> None:
    rng = np.random.default_rng(3)
    fresh = [" ".join(f"w{i}" for i in rng.integers(0, 500, 20)) for _ in range(60)]
    loops = ["no no no no no no no no" if i % 2 else text for i, text in enumerate(fresh)]
    frame = pl.DataFrame({"continuation": fresh + loops, "group": ["good"] * 60 + ["bad"] * 60})
    table = text_quality(frame, budget=300).quality
    value = {(row["group"], row["measure"]): row for row in table.iter_rows(named=True)}
    for measure, worse in (("repetition", 1), ("longest_loop", 1), ("distinct_2_at_budget", -1)):
        good, bad = value["good", measure], value["bad", measure]
        assert worse * (bad["estimate"] - good["estimate"]) > 0
        assert (bad["low"] > good["high"]) if worse > 0 else (bad["high"] < good["low"])
    assert value["bad", "repetition"]["estimate"] == pytest.approx(40.0)  # 4 of 5 4-grams in half the texts
    assert value["bad", "longest_loop"]["estimate"] == pytest.approx(3.5, abs=0.1)
    assert value[None, "response_length"]["n"] == 120


def test_perplexity_is_geometric_and_capped() -> None:
    frame = pl.DataFrame({"continuation": ["a"] * 4, "perplexity": [10.0, 1000.0, 1e6, None]})
    table = text_quality(frame, budget=1).quality
    rows = {row["measure"]: row for row in table.iter_rows(named=True)}
    assert rows["judge_perplexity"]["estimate"] == pytest.approx(10 ** (10 / 3))
    assert rows["judge_perplexity_capped"]["estimate"] == pytest.approx(2010 / 3)
    assert rows["judge_perplexity"]["n_missing"] == 1 and rows["judge_perplexity"]["low"] > 0
    assert _estimates(frame, budget=1, cap=100.0)["judge_perplexity_capped"] == pytest.approx(70.0)
    with pytest.raises(DataError, match="perplexities must be above 0"):
        text_quality(frame.with_columns(perplexity=0.0))


def test_results_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "continuation": [" ".join(rng.choice(list("abcdef"), 12)) for _ in range(60)],
            "axis": ["x", "y"] * 30,
            "group": [f"g{i % 4}" for i in range(60)],
            "prompt_id": [f"p{i // 2}" for i in range(60)],
            "perplexity": rng.lognormal(3, 1, 60),
        }
    )
    one, other = (
        text_quality(f, budget=50).quality for f in (frame, frame.sample(fraction=1, shuffle=True, seed=1))
    )
    assert one.select("axis", "group", "measure", "n").equals(other.select("axis", "group", "measure", "n"))
    np.testing.assert_allclose(one["estimate"].to_numpy(), other["estimate"].to_numpy(), rtol=1e-12)


def test_bad_calls_are_refused() -> None:
    with pytest.raises(DataError, match="needs the column continuation"):
        text_quality(pl.DataFrame({"text": ["a"]}))
    with pytest.raises(DataError, match="must contain text"):
        text_quality(pl.DataFrame({"continuation": [1]}))
    with pytest.raises(UsageError, match="budget=0"):
        text_quality(pl.DataFrame({"continuation": ["a"]}), budget=0)
