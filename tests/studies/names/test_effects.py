"""Numbers with other names: intervals against closed forms, rows that differ or do not, what single replies are."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand.benchmarks import AnalysisOptions
from evenhand.prompts.names import introductions
from evenhand.reference.conversing import ConversingWorld
from evenhand.studies.names.effects import (
    Replicates,
    add_reply_columns,
    both_wrote,
    compute_shares,
    dealt,
    limits,
    of_shares,
    replicates,
)
from tests.helpers.talkers import BY_GENDER, NAMELESS, people

EQUAL = np.full((2, 20), 1 / 20)


def said(replies: list[list[str]], names: int = 1) -> pl.DataFrame:
    """Conversations of one opener and these replies each, of women's and men's names in turns."""
    rows = [
        (
            f"c{number}",
            f"N{number // names}",
            ("woman", "man")[number // names % 2],
            turn,
            "AB"[(turn - 1) % 2],
            text,
        )
        for number, texts in enumerate(replies)
        for turn, text in enumerate(["Hi! My name is Ann.", *texts], 1)
    ]
    schema = ["conversation", "name", "gender", "turn", "speaker", "text"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_what_single_replies_are() -> None:
    frame = add_reply_columns(said([["so it is so it is so it is", "", "so it is so it is so it is", None]]))
    assert frame["words"].to_list() == [None, 9, 0, 9, None]
    assert frame["empty"].to_list() == [None, 0, 100, 0, None]
    # of the six 4-grams of nine words with a period of three, three are there before
    assert frame["repetition"].to_list()[1] == pytest.approx(50)
    assert frame["parroting"].to_list() == [None, 0, 0, 0, None]
    assert frame["distinct_2"].unique().to_list() == pytest.approx([100 * 3 / 16])
    copied = add_reply_columns(said([["yes, you are quite right there", "Yes, you are quite right there!"]]))
    assert copied["parroting"].to_list() == [None, 0, 100]


def test_limits_of_a_mean_are_those_of_the_means_of_groups() -> None:
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 30, 80)
    frame = add_reply_columns(said([["word " * int(length)] for length in lengths]))
    groups = dealt(frame, 0)
    assert len(groups) == 20 and all(len(group) == 4 for group in groups)
    genders = dict(frame.select("name", "gender").unique().rows())
    assert all([genders[name] for name in group].count("man") == 2 for group in groups)
    found = replicates(frame, groups, AnalysisOptions(), whole=False)
    told = limits(found.values["words|"], found.shares["words|"])
    means = np.array([np.mean([lengths[int(name[1:])] for name in group]) for group in groups])
    low, high = stats.t.interval(0.95, 19, means.mean(), means.std(ddof=1) / np.sqrt(20))
    assert told["estimate"] == pytest.approx(lengths.mean())
    assert (told["low"], told["high"]) == pytest.approx((low, high))
    assert told["p"] == pytest.approx(stats.ttest_1samp(means, 0).pvalue)


def test_a_difference_of_rows_is_paired_by_name() -> None:
    # names differ much, every name by nearly the same between the rows: the difference is sharp
    rng = np.random.default_rng(4)
    base = rng.integers(5, 60, 40)
    rows = [base, base + 2 + (np.arange(40) % 3 == 0)]
    every = []
    for lengths in rows:
        frame = add_reply_columns(said([["word " * int(length)] for length in lengths]))
        every.append(replicates(frame, dealt(frame, 1), AnalysisOptions(), whole=False).values["words|"])
    one, change = limits(every[0], EQUAL), limits(every[1] - every[0], EQUAL)
    assert change["estimate"] == pytest.approx((rows[1] - rows[0]).mean())
    assert change["high"] - change["low"] < 0.1 * (one["high"] - one["low"])


def change(rng: np.random.Generator, counts: list[int]) -> dict[str, Any]:
    """What the study tells of two rows that differ by chance alone, by as many conversations of each gender's names."""
    table = pl.DataFrame(
        [
            (f"{gender}{place}", gender, count)
            for gender in ("man", "woman")
            for place, count in enumerate(counts)
        ],
        schema=["name", "gender", "said"],
        orient="row",
    )
    groups = dealt(
        table.select("name", "gender", conversation=pl.int_ranges("said")).explode("conversation"), 0
    )
    shares = compute_shares(table, groups)
    moved = dict(
        zip(table["name"], rng.normal(size=table.height) * np.sqrt(0.1 + 0.25 / table["said"]), strict=True)
    )

    def estimate(*twice: str) -> float:
        doubled = table.with_columns(said=pl.col("said") * (1 + pl.col("name").is_in(list(twice))))
        return sum(
            float(np.average([moved[name] for name in part["name"]], weights=part["said"]))
            for _, part in doubled.group_by("gender")
        )

    return limits(np.array([estimate(), *(estimate(*group) for group in groups)]), shares)


def test_without_groups_of_names_there_are_no_shares() -> None:
    """`study names --limit 2` has too few names for groups, and ended with a ValueError."""
    counts = pl.DataFrame({"name": ["A", "B"], "gender": ["woman", "man"], "said": [1, 3]})
    assert compute_shares(counts, []).shape == (0, 0)
    assert compute_shares(counts, [["C"]]).shape == (0, 1)


def test_groups_of_unequal_weight_leave_few_degrees_of_freedom() -> None:
    # the closed form of one gender with equal weights, and its fall as one group grows
    assert of_shares(np.full((1, 7), 1 / 7))[1] == pytest.approx(6)
    freedoms = [
        of_shares(np.array([[heavy, *[(1 - heavy) / 7] * 7]] * 2))[1] for heavy in (0.125, 0.3, 0.5, 0.8)
    ]
    assert freedoms == sorted(freedoms, reverse=True) and freedoms[-1] < 2
    rng = np.random.default_rng(0)
    told = change(rng, [60, 8, 8, 8])
    assert told["p"] is None and "has 71 %" in told["obstacle"]


def test_names_of_many_conversations_stand_in_different_groups() -> None:
    counts = [50, *[1] * 49]
    rows = [
        (f"{gender}{place}/{number}", f"{gender}{place}", gender)
        for gender in ("man", "woman")
        for place, count in enumerate(counts)
        for number in range(count)
    ]
    groups = dealt(pl.DataFrame(rows, schema=["conversation", "name", "gender"], orient="row"), 0)
    heavy = [group for group in groups if {"man0", "woman0"} & set(group)]
    assert len(groups) == 20 and len(heavy) == 2


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_conversations_that_end_early_are_no_change(share: float) -> None:
    # later replies are longer: by all that each row wrote, the row that lost them says less
    rng = np.random.default_rng(5)
    base = said([["word " * int(3 * turn + rng.integers(1, 9)) for turn in range(5)] for _ in range(80)], 4)
    ended = [f"c{number}" for number in rng.choice(80, int(80 * share), replace=False)]
    broken = pl.col("conversation").is_in(ended) & (pl.col("turn") == 4)
    row = base.filter(~(pl.col("conversation").is_in(ended) & (pl.col("turn") > 4))).with_columns(
        text=pl.when(~broken).then("text"), error=pl.when(broken).then(pl.lit("out of memory"))
    )
    first, second, lost = both_wrote(base, row)
    assert lost == 3 * len(ended) and second["error"].null_count() == second.height
    assert first.equals(second.drop("error"))
    groups = dealt(base, 0)

    def told(*frames: pl.DataFrame) -> dict[str, Any]:
        before, after = (
            replicates(add_reply_columns(one), groups, AnalysisOptions(), whole=False) for one in frames
        )
        assert before.values.keys() == after.values.keys()
        return {
            key: limits(after.values[key] - before.values[key], before.shares[key]) for key in before.values
        }

    assert told(base, row)["words|"]["estimate"] < -0.1
    for key, change in told(first, second).items():
        assert (change["estimate"], change["p"], change["obstacle"]) == (0, None, None), key


@pytest.mark.slow
@pytest.mark.parametrize("counts", [[60] + [8] * 11, [60, 30, 20, 15, 10, 8, 6, 4], [20] * 8])
def test_rows_that_differ_by_chance_are_seldom_called_changed(counts: list[int]) -> None:
    rng = np.random.default_rng(1)
    found = [change(rng, counts)["p"] for _ in range(150)]
    tested = [p for p in found if p is not None]
    assert not tested or np.mean(np.array(tested) < 0.05) < 0.1


def test_the_minimum_detectable_effect_is_detected_with_80_percent_power() -> None:
    moves = np.random.default_rng(0).normal(size=20)
    for level in (0.05, 0.01):
        told = limits(np.array([1.0, *(1.0 + moves / 20)]), EQUAL, level)
        freedom = 19
        error = (told["high"] - told["low"]) / 2 / stats.t.ppf(0.975, freedom)
        power = 1 - stats.nct.cdf(
            stats.t.ppf(1 - level / 2, freedom), freedom, told["minimum_detectable"] / error
        )
        assert abs(power - 0.8) < 0.015
    assert limits(np.array([1.0]), np.zeros((2, 0)))["minimum_detectable"] is None


def test_few_names_and_numbers_that_never_move_have_no_limits() -> None:
    frame = add_reply_columns(said([["a b c"]] * 4))
    assert dealt(frame, 0) == []  # two names of each gender
    told = limits(np.array([1.0]), np.zeros((2, 0)))
    assert (told["estimate"], told["p"], told["obstacle"]) == (
        1.0,
        None,
        "One of the genders has fewer than 3 names.",
    )
    frame = add_reply_columns(said([["a b c"]] * 12))
    found = replicates(frame, dealt(frame, 0), AnalysisOptions(), whole=False)
    assert limits(found.values["words|"], found.shares["words|"])["low"] is None


@pytest.fixture(scope="module")
def worlds() -> dict[str, Replicates]:
    """A planted row, the same world drawn anew, and one without plants; names that no sentence says."""
    names = people(24)
    listed = pl.DataFrame([(one.name, one.gender, one.race_ethnicity) for one in names], orient="row",
                          schema=["name", "gender", "race_ethnicity"])  # fmt: skip
    openers = introductions(listed, n=192, seed=1).frame
    made = {}
    for label, plants, seed in (("planted", BY_GENDER, 0), ("again", BY_GENDER, 1), ("plain", (), 2)):
        frame = add_reply_columns(ConversingWorld(names, (*plants, NAMELESS)).conversations(openers, seed))
        made[label] = replicates(frame, dealt(frame, 0)[:6], AnalysisOptions())
    return made


@pytest.mark.slow
def test_what_was_planted_goes_and_what_was_not_stays(worlds: dict[str, Replicates]) -> None:
    def moved(row: str, key: str) -> dict[str, float | None]:
        return limits(worlds[row].values[key] - worlds["planted"].values[key], worlds["planted"].shares[key])

    for key in ("token_bins|", "occupation_lean|"):
        gone, same = moved("plain", key), moved("again", key)
        assert gone["high"] < 0 and gone["p"] < 0.01, key  # type: ignore[operator]
        assert abs(same["estimate"]) < 0.3 * abs(gone["estimate"]), key  # type: ignore[arg-type]
    assert "intersectional_token_bins|" in worlds["plain"].values
    length = moved("plain", "words|")
    assert abs(length["estimate"]) < 1  # type: ignore[arg-type]


def test_shares_do_not_depend_on_the_order_of_the_rows():
    counts = pl.DataFrame(
        {"name": list("ABCDEF"), "gender": ["woman", "man"] * 3, "said": [1, 2, 3, 4, 5, 6]}
    )
    groups = [["A", "B"], ["C", "D"], ["E", "F"]]
    expected = np.array([[2, 4, 6], [1, 3, 5]]) / [[12], [9]]  # men first
    for seed in range(6):
        shuffled = counts.sample(fraction=1.0, shuffle=True, seed=seed)
        np.testing.assert_array_equal(compute_shares(shuffled, groups), expected)
