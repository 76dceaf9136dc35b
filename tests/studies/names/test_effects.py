"""Numbers with other names: intervals against closed forms, rows that differ or do not, what single replies are."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand.benchmarks import AnalysisOptions
from evenhand.prompts.names import introductions
from evenhand.reference.conversing import ConversingWorld
from evenhand.studies.names.effects import Replicates, dealt, limits, prepared, replicates
from tests.helpers.talkers import BY_GENDER, NAMELESS, people


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
    frame = prepared(said([["so it is so it is so it is", "", "so it is so it is so it is", None]]))
    assert frame["words"].to_list() == [None, 9, 0, 9, None]
    assert frame["empty"].to_list() == [None, 0, 100, 0, None]
    # of the six 4-grams of nine words with a period of three, three are there before
    assert frame["repetition"].to_list()[1] == pytest.approx(50)
    assert frame["parroting"].to_list() == [None, 0, 0, 0, None]
    assert frame["distinct_2"].unique().to_list() == pytest.approx([100 * 3 / 16])
    copied = prepared(said([["yes, you are quite right there", "Yes, you are quite right there!"]]))
    assert copied["parroting"].to_list() == [None, 0, 100]


def test_limits_of_a_mean_are_those_of_the_means_of_groups() -> None:
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 30, 80)
    frame = prepared(said([["word " * int(length)] for length in lengths]))
    groups = dealt(frame, 0)
    assert len(groups) == 20 and all(len(group) == 4 for group in groups)
    genders = dict(frame.select("name", "gender").unique().rows())
    assert all([genders[name] for name in group].count("man") == 2 for group in groups)
    found = replicates(frame, groups, AnalysisOptions(), whole=False)
    told = limits(found.values["words|"], found.groups)
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
        frame = prepared(said([["word " * int(length)] for length in lengths]))
        every.append(replicates(frame, dealt(frame, 1), AnalysisOptions(), whole=False).values["words|"])
    one, change = limits(every[0], 20), limits(every[1] - every[0], 20)
    assert change["estimate"] == pytest.approx((rows[1] - rows[0]).mean())
    assert change["high"] - change["low"] < 0.1 * (one["high"] - one["low"])  # type: ignore[operator]


def test_few_names_and_numbers_that_never_move_have_no_limits() -> None:
    frame = prepared(said([["a b c"]] * 4))
    assert dealt(frame, 0) == []  # two names of each gender
    assert limits(np.array([1.0]), 0) == {"estimate": 1.0, "low": None, "high": None, "p": None}
    frame = prepared(said([["a b c"]] * 12))
    found = replicates(frame, dealt(frame, 0), AnalysisOptions(), whole=False)
    assert limits(found.values["words|"], found.groups)["low"] is None


@pytest.fixture(scope="module")
def worlds() -> dict[str, Replicates]:
    """A planted row, the same world drawn anew, and one without plants; names that no sentence says."""
    names = people(24)
    listed = pl.DataFrame([(one.name, one.gender, one.race_ethnicity) for one in names], orient="row",
                          schema=["name", "gender", "race_ethnicity"])  # fmt: skip
    openers = introductions(listed, n=192, seed=1).frame
    made = {}
    for label, plants, seed in (("planted", BY_GENDER, 0), ("again", BY_GENDER, 1), ("plain", (), 2)):
        frame = prepared(ConversingWorld(names, (*plants, NAMELESS)).conversations(openers, seed))
        made[label] = replicates(frame, dealt(frame, 0)[:6], AnalysisOptions())
    return made


@pytest.mark.slow
def test_what_was_planted_goes_and_what_was_not_stays(worlds: dict[str, Replicates]) -> None:
    def moved(row: str, key: str) -> dict[str, float | None]:
        return limits(worlds[row].values[key] - worlds["planted"].values[key], 6)

    for key in ("token_bins|", "occupation_lean|"):
        gone, same = moved("plain", key), moved("again", key)
        assert gone["high"] < 0 and gone["p"] < 0.01, key  # type: ignore[operator]
        assert abs(same["estimate"]) < 0.3 * abs(gone["estimate"]), key  # type: ignore[arg-type]
    assert "intersectional_token_bins|" in worlds["plain"].values
    length = moved("plain", "words|")
    assert abs(length["estimate"]) < 1  # type: ignore[arg-type]
