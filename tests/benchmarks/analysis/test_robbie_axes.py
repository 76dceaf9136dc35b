"""ROBBIE over all data sets: the published numbers of groups, Table 3, and the tables by axis."""

import re
from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks import load_benchmark, load_suite
from evenhand.benchmarks.analysis.robbie_axes import AXIS_GROUPS, DATASETS, pooled_rows, robbie_axes
from evenhand.benchmarks.bold import load_bold
from evenhand.benchmarks.holisticbias import load_holisticbiasr
from evenhand.benchmarks.regard import load_regard
from evenhand.benchmarks.toxigen import load_toxigen, on_published_axes
from evenhand.measures import pooled_bias_score
from evenhand.prompts.advpromptset.pieces import IDENTITIES
from evenhand.schema import DataError

PAPER = "papers/002_0a1dbb3f33928b4d.txt"
AXES_IN_THE_PAPER = {
    "gender and sex": "gender_and_sex",
    "race/ethnicity": "race_ethnicity",
    "socioeconomic class": "socioeconomic_class",
}


def table(groups: dict[str, list[bool]]) -> pl.DataFrame:
    rows = [
        {"axis": axis, "group": f"{axis} {i}", "n": 10, "fails": fails}
        for axis, verdicts in groups.items()
        for i, fails in enumerate(verdicts)
    ]
    return pl.DataFrame(rows)


def test_numbers_of_groups_add_up_to_the_published_totals() -> None:
    totals = dict(zip(DATASETS, map(sum, zip(*AXIS_GROUPS.values(), strict=True)), strict=True))
    assert totals == {"bold": 25, "toxigen": 14, "advpromptset": 24, "regard": 6, "holisticbiasr": 774}


@pytest.mark.parity
def test_numbers_of_groups_are_those_of_the_prompts(shared: Path) -> None:
    frames = {
        "bold": load_bold(shared / "data/bold", published_groups=True).frame,
        "toxigen": on_published_axes(load_toxigen(shared / "data/toxigen_v2", per_group=1).frame),
        "advpromptset": pl.DataFrame(
            [{"axis": axis, "group": group} for axis, groups in IDENTITIES.items() for group in groups]
        ),
        "regard": load_regard().frame,
        "holisticbiasr": load_holisticbiasr(shared / "data/holisticbias").frame.filter(
            pl.col("group").is_not_null()
        ),
    }
    for place, (name, frame) in enumerate(frames.items()):
        counts = dict(frame.select("axis", "group").unique()["axis"].value_counts().rows())
        assert counts == {axis: sizes[place] for axis, sizes in AXIS_GROUPS.items() if sizes[place]}, name


def published(shared: Path) -> tuple[dict[str, list[float]], dict[str, dict[str, list[float | None]]]]:
    """Table 3 by model, and the percentages of every axis by model, as the paper prints them."""
    lines = (shared / PAPER).read_text(encoding="utf-8").splitlines()
    row = re.compile(r"^(.*?\)(?:\*|\{\\dagger\})?|[A-Z0-9]+-[0-9.]+B)((?: (?:-|[\d.]+)){6})$")
    caption = re.compile(r"^Table \d+: The percentage of (.+?) subgroups in each dataset")
    overall: dict[str, list[float]] = {}
    axes: dict[str, dict[str, list[float | None]]] = {}
    pending: dict[str, list[float | None]] = {}
    for line in lines:
        if found := row.match(line):
            pending[found[1]] = [None if value == "-" else float(value) for value in found[2].split()]
        elif line.startswith("Table 3:"):
            overall = {model: [value or 0.0 for value in values] for model, values in pending.items()}
            pending = {}
        elif found := caption.match(line):
            name = found[1].strip()
            axes[AXES_IN_THE_PAPER.get(name, name.replace(" ", "_"))] = pending
            pending = {}
        elif line.startswith("Table "):
            pending = {}
    return overall, axes


@pytest.mark.parity
def test_published_overall_scores_and_every_table_by_axis(shared: Path) -> None:
    overall, axes = published(shared)
    assert len(overall) == 17 and len(axes) >= 12
    totals = [sum(column) for column in zip(*AXIS_GROUPS.values(), strict=True)]
    checked = 0
    for model, values in overall.items():
        fails = [round(value / 100 * total) for value, total in zip(values[:5], totals, strict=True)]
        assert pooled_bias_score(fails, totals) == pytest.approx(values[5], abs=0.0051), model
        tables: dict[str, list[pl.DataFrame]] = {name: [] for name in DATASETS}
        for axis, rows in axes.items():
            if axis not in AXIS_GROUPS:
                continue
            for name, size, percent in zip(DATASETS, AXIS_GROUPS[axis], rows[model][:5], strict=True):
                assert (percent is None) == (size == 0), (model, axis, name)
                if percent is not None:
                    failing = round(percent / 100 * size)
                    assert 100 * failing / size == pytest.approx(percent, abs=0.0051)
                    tables[name].append(table({axis: [i < failing for i in range(size)]}))
        groups = {name: pl.concat(parts) for name, parts in tables.items() if parts}
        got = {row["axis"]: row["estimate"] for row in robbie_axes(groups).iter_rows(named=True)}
        for axis, rows in axes.items():
            if axis in AXIS_GROUPS:
                assert got[axis] == pytest.approx(rows[model][5], abs=0.0051), (model, axis)
                checked += 1
        if set(axes) >= set(AXIS_GROUPS):
            assert got[None] == pytest.approx(values[5], abs=0.0051)
    assert checked >= 17 * 12


def test_groups_nobody_judged_do_not_count_and_other_benchmarks_stay_out() -> None:
    groups = {
        "bold": table({"religion": [True, False]}),
        "regard": table({"gender_and_sex": [True, True]}).with_columns(n=pl.Series([10, 0])),
        "stereoset": table({"age": [True]}),
    }
    scores = robbie_axes(groups)
    assert scores.select("axis", "n_groups", "n_failing").rows() == [
        (None, 3, 2), ("gender_and_sex", 1, 1), ("religion", 2, 1),
    ]  # fmt: skip
    assert scores.filter(pl.col("axis") == "religion").select("bold", "regard").row(0) == (50.0, None)
    rows = pooled_rows(groups)
    assert [row.estimate for row in rows] == [pytest.approx(200 / 3), 100.0, 50.0]
    assert all(row.p is None and row.null is None for row in rows)
    assert pooled_rows({"stereoset": groups["stereoset"]}) == []


def test_tables_of_others_are_refused() -> None:
    with pytest.raises(DataError, match="None of the given tables"):
        robbie_axes({"stereoset": table({"age": [True]})})
    with pytest.raises(DataError, match="has no column fails"):
        robbie_axes({"bold": table({"age": [True]}).drop("fails")})


def test_the_suite_has_its_benchmarks_and_every_group_data_set() -> None:
    suite = load_suite("robbie")
    assert set(DATASETS) <= set(suite.benchmarks)
    for name in suite.benchmarks:
        assert load_benchmark(name).classified_by, name
