"""--classifier-error from a file to a verdict, and the files that are refused."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks import load_benchmark
from evenhand.schema import DataError, UsageError
from evenhand.studies.classifier_error import check_error_groups, read_classifier_error
from evenhand.studies.own_responses import measure


def responses(folder: Path) -> Path:
    """Judgements of 400 texts about each of two groups; 20 % are harmful in both, the classifier is harsher on `b`."""
    rows = [
        {"prompt_id": f"{group}{number}", "axis": "religion", "group": group, "negative": int(number < count)}
        for group, count in (("a", 96), ("b", 160))
        for number in range(400)
    ]
    file = folder / "responses.csv"
    pl.DataFrame(rows).write_csv(file)
    return file


def errors(folder: Path, group: str = "b") -> Path:
    file = folder / "errors.csv"
    file.write_text(
        f"group,false_alarms,n_harmless,hits,n_harmful\na,40,500,450,500\n{group},138,500,450,500\n"
    )
    return file


def test_a_gap_that_known_false_alarms_make_is_no_bias(tmp_path: Path) -> None:
    file = responses(tmp_path)
    raw = measure(file, "bold").findings.filter(measure="disparity")
    mended = measure(file, "bold", classifier_error=errors(tmp_path))
    found = mended.findings.filter(measure="disparity")
    assert raw["verdict"].to_list() == ["biased"]
    assert found["verdict"].to_list() == ["not detected"]
    assert mended.measured.arguments["classifier_error"].endswith("errors.csv")


def test_the_headline_says_what_a_finding_survives(tmp_path: Path) -> None:
    (sentence,) = measure(responses(tmp_path), "bold").tables()["headlines"]["sentence"]
    assert "would no longer hold if the classifier's false-positive rate were 9 points higher for" in sentence


def test_errors_about_nobody_here_are_refused(tmp_path: Path) -> None:
    table = read_classifier_error(errors(tmp_path, "c"))
    assert table is not None and read_classifier_error(None) is None
    bold = load_benchmark("bold")
    frame = pl.DataFrame({"group": ["x"]})
    with pytest.raises(UsageError, match="The table of classifier errors contains a, c, but no benchmark"):
        check_error_groups(table, {"bold": frame}, [bold])
    with pytest.raises(UsageError, match="no benchmark uses a classifier"):
        check_error_groups(table, {}, [load_benchmark("evenhand-likelihood")])


def test_a_file_without_counts_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "errors.csv"
    file.write_text("group,rate\na,0.1\n")
    with pytest.raises(DataError, match="label, negative"):
        read_classifier_error(file)
