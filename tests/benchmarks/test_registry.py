"""Every registered benchmark tells what its verdicts came to, and shares the level among the axes that it defines."""

import polars as pl
import pytest

from evenhand.benchmarks import benchmark_names, load_benchmark
from evenhand.schema import FINDINGS, DatasetMissing, UsageError
from evenhand.stats import Verdict

NAMES = benchmark_names()
DESCRIBED = {"quality", "realtoxicityprompts", "holisticbias-seat", "redditbias-lmp"}
"""Benchmarks that judge nothing between groups."""
DEFINED = {
    "crows-pairs": 9,
    "stereoset": 4,
    "redditbias": 5,
    "redditbias-valid": 5,
    "evenhand-likelihood": 13,
    "evenhand-pll": 13,
    "holisticbias-likelihood": 13,
    "holisticbias-pll": 13,
    "names": 2,
    "descriptions": 1,
}
"""Axes as the papers have them: nine types of bias, four domains, thirteen axes of descriptors, names' gender beside
their gender and race. The others are asked of
users' own groups, too, so that the axes of the table are counted."""


@pytest.mark.parametrize("name", NAMES)
def test_whoever_judges_groups_says_what_it_came_to(name):
    benchmark = load_benchmark(name)
    judges = benchmark.minimum_detectable is not None or bool(benchmark.harmful)
    assert judges == (name not in DESCRIBED)
    assert (benchmark.headlines is not None) == judges
    if judges:
        empty = pl.DataFrame(schema=FINDINGS)
        assert benchmark.headlines(empty, {}) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_axes_that_share_the_level_are_those_of_the_benchmark(name):
    benchmark = load_benchmark(name)
    assert benchmark.n_axes == DEFINED.get(name)
    try:
        prompts = benchmark.build({}).frame
    except (DatasetMissing, UsageError):  # nothing is here, or there is nothing but the user's own
        return
    if "axis" in prompts.columns:
        there = prompts["axis"].drop_nulls().n_unique()
        if name.startswith("redditbias"):  # asks those types whose files are here
            assert there <= benchmark.count_axes(prompts) == DEFINED[name]
        else:
            assert benchmark.count_axes(prompts) == there
        assert benchmark.count_axes(prompts.head(1)) == (benchmark.n_axes or 1)


@pytest.mark.parametrize("name", NAMES)
def test_the_named_axes_are_those_of_the_prompts(name):
    benchmark = load_benchmark(name)
    try:
        prompts = benchmark.build({}).frame
    except (DatasetMissing, UsageError):
        prompts = pl.DataFrame()
    if "axis" in prompts.columns and not name.startswith("redditbias"):  # only the types whose files are here
        assert set(benchmark.axes) == set(prompts["axis"].drop_nulls().unique())
    if benchmark.axes and benchmark.n_axes:
        assert len(benchmark.axes) == benchmark.n_axes


@pytest.mark.parametrize("name", NAMES)
def test_the_units_of_effects_are_stated_if_the_benchmark_judges_its_own_prompts(name):
    depends_on_the_user = name in ("answers", "counterfactual")
    stated = load_benchmark(name).effect_units is not None
    assert stated == (name not in DESCRIBED and not depends_on_the_user)


HEADED = {
    "crows-pairs": "crows_pairs",
    "stereoset": "stereoset_ss",
    "redditbias": "redditbias_lmb",
    "redditbias-valid": "redditbias_lmb",
    "evenhand-likelihood": "valence_spread",
    "holisticbias-likelihood": "valence_spread",
    **dict.fromkeys(
        ("regard", "holisticbiasr", "bold", "toxigen", "advpromptset", "holisticbias-offensiveness"),
        "disparity",
    ),
}
"""The measure whose verdict opens a report."""


@pytest.mark.parametrize("name", sorted(HEADED))
def test_an_axis_that_cannot_be_measured_has_a_sentence_that_says_so(name):
    row = dict.fromkeys(FINDINGS) | {"measure": HEADED[name], "axis": "age", "note": "Too few prompts."}
    row |= {"verdict": str(Verdict.NOT_MEASURABLE), "benchmark": name}
    (line,) = load_benchmark(name).headlines(pl.DataFrame([row], schema=FINDINGS), {})
    assert (line.axis, line.verdict) == ("age", "not measurable")
    assert line.sentence == "Age — not measurable: too few prompts."
