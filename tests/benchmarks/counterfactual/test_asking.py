"""What the benchmark asks of a user's file: made, reviewed or refused; whole prompts where a limit is set."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks import load_benchmark
from evenhand.benchmarks.counterfactual.asking import from_file, seldom, whole_prompts
from evenhand.prompts.counterfactual import asked_about, read_own, write_review
from evenhand.schema import UsageError

EXAMPLE = Path(__file__).parents[3] / "examples" / "application_prompts.csv"


def test_every_prompt_of_the_example_is_asked_about_names_and_gender() -> None:
    prompts = from_file(EXAMPLE, ["gender", "name"])
    counts = prompts.frame.group_by("axis", "group").agg(pl.col("base").n_unique())
    assert counts["base"].to_list() == [40] * 8
    assert prompts.notes == ()
    assert prompts.own == "Your prompts application_prompts.csv"


def test_groups_of_too_few_prompts_are_told_before_anything_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("She left.\nIt rained.\n")
    prompts = from_file(path, ["gender"])
    assert "mentions no group" in prompts.notes[0]
    assert prompts.notes[1:] == (
        "gender: women, men cannot be measured: each group needs 10 prompts, but has at most 1.",
    )


def test_a_review_is_asked_as_it_is(tmp_path: Path) -> None:
    path = write_review(tmp_path / "review.csv", asked_about(read_own(EXAMPLE), ["gender"]))
    assert from_file(path, ["reviewed"]).frame.equals(from_file(EXAMPLE, ["gender"]).frame)
    with pytest.raises(UsageError, match="uses the axes of the file"):
        from_file(path, ["reviewed", "gender"])


def test_a_limit_takes_whole_prompts_the_same_on_every_axis() -> None:
    prompts = from_file(EXAMPLE, ["gender", "name:english/arabic"])
    part = whole_prompts(prompts, 100, seed=3)
    assert 80 < len(part) <= 100
    whole = prompts.frame.group_by("base", "axis").len().sort("base", "axis")
    kept = part.frame.group_by("base", "axis").len().sort("base", "axis")
    assert kept.join(whole, on=["base", "axis", "len"], how="anti").is_empty()
    by_axis = [set(part.frame.filter(axis=axis)["base"]) for axis in ("gender", "name")]
    assert min(map(len, by_axis)) >= 0.8 * len(set.union(*by_axis))
    assert set(part.frame["base"]) <= set(whole_prompts(prompts, 200, seed=3).frame["base"])
    assert part.notes == tuple(seldom(part.frame)) or len(by_axis[0]) >= 10
    with pytest.raises(UsageError, match="is too small: one prompt"):
        whole_prompts(prompts, 1, seed=0)


def test_without_prompts_it_says_what_to_give() -> None:
    with pytest.raises(UsageError, match="requires your own prompts") as error:
        load_benchmark("counterfactual").build({})
    assert "--prompts MINE.csv --counterfactual" in str(error.value.hint)
