"""Token bins: the worked example, swaps, chance, planted words, and coverage over names."""

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

from evenhand.measures.names.cross_fitting import bin_masses, cross_fitted, overindexing
from evenhand.measures.names.self_chats import NameCounts
from evenhand.measures.names.token_bins import BINS, ENTRIES, bins_by_ratio, token_bins
from evenhand.schema import DataError

WORDS = ("shop", "mom", "home", "a_dot", "b_you", "c_i", "fish", "car", "guy", "beer", "poker", "the")
TOY = {
    "woman": dict(zip(WORDS, (60, 90, 80, 200, 150, 140, 30, 40, 50, 20, 20, 120), strict=True)),
    "man": dict(zip(WORDS, (30, 50, 70, 200, 150, 140, 50, 60, 80, 40, 30, 100), strict=True)),
}
"""Counts of a worked example, 1,000 tokens a gender; tokens of equal ratio stand in the order of the example."""


def chats(counts: dict[str, dict[str, int]], names: int = 1) -> pl.DataFrame:
    """Self-chats in which each gender says these tokens, the same for each of its names."""
    rows = [
        {
            "conversation": f"{gender}{number}",
            "name": f"{gender}{number}",
            "gender": gender,
            "speaker": "B",
            "turn": 2,
            "text": "",
            "tokens": [token for token, count in of.items() for _ in range(count)],
        }
        for gender, of in counts.items()
        for number in range(names)
    ]
    return pl.DataFrame(rows)


def test_the_worked_example() -> None:
    found = token_bins(chats(TOY), draws=3)
    published = found.published.row(0, named=True)
    assert published["hi_first"] == pytest.approx(30.43, abs=0.005)
    assert published["hi_second"] == pytest.approx(25.00, abs=0.005)
    assert published["l2"] == pytest.approx(0.4056, abs=5e-5)
    assert found.bins["mass"].round(3).to_list() == [0.115, 0.185, 0.2, 0.15, 0.19, 0.16]
    assert found.result["estimate"].item() is None
    assert "only 1 name of the group woman" in found.result["obstacle"].item()


def test_genders_change_places_and_doubling_changes_nothing() -> None:
    there, back = token_bins(chats(TOY), draws=1), token_bins(chats(TOY), genders=("man", "woman"), draws=1)
    assert there.published["hi_first"].item() == pytest.approx(back.published["hi_second"].item())
    twice = token_bins(chats({g: {t: 2 * n for t, n in of.items()} for g, of in TOY.items()}), draws=1)
    assert twice.published["l2"].item() == pytest.approx(there.published["l2"].item())
    same = token_bins(chats({"woman": TOY["man"], "man": TOY["man"]}, names=4), draws=1)
    assert same.published["l2"].item() == pytest.approx(0, abs=1e-12)
    assert same.result["estimate"].item() == pytest.approx(0, abs=1e-9)


def test_weighted_overindexing_sums_to_nothing() -> None:
    bins = token_bins(chats(TOY), draws=1).bins
    assert (bins["mass"] * bins["overindexing"]).sum() == pytest.approx(0, abs=1e-12)
    norm = token_bins(chats(TOY), draws=1).published.row(0, named=True)
    assert norm["l2"] >= np.hypot(norm["hi_first"], norm["hi_second"]) / 100


def drawn(
    rng: np.random.Generator, names: int, tokens: int, *, lean: float = 0.0, burst: float = 400.0
) -> pl.DataFrame:
    """Names that each say `tokens` tokens of a Zipf vocabulary of 400, every name with its own taste (burst: how like
    the others' it is), of which every third token leans to women by `lean` (log ratio)."""
    zipf = 1 / np.arange(1, 401)
    rows = []
    for gender, sign in (("woman", 1), ("man", -1)):
        share = zipf * np.exp(sign * lean / 2 * (np.arange(400) % 3 == 0))
        for number in range(names):
            taste = rng.gamma(burst * share / share.sum())
            counts = rng.multinomial(tokens, taste / taste.sum())
            said = np.repeat(np.arange(400), counts).tolist()
            rows.append((f"{gender}{number}", gender, said))
    table = pl.DataFrame(rows, schema=["name", "gender", "tokens"], orient="row")
    return table.with_columns(conversation="name", speaker=pl.lit("A"), turn=3, text=pl.lit(""))


def test_chance_looks_like_bias_only_as_published() -> None:
    rng = np.random.default_rng(3)
    found = [token_bins(drawn(rng, 12, 500), draws=9) for _ in range(12)]
    published = np.array([one.published.select("l2", "null_mean").row(0) for one in found])
    corrected = np.array([one.result["estimate"].item() for one in found])
    assert published[:, 0].mean() > 0.2
    assert published[:, 1].mean() == pytest.approx(published[:, 0].mean(), rel=0.05)
    assert abs(corrected.mean()) < 0.03


ZIPF = 1 / np.arange(1, 8001)
"""A vocabulary of 8,000 words without any difference between genders."""


@pytest.mark.parametrize(
    ("tokens", "level"), [(10_000, 0.980), (100_000, 0.378), (1_000_000, 0.120), (10_000_000, 0.038)]
)
def test_chance_alone_has_the_levels_that_were_computed_elsewhere(tokens: int, level: float) -> None:
    """Tokens of a gender, and the published norm of a model without bias."""
    rng = np.random.default_rng(tokens)
    norms = []
    for _ in range(4):
        frequencies = rng.multinomial(tokens, ZIPF / ZIPF.sum(), size=2) / tokens
        masses = bin_masses(frequencies, bins_by_ratio(frequencies), BINS)
        norms.append(np.linalg.norm(overindexing(masses, ENTRIES)))
    assert np.mean(norms) == pytest.approx(level, rel=0.04)


@pytest.mark.parametrize(("tokens", "spread"), [(10_000, 0.016), (100_000, 0.006)])
def test_names_that_found_no_bins_are_near_nothing_at_the_same_levels(tokens: int, spread: float) -> None:
    rng = np.random.default_rng(tokens)
    values = []
    for seed in range(5):
        counts = csr_array(rng.multinomial(tokens // 20, ZIPF / ZIPF.sum(), size=40))
        names, words = [f"name {i}" for i in range(40)], [str(i) for i in range(len(ZIPF))]
        genders, strata = np.repeat([0, 1], 20), np.zeros(40, dtype=np.int64)
        counted = NameCounts(names, ("woman", "man"), genders, words, counts, 0, strata)
        found = cross_fitted(counted, bins_by_ratio, ENTRIES, BINS, seed=seed)
        assert found is not None
        assert found.low[0] < found.estimate[0] < found.high[0]
        values.append(found.estimate[0])
    assert abs(np.mean(values)) < 3 * spread / np.sqrt(5)


def saying_names_back(seed: int, women: int, men: int, *, names: int = 8, talks: int = 10) -> pl.DataFrame:
    """All words are drawn alike, so many for women's and men's names; every conversation says its own name once."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 301)
    rows = []
    for gender, length in (("woman", women), ("man", men)):
        for number in range(names):
            said = rng.choice(300, length * talks, p=share / share.sum()).astype(str).tolist()
            rows.append((f"{gender}{number}", gender, said + [f"{gender}{number}"] * talks))
    table = pl.DataFrame(rows, schema=["name", "gender", "tokens"], orient="row")
    return table.with_columns(conversation="name", speaker=pl.lit("A"), turn=3, text=pl.lit(""))


def test_a_name_that_is_said_back_is_no_part_of_it_where_one_gender_is_told_more() -> None:
    """Three times as many words: names at the shorter end were found by every sample."""
    found = [
        token_bins(saying_names_back(seed, 60, 20), draws=1).result.row(0, named=True) for seed in range(4)
    ]
    assert sum(row["p"] < 0.05 for row in found) <= 1
    assert abs(np.mean([row["estimate"] for row in found])) < 0.04


def with_races(seed: int, lean: float, *, names: int = 4, tokens: int = 1200) -> pl.DataFrame:
    """Of each race and gender so many names; a race's words are far from the other's, a gender's lean by `lean`."""
    rng = np.random.default_rng(seed)
    by_race, by_gender = np.random.default_rng(0).normal(size=(2, 120))
    rows = []
    for gender, sign in (("woman", 1), ("man", -1)):
        for race, side in (("a", 1), ("b", -1)):
            odds = np.exp(side * by_race + sign * lean * by_gender) / np.arange(1, 121)
            for number in range(names):
                said = rng.choice(120, tokens, p=odds / odds.sum()).tolist()
                rows.append((f"{race}{gender}{number}", gender, race, said))
    table = pl.DataFrame(rows, schema=["name", "gender", "race", "tokens"], orient="row")
    return table.with_columns(conversation="name", speaker=pl.lit("A"), turn=3, text=pl.lit(""))


def test_halves_are_alike_in_races_so_that_these_hide_no_gender() -> None:
    fair = [with_races(seed, 0.0) for seed in range(3)]
    apart = [token_bins(frame, draws=1).result["estimate"].item() for frame in fair]
    alike = [token_bins(frame, within="race", draws=1).result["estimate"].item() for frame in fair]
    assert np.mean(apart) < -0.1
    assert abs(np.mean(alike)) < 0.04
    told = token_bins(with_races(5, 0.15), within="race", draws=1).result.row(0, named=True)
    assert told["low"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(("women", "men"), [(20, 20), (40, 20), (60, 20)])
def test_names_said_back_are_seldom_called(women: int, men: int) -> None:
    rows = [
        token_bins(saying_names_back(seed, women, men, names=10, talks=20), draws=1).result.row(0, named=True)
        for seed in range(120)
    ]
    assert np.mean([row["p"] < 0.05 for row in rows]) < 0.10


@pytest.mark.slow
@pytest.mark.parametrize("names", [8, 40])
@pytest.mark.parametrize("lean", [0.0, 0.4])
def test_intervals_hold_over_names(names: int, lean: float) -> None:
    """What they hold is the expectation of the estimate with so many names, which under no bias is 0."""
    rng = np.random.default_rng(names)
    rows = [
        token_bins(drawn(rng, names, 1000, lean=lean), draws=1).result.row(0, named=True) for _ in range(300)
    ]
    estimates = np.array([row["estimate"] for row in rows])
    truth = estimates.mean() if lean else 0.0
    assert abs(estimates.mean() - truth) < 3 * estimates.std() / np.sqrt(len(rows))
    held = np.mean([row["low"] <= truth <= row["high"] for row in rows])
    assert 0.93 <= held <= 0.99
    found = np.mean([row["p"] < 0.05 for row in rows])
    assert found > (0.3 if names < 20 else 0.9) if lean else found <= 0.07


def test_planted_words_are_found_and_shown() -> None:
    found = token_bins(drawn(np.random.default_rng(1), 15, 800, lean=0.8), draws=9)
    row = found.result.row(0, named=True)
    assert row["p"] < 0.01
    assert row["low"] > 0
    assert row["estimate"] > row["minimum_detectable"]
    assert found.published["l2"].item() > found.published["null_97_5"].item()
    top = found.tokens.filter(pl.col("count") > 100).sort("ratio", descending=True).head(3)["token"]
    assert all(int(token) % 3 == 0 for token in top)


def test_bad_tables_are_refused() -> None:
    frame = chats(TOY)
    with pytest.raises(DataError, match="needs the column speaker"):
        token_bins(frame.drop("speaker"))
    with pytest.raises(DataError, match="compares woman and man"):
        token_bins(frame.with_columns(gender=pl.col("gender").replace("man", "other")))
    with pytest.raises(DataError, match="found 'C'"):
        token_bins(frame.with_columns(speaker=pl.lit("C")))
    with pytest.raises(DataError, match="more than one gender: x"):
        token_bins(frame.with_columns(name=pl.lit("x")))
    with pytest.raises(DataError, match="no conversation contains a generated utterance"):
        token_bins(frame.with_columns(turn=1))
    with pytest.raises(DataError, match="of at least two groups"):
        token_bins(frame.filter(pl.col("gender") == "man"))


def test_names_that_all_say_the_same_leave_nothing_to_judge() -> None:
    same = token_bins(chats({"woman": TOY["man"], "man": TOY["man"]}, names=5), draws=1).result.row(
        0, named=True
    )
    assert same["estimate"] == pytest.approx(0, abs=1e-9)
    assert same["p"] is None
    assert "the same words" in same["obstacle"]
