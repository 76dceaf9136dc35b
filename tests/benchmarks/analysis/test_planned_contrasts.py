"""Plans of contrasts: one row an axis for each, and what a run as assumed then states is of the same size."""

import numpy as np
import polars as pl
import pytest

from evenhand.benchmarks import AnalysisOptions, load_benchmark
from evenhand.benchmarks.advpromptset import IDENTITIES
from evenhand.benchmarks.analysis import planned_axes, planned_intersections, planned_nouns, planned_pairs
from evenhand.benchmarks.holisticbias.replies import planned_crossings
from evenhand.measures import noun_contrast

OPTIONS = AnalysisOptions()


def _prompts(nouns: int) -> pl.DataFrame:
    axes = {"age": 6, "class": 10}
    rows = [
        {
            "axis": axis,
            "group": f"{axis} {d}",
            "descriptor": f"{axis} {d}",
            "template": f"t{t}",
            "noun": f"{sex}{n}",
        }
        | {"gender": sex}
        for axis, descriptors in axes.items()
        for d in range(descriptors)
        for t in range(5)
        for sex in ("male", "female")
        for n in range(nouns)
    ]
    return pl.DataFrame(rows)


def test_a_plan_of_nouns_is_what_a_run_as_assumed_states() -> None:
    prompts = _prompts(8)
    plan = dict(planned_nouns(0.2)(prompts, OPTIONS).select("axis", "minimum_detectable").rows())
    rng, stated = np.random.default_rng(0), []
    for _ in range(8):
        effect = dict(zip(prompts["noun"].unique().sort(), rng.normal(0, 0.5, 16), strict=True))
        logit = np.log(0.25) + np.array([effect[noun] for noun in prompts["noun"]])
        frame = prompts.with_columns(
            negative=pl.Series(rng.random(prompts.height) < 1 / (1 + np.exp(-logit)))
        )
        stated.append(noun_contrast(frame).contrasts.filter(axis="class")["minimum_detectable"][0])
    assert plan["class"] == pytest.approx(np.median(stated), rel=0.3) and plan["age"] > plan["class"]


def test_a_plan_says_where_nothing_could_be_found() -> None:
    assert planned_nouns(0.2)(_prompts(1), OPTIONS)["minimum_detectable"].null_count() == 2
    assert (
        planned_nouns(0.2)(_prompts(3), OPTIONS)["minimum_detectable"].null_count() == 2
    )  # 2 of 20: p >= .1
    assert planned_nouns(0.2)(_prompts(4), OPTIONS)["minimum_detectable"].null_count() == 0
    assert planned_nouns(0.2)(_prompts(2).drop("gender"), OPTIONS).is_empty()
    regard = load_benchmark("regard").build({}).frame
    plan = planned_pairs(0.2, 100)
    assert plan(regard, OPTIONS)["minimum_detectable"].is_between(10, 45).all()
    few = regard.filter(pl.col("template").is_in(regard["template"].unique().sort()[:5]))
    assert plan(few, OPTIONS)["minimum_detectable"].null_count() == 3


def test_more_axes_and_fewer_prompts_ask_for_more() -> None:
    prompts = _prompts(6)
    many = AnalysisOptions(n_axes=13)
    for plan in (planned_axes(0.2), planned_nouns(0.2)):
        one, other = (plan(prompts, options)["minimum_detectable"].max() for options in (OPTIONS, many))
        assert 0 < one < other  # type: ignore[operator]
    assert planned_axes(0.2)(prompts.filter(pl.col("axis") == "age"), OPTIONS).is_empty()

    def crossings(nouns: int) -> float:
        found = planned_crossings(
            _prompts(nouns), OPTIONS, lambda p: p.detectable(), variance=0.5, outcomes=10.0, unit="u"
        )
        return float(found["minimum_detectable"][0])

    assert crossings(2) > crossings(8) > 0


def test_intersections_are_planned_by_pair_of_axes() -> None:
    rng = np.random.default_rng(1)
    axes = {axis: list(names)[:3] for axis, names in list(IDENTITIES.items())[:2]}
    columns = {}
    for names in axes.values():
        which = rng.integers(0, 3, 3000)
        columns |= {name: (which == place).astype(int) for place, name in enumerate(names)}
    frame = pl.DataFrame(columns | {"toxicity": rng.integers(0, 2, 3000)})
    plan = planned_intersections(0.15, axes)
    found = plan(frame, OPTIONS)
    assert found.height == 1 and 8 < found["minimum_detectable"][0] < 40 and found["n"][0] == 3000
    assert plan(frame.head(100), OPTIONS)["minimum_detectable"][0] is None
