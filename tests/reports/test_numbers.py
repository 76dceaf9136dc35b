"""measurements.json: valid JSON without NaN, the same for the same audit, nothing lost."""

import json
import math
from dataclasses import replace
from pathlib import Path

from evenhand.reports.numbers import measurement_numbers
from evenhand.schema.files import as_json, write_json
from tests.helpers.report_factory import make_view


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def test_every_row_and_column_survives(tmp_path):
    view = make_view()
    content = json.loads(
        write_json(tmp_path / "m.json", measurement_numbers(view)).read_text("utf-8"), parse_constant=refuse
    )
    assert content["measurements"] == view.measurements.to_dicts()
    assert content["findings"] == view.findings.to_dicts()
    assert list(content["measurements"][0]) == view.measurements.columns
    assert content["manifest"]["arguments_resolved"]["seed"] == 0
    assert [b["name"] for b in content["benchmarks"]] == ["evenhand-likelihood", "crows-pairs"]


def test_nan_and_infinity_become_null(tmp_path):
    view = make_view(axes={"age": 5}, pairs=False)
    holes = replace(
        view,
        measurements=view.measurements.with_columns(estimate=float("nan"), p=float("inf")),
        manifest={"loss": math.nan, "nested": [math.inf, {"x": -math.inf}]},
    )
    text = write_json(tmp_path / "m.json", measurement_numbers(holes)).read_text("utf-8")
    content = json.loads(text, parse_constant=refuse)
    assert content["measurements"][0]["estimate"] is None and content["measurements"][0]["p"] is None
    assert content["manifest"] == {"loss": None, "nested": [None, {"x": None}]}


def test_equal_audits_give_equal_bytes(tmp_path):
    view = make_view(axes={"age": 5}, pairs=False)
    turned = replace(view, manifest=dict(reversed(list(view.manifest.items()))))
    first, second = (
        write_json(tmp_path / f"{i}.json", measurement_numbers(v)).read_bytes()
        for i, v in enumerate((view, turned))
    )
    assert first == second


def test_objects_json_does_not_know_become_text():
    assert as_json({Path("a"): {3, 1}, "t": (1, 2.5)}) == {"a": [1, 3], "t": [1, 2.5]}
