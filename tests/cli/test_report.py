"""`evenhand report`: the page anew, a picture, a model card; of an audit, a measured file and a comparison."""

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
    assert card.code == 0 and "evenhand measure own.csv --benchmark bold" in card.out


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
