"""The test of two group columns for an interaction: worked tables, least squares by hand, and simulated tables."""

import numpy as np
import pytest

from evenhand.stats import PairTable, remove_other_effects


def table_of(percent, shape, n=100) -> PairTable:
    """A table of `n` people a cell, with these percentages of 1."""
    cells = list(zip(np.ndindex(*shape), percent, strict=True))
    values = np.concatenate(
        [np.r_[np.ones(share * n // 100), np.zeros(n - share * n // 100)] for _, share in cells]
    )
    first, second = (np.repeat([cell[column] for cell, _ in cells], n) for column in (0, 1))
    return PairTable(values, first, second, np.arange(len(values)), is_rate=True)


# rates, p, difference of differences with interval, gaps of the second column with simultaneous intervals, MDE
WORKED = [
    ([33, 27, 26, 60], 0.000020, (40.0, 21.8, 58.2), [(-6.0, -20.7, 8.7), (34.0, 19.1, 48.9)], 26.1, 0.0001),
    ([33, 51, 53, 29], 0.000018, (42.0, 23.0, 61.0), [(18.0, 2.4, 33.6), (-24.0, -39.3, -8.7)], 27.2, 0.78),
    ([10, 25, 20, 35], 1.0, (0.0, -16.1, 16.1), [(15.0, 3.0, 27.0), (15.0, 0.9, 29.1)], 23.0, 0.12),
]


@pytest.mark.parametrize(("percent", "p", "difference", "gaps", "smallest", "highest_p"), WORKED)
def test_worked_tables_of_two_by_two(percent, p, difference, gaps, smallest, highest_p) -> None:
    table = table_of(percent, (2, 2))
    found = table.largest_departure()
    assert table.test().p == pytest.approx(p, rel=0.05)
    limits = sorted(np.abs([found.low, found.high])) if p < 0.05 else [found.low, found.high]
    assert [100 * abs(found.estimate), *(100 * np.array(limits))] == pytest.approx(difference, abs=0.06)
    inside = table.gaps(1)
    for place, numbers in enumerate(gaps):
        got = [100 * part[place] for part in (inside.estimate, inside.low, inside.high)]
        assert got == pytest.approx(numbers, abs=0.06)
    # the worked size has the variance of tables without a departure, and is a median over the cells
    assert smallest - 0.06 <= 100 * table.minimum_detectable() <= 1.15 * smallest
    assert table.highest_cell()[1] == pytest.approx(highest_p, abs=0.006)


def test_a_worked_table_of_three_by_four() -> None:
    table = table_of([20, 25, 30, 22, 25, 30, 35, 27, 18, 23, 60, 20], (3, 4))
    assert table.test().p == pytest.approx(0.00005, rel=0.05)
    (named,) = table.named_cells()
    assert table.cells[named.cells[0]].tolist() == [2, 2]
    assert [100 * x for x in (named.estimate, named.low, named.high)] == pytest.approx(
        [32.0, 12.9, 51.1], abs=0.06
    )
    assert 24.3 <= 100 * table.minimum_detectable() <= 1.15 * 24.3


def test_what_other_cells_predict_is_a_fit_without_the_cell() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 3, 300), rng.integers(0, 4, 300)
    table = PairTable(rng.normal(size=300), first, second, np.arange(300), is_rate=False)
    dummies = np.column_stack(
        [table.cells[:, [0]] == np.arange(3), table.cells[:, [1]] == np.arange(4)]
    ).astype(float)
    for cell, expected in enumerate(table.expected()):
        root = np.sqrt(np.delete(table.n_units, cell))
        others = np.delete(dummies, cell, axis=0)
        fit = np.linalg.lstsq(others * root[:, None], np.delete(table.means, cell) * root, rcond=None)[0]
        assert expected == pytest.approx(dummies[cell] @ fit)


def test_other_columns_are_removed_as_least_squares_does() -> None:
    rng = np.random.default_rng(4)
    columns = [rng.integers(0, k, 500) for k in (2, 3, 4, 5)]
    values = rng.normal(size=500) + columns[2] * 0.7
    design = np.column_stack([np.ones(500), *(np.eye(c.max() + 1)[c][:, 1:] for c in columns)])
    fit = np.linalg.lstsq(design, values, rcond=None)[0]
    effects = design[:, 4:11] @ fit[4:11]
    assert remove_other_effects(values, columns, 0, 1) == pytest.approx(
        values - effects + effects.mean(), abs=1e-8
    )


def test_a_third_column_tied_to_the_combination_is_no_interaction() -> None:
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(40):
        first, second = rng.integers(0, 2, (2, 800))
        third = np.where(rng.random(800) < 0.8, first ^ second, rng.integers(0, 2, 800))
        values = (rng.random(800) < 0.2 + 0.4 * third).astype(float)
        adjusted = remove_other_effects(values, [first, second, third], 0, 1)
        p = PairTable(adjusted, first, second, np.arange(800), is_rate=True).test().p
        assert PairTable(values, first, second, np.arange(800), is_rate=True).test().p < 0.05
        found += p is not None and p <= 0.05
    assert found <= 5  # 2 expected; with 40 tables more than 5 have probability 0.014


@pytest.mark.parametrize("shape", [(2, 2), (3, 4)])
@pytest.mark.parametrize("crossed", [False, True])
def test_clusters_without_interaction_are_seldom_found(shape, crossed) -> None:
    """15 people a cell with 5 responses each, who differ from each other; or 20 people who answer about all cells."""
    rng = np.random.default_rng(6)
    cells = np.array(list(np.ndindex(*shape)))
    found = 0
    for _ in range(150):
        people = 20 if crossed else 15 * len(cells)
        who = np.repeat(np.arange(people), len(cells) if crossed else 5)
        cell = (
            np.tile(np.arange(len(cells)), people)
            if crossed
            else np.repeat(np.arange(people) % len(cells), 5)
        )
        a, b = cells[cell].T
        lean = rng.normal(0, 0.15, people)
        rate = np.clip(0.25 + 0.1 * a + 0.08 * b + lean[who], 0.02, 0.98)
        values = (rng.random(len(who)) < rate).astype(float)
        p = PairTable(values, a, b, who, is_rate=True).test().p
        assert p is not None
        found += p <= 0.05
    assert found <= 15  # 7.5 expected; more than 15 has probability 0.004


def test_the_stated_smallest_difference_is_found_in_four_of_five_tables() -> None:
    rng = np.random.default_rng(7)
    base = np.array([0.3, 0.4, 0.35, 0.45])
    found, n = 0, 80
    smallest = PairTable(
        (rng.random(4 * n) < np.repeat(base, n)).astype(float),
        np.repeat([0, 0, 1, 1], n), np.repeat([0, 1, 0, 1], n), np.arange(4 * n), is_rate=True,
    ).minimum_detectable()  # fmt: skip
    rates = base + np.array([0, 0, 0, smallest])
    for _ in range(200):
        values = (rng.random(4 * n) < np.repeat(rates, n)).astype(float)
        table = PairTable(
            values, np.repeat([0, 0, 1, 1], n), np.repeat([0, 1, 0, 1], n), np.arange(4 * n), is_rate=True
        )
        found += table.test().p <= 0.05
    assert 0.7 <= found / 200 <= 0.9


def test_rare_answers_in_one_small_combination_are_found_as_often_as_stated() -> None:
    """Variances grow with the rate, and small combinations need larger departures."""
    rng = np.random.default_rng(9)
    sizes = np.array([30, 100, 100, 100])
    cell = np.repeat(np.arange(4), sizes)
    base = np.array([0.02, 0.03, 0.03, 0.04])
    who = np.arange(len(cell))
    stated = []
    for _ in range(60):
        table = PairTable(
            (rng.random(len(cell)) < base[cell]).astype(float), cell // 2, cell % 2, who, is_rate=True
        )
        stated.append(table.detectable_departures()[0])
    rates = base + np.array([np.median(stated), 0, 0, 0])
    found = 0
    for _ in range(200):
        table = PairTable(
            (rng.random(len(cell)) < rates[cell]).astype(float), cell // 2, cell % 2, who, is_rate=True
        )
        found += table.test().p <= 0.05
    assert found / 200 >= 0.7


@pytest.mark.parametrize(
    ("rates", "sizes"),
    [
        ((0.02, 0.02, 0.02, 0.02), (30, 200, 200, 30)),
        ((0.05, 0.05, 0.05, 0.05), (15, 100, 100, 15)),
        ((0.95, 0.95, 0.95, 0.95), (15, 100, 100, 15)),
        ((0.02, 0.10, 0.06, 0.14), (100, 15, 15, 100)),
    ],
)
def test_rare_events_in_small_cells_on_a_diagonal_are_seldom_an_interaction(rates, sizes) -> None:
    """Small cells often have no event, so their own scatter is 0. It made 9 to 23% of such tables significant."""
    rng = np.random.default_rng(11)
    first, second = (np.repeat(codes, sizes) for codes in ([0, 0, 1, 1], [0, 1, 0, 1]))
    truth = np.repeat(rates, sizes)
    significant = covered = 0
    for _ in range(300):
        values = (rng.random(len(truth)) < truth).astype(float)
        table = PairTable(values, first, second, np.arange(len(truth)), is_rate=True)
        significant += table.test().p <= 0.05
        departure = table.largest_departure()
        covered += departure.low <= 0 <= departure.high
    assert significant <= 18 and covered >= 282  # 6% and 94% of 300


def test_the_interval_of_the_root_mean_square_departure_covers_it() -> None:
    rng = np.random.default_rng(8)
    cells = np.array(list(np.ndindex(3, 4)))
    departure = 0.12 * np.outer([1, 0, -1], [1, -1, 1, -1]).ravel()  # no main effect
    covered = 0
    for _ in range(200):
        place = np.repeat(np.arange(12), 40)
        values = 0.3 * rng.normal(size=480) + departure[place]
        low, high = PairTable(values, *cells[place].T, np.arange(480), is_rate=False).spread()[1:]
        covered += low <= np.sqrt((departure**2).mean()) <= high
    assert covered >= 180


def test_what_cannot_be_tested_says_why() -> None:
    two = np.repeat([0, 1], 2)
    one_each = PairTable(np.arange(4.0), two, np.tile([0, 1], 2), np.arange(4), is_rate=False)
    assert one_each.test().p is None and "two or more units" in one_each.test().obstacle
    constant = PairTable(np.repeat([0.0, 0, 0, 1], 10), np.repeat(two, 10), np.repeat([0, 1, 0, 1], 10),
                         np.arange(40), is_rate=False)  # fmt: skip
    assert "Nothing varies" in constant.test().obstacle
    few = PairTable(np.random.default_rng(0).random(24), np.tile(two, 6), np.tile([0, 1, 0, 1], 6),
                    np.repeat(np.arange(6), 4), is_rate=False)  # fmt: skip
    assert "At least 8" in few.test().obstacle
    tree = PairTable(np.random.default_rng(0).random(30), np.repeat([0, 1, 1], 10), np.repeat([0, 1, 2], 10),
                     np.arange(30), is_rate=False)  # fmt: skip
    assert tree.test().p is None


def test_sparse_cells_leave_no_gap_and_raise_nothing() -> None:
    # all cells of the second group of column 1 have a single unit, so only one of its groups is in the table
    first, second = np.r_[np.tile([0, 1], 20), 0, 1], np.r_[np.zeros(40, int), 1, 1]
    table = PairTable(np.tile([0.0, 1.0, 1.0], 14), first, second, np.arange(42), is_rate=True)
    assert len(table.gaps(1).levels) == 0 and table.gaps(0).levels.tolist() == [0]
    assert table.test().p is None and "Too few combinations" in str(table.obstacle())
    alone = PairTable(np.ones(6), np.arange(6), np.arange(6), np.arange(6), is_rate=True)
    assert len(alone.gaps(0).levels) == 0 and alone.obstacle()
