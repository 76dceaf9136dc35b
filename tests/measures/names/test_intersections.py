"""Bins of groups: the worked example, published norms, chance, and the name that makes a number."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures.names.intersections import intersectional_token_bins, own_overindexing

TOY = [[30, 10, 10, 10, 40], [10, 30, 10, 10, 40], [10, 10, 30, 10, 40], [12, 8, 10, 30, 40]]
"""Counts of five tokens in four groups; the last is tied and goes to the first group."""


def chats(counts: list[tuple[str, str, list[int]]]) -> pl.DataFrame:
    """A conversation for each (name, group, counts of tokens a, b, c, ...)."""
    rows = [
        (name, group, [chr(97 + token) for token, count in enumerate(of) for _ in range(count)])
        for name, group, of in counts
    ]
    table = pl.DataFrame(rows, schema=["name", "group", "tokens"], orient="row")
    return table.with_columns(conversation="name", speaker=pl.lit("B"), turn=2, text=pl.lit(""))


def test_the_worked_example() -> None:
    found = intersectional_token_bins(chats([(f"n{g}", f"g{g}", of) for g, of in enumerate(TOY)]), draws=1)
    assert found.groups["overindexing"].to_list() == pytest.approx([0.2613, 1.069, 1, 1], abs=5e-5)
    assert found.published["l2"].item() == pytest.approx(1.7919, abs=5e-5)


@pytest.mark.parametrize(
    ("columns", "norm"),
    [
        ((2.14, 2.82, 2.44, 4.61, 4.11, 5.53, 10.60, 3.25), 0.1450),
        ((3.50, 2.97, 4.83, 3.52, 5.23, 3.03, 23.22, 3.83), 0.2544),
        ((1.11, 1.17, 2.35, 1.59, 1.85, 0.88, 0.90, 1.75), 0.0433),
    ],
)
def test_the_published_norm_is_that_of_its_columns(columns: tuple[float, ...], norm: float) -> None:
    """Frequencies of eight tokens in eight groups that have exactly these columns."""
    own, number = np.array(columns) / 100, len(columns)
    excess = -(own[:, None] + own - own.sum() / (number - 1)) / (number - 2)
    excess[np.arange(number), np.arange(number)] = own
    frequencies = (1 + excess) / number
    assert frequencies.sum(axis=1) == pytest.approx(np.ones(number))
    found = own_overindexing(frequencies)
    assert 100 * found == pytest.approx(np.array(columns))
    assert float(np.linalg.norm(found)) == pytest.approx(norm, abs=5e-5)


def test_chance_is_large_as_published_and_nothing_when_corrected() -> None:
    rng = np.random.default_rng(5)
    zipf = 1 / np.arange(1, 301)
    values = []
    for _ in range(8):
        counts = [
            (f"{g}-{n}", f"g{g}", rng.multinomial(300, zipf / zipf.sum()).tolist())
            for g in range(8)
            for n in range(8)
        ]
        found = intersectional_token_bins(chats(counts), draws=3)
        values.append(
            (
                found.published["l2"].item(),
                found.published["null_mean"].item(),
                found.result["estimate"].item(),
            )
        )
    published, null, corrected = np.mean(values, axis=0)
    assert published > 0.4
    assert null == pytest.approx(published, rel=0.05)
    assert abs(corrected) < 0.05


@pytest.mark.parametrize(("tokens", "level"), [(100_000, 0.868), (1_000_000, 0.260), (10_000_000, 0.084)])
def test_chance_alone_has_the_levels_that_were_computed_elsewhere(tokens: int, level: float) -> None:
    """Tokens of each of eight groups without any difference, 8,000 words by Zipf's law."""
    rng = np.random.default_rng(tokens)
    zipf = 1 / np.arange(1, 8001)
    drawn = [rng.multinomial(tokens, zipf / zipf.sum(), size=8) / tokens for _ in range(4)]
    assert np.mean([np.linalg.norm(own_overindexing(one)) for one in drawn]) == pytest.approx(level, rel=0.06)


def test_one_name_that_makes_a_number_is_named() -> None:
    rng = np.random.default_rng(2)
    share = np.full(20, 1 / 20)
    counts = [(f"{g}-{n}", f"g{g}", rng.multinomial(400, share).tolist()) for g in range(3) for n in range(6)]
    shouted = [0] * 20
    shouted[7] = 600
    counts.append(("Martha", "g0", shouted))
    found = intersectional_token_bins(chats(counts), draws=9)
    first = found.groups.row(0, named=True)
    assert first["moved_most_by"] == "Martha"
    assert first["overindexing"] > 4 * first["without_one_low"]
    assert found.result["p"].item() > 0.05


def test_a_planted_word_of_one_group_is_found() -> None:
    rng = np.random.default_rng(4)
    share = np.full(20, 1 / 20)
    special = share * np.where(np.arange(20) == 3, 2.5, 1)
    tastes = [share, special / special.sum(), share, share]
    counts = [
        (f"{g}-{n}", f"g{g}", rng.multinomial(400, tastes[g]).tolist()) for g in range(4) for n in range(8)
    ]
    found = intersectional_token_bins(chats(counts), draws=9)
    assert found.result["low"].item() > 0
    one = found.groups.filter(pl.col("group") == "g1").row(0, named=True)
    assert one["cross_fitted_low"] > 0.1


@pytest.mark.parametrize(
    ("counts", "told"),
    [(TOY[0], "cannot be distinguished"), (TOY[1], "variation cannot be estimated")],
)
def test_names_without_any_difference_are_no_finding(counts: list[int], told: str) -> None:
    """Of a model that answers every name alike nothing but rounding is left."""
    table = chats([(f"{g}{n}", f"g{g}", counts if g else TOY[0]) for g in range(2) for n in range(6)])
    row = intersectional_token_bins(table, draws=3).result.row(0, named=True)
    assert told in row["obstacle"] and row["p"] is None
