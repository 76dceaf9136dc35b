"""`evenhand report`: the page anew, a picture, a model card; of an audit, a measured file and a comparison."""

import json

import polars as pl
import pytest


@pytest.fixture(autouse=True)
def _known(judged_house):
    """Benchmarks, classifiers and the model of tests/helpers/judged_house.py are there by name."""


@pytest.fixture
def run(evenhand):
    assert evenhand("audit", "house/writer", "-b", "rudeness", "-o", "run").code == 0
    return "run"


def test_the_page_is_written_anew(evenhand, run, tmp_path):
    (tmp_path / run / "report.html").unlink()
    ended = evenhand("report", run)
    assert ended.code == 0, ended.err
    assert (tmp_path / run / "report.html").read_text().startswith("<!doctype html>")


def test_a_picture_and_a_model_card(evenhand, run, tmp_path):
    ended = evenhand("report", run, "--svg", "slide.svg", "--model-card", "card.md")
    assert ended.code == 0, ended.err
    assert (tmp_path / "slide.svg").read_text().startswith("<svg xmlns=")
    card = (tmp_path / "card.md").read_text()
    assert card.startswith("---\nmodel-index:") and "evenhand audit house/writer --benchmark rudeness" in card
    printed = evenhand("report", run, "--model-card", "-")
    assert printed.out == card


def test_a_comparison_and_a_measured_file(evenhand, run, tmp_path):
    assert evenhand("compare", run, run, "-o", "both").code == 0
    assert evenhand("report", "both", "--svg", "both.svg").code == 0
    refused = evenhand("report", "both", "--model-card", "-")
    assert refused.code == 2 and "one model" in refused.err
    rows = [
        {"axis": "age", "group": group, "prompt": i, "text": "x", "continuation": "y", "negative": i % 2 == 0}
        for group in ("old", "young") for i in range(20)
    ]  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "own.csv")
    measured = evenhand("measure", "own.csv", "--benchmark", "bold", "-o", "own")
    assert measured.code == 0, measured.err
    card = evenhand("report", "own", "--model-card", "-")
    assert (
        card.code == 0
        and "evenhand measure own.csv --alpha 0.05 --benchmark bold --margin 0.5 --seed 0" in card.out
    )


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (("nowhere",), 1, "No finished result"),
        (("run", "--svg", "slide.png"), 2, "`--svg` writes .svg"),
        (("run", "--benchmark", "rudeness"), 2, "Add --png FILE or --svg FILE, or remove --benchmark"),
        (("run", "--svg", "a.svg", "--benchmark", "bold"), 2, "Available: rudeness"),
    ],
)
def test_what_cannot_be_shown_is_said(evenhand, run, flags, code, said):
    ended = evenhand("report", *flags)
    assert ended.code == code and said in " ".join(ended.err.split())


DAMAGE = [
    (("title",), None, "title: expected text, got None"),
    (("findings",), 3, "findings: expected a list, got 3"),
    (("findings", 0, "estimate"), "x", "findings.0.estimate: expected a number, got 'x'"),
    (("findings", 0, "verdict"), ["biased"], "findings.0.verdict: expected text, got ['biased']"),
    (("measurements", 0, "minimum_detectable"), {}, "measurements.0.minimum_detectable: expected a number"),
    (("headlines", 0, "verdict"), "odd", "headlines.0.verdict: expected 'biased', 'not detected'"),
    (("benchmarks", 0, "n_errors"), "x", "benchmarks.0.n_errors: expected a whole number, got 'x'"),
    (("manifest", "arguments_resolved"), "x", "manifest.arguments_resolved: expected names with values"),
]


def with_value(content, place, value):
    """Return a copy of JSON content with another value at a place."""
    changed = json.loads(json.dumps(content))
    part = changed
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    return changed


def test_a_file_of_numbers_with_a_wrong_value_is_refused_with_its_field(evenhand, tmp_path):
    rows = [f"{group},{(3 * i) % 7}" for i in range(30) for group in "ab"]
    (tmp_path / "table.csv").write_text("\n".join(["group,score", *rows]))
    assert evenhand("measure", "table.csv", "-o", "mine").code == 0
    file = tmp_path / "mine" / "measurements.json"
    sound = json.loads(file.read_text())
    for place, value, words in DAMAGE:
        file.write_text(json.dumps(with_value(sound, place, value)))
        for flags in (("--svg", "x.svg"), ("--model-card", "-"), ()):
            evenhand("report", "mine", *flags).refused(
                1, "measurements.json does not contain valid results", words, "Restore it from a copy"
            )
    del sound["measurements"][0]["low"]
    file.write_text(json.dumps(sound))
    evenhand("report", "mine", "--svg", "x.svg").refused(1, "measurements.0.low: is missing")


def test_a_damaged_comparison_is_refused_with_its_field(evenhand, run, tmp_path):
    assert evenhand("compare", run, run, "-o", "both").code == 0
    file = tmp_path / "both" / "compare.json"
    sound = json.loads(file.read_text())
    for place, value, words in (
        (("names",), ["a"], "names: "),
        (("changes", 0, "model"), None, "a row of changes does not name its model"),
        (("changes", 0, "low"), "x", "changes.0.low: expected a number, got 'x'"),
    ):
        file.write_text(json.dumps(with_value(sound, place, value)))
        evenhand("report", "both", "--svg", "x.svg").refused(1, "does not contain valid results", words)


def test_a_run_folder_is_shown_by_report_and_not_by_show(evenhand, run):
    evenhand("show", run).refused(2, f"{run} is a folder", f"evenhand report {run}")
