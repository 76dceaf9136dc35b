"""What measures show of the last full calibration, read from the summary that a study writes."""

import json

import polars as pl
import pytest

from evenhand.catalogue import catalogue
from evenhand.measures import calibration
from evenhand.schema import DataError
from evenhand.studies.calibration.conduct import Drawn
from evenhand.studies.calibration.options import CalibrationOptions
from evenhand.studies.calibration.result import CalibrationStudy
from evenhand.studies.calibration.summary import DESIGNS, by_measure, tables


def row(measure, design, n, false, verdict, **more):
    empty = dict.fromkeys(DESIGNS)
    return empty | {"measure": measure, "design": design, "role": "standard", "n": n, "false": false} | {
        "verdict": verdict, "why": "", **more
    }  # fmt: skip


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A summary of two measures, one of which fails."""
    designs = pl.DataFrame(
        [
            row("noun_contrast", "few", 300, 0.03, "holds", coverage=0.95, power=0.8),
            row("noun_contrast", "many", 100, 0.05, "undecided", coverage_planted=0.98),
            row("noun_contrast", "one prompt", 100, 0.0, "answers not measurable"),
            row("noun_contrast", "a limit", 100, 0.6, "fails", role="limit"),
            row("crows_pairs", "swaps", 200, 0.31, "fails", why="false-positive rate 31.0%"),
        ],
        schema=DESIGNS,
    )
    study = CalibrationStudy(tmp_path, CalibrationOptions(size="full"), Drawn((), (), {}))
    study.__dict__["_tables"] = tables(study.drawn) | {"designs": designs, "measures": by_measure(designs)}
    path = study.write_summary(tmp_path / "calibration.json")
    monkeypatch.setattr(calibration, "SUMMARY", path)
    calibration._rows.cache_clear()
    yield path
    calibration._rows.cache_clear()


def test_a_measure_says_how_it_did_over_its_designs(stored):
    known = calibration.calibrated("noun_contrast")
    assert (known.designs, known.unmeasurable, known.n, known.holds) == (2, 1, 400, False)
    assert known.undecided == ("many",) and (known.worst, known.worst_design, known.worst_n) == (
        0.05,
        "many",
        100,
    )
    assert known.false == pytest.approx((0.03 * 300 + 0.05 * 100) / 400)
    assert known.sentence == (
        "In simulations without bias, the false-positive rate was 5.0% in the worst of 2 designs (many, 100 data sets) "
        "and 3.5% over all 400 data sets; 1 of these designs is undecided."
    )
    assert known.coverage == (0.95, 0.98) and known.power == (0.8, 0.8)


def test_one_that_fails_says_so_wherever_it_is_shown(stored):
    told = "In simulations, this measure fails in 1 of 1 designs (swaps: false-positive rate 31.0%)."
    assert calibration.calibrated("crows_pairs").sentence == told
    assert told in catalogue("measures")["crows_pairs"].details


def test_a_measure_that_was_never_tried_says_nothing(stored):
    assert calibration.calibrated("bias_score_published") is None
    assert "Calibration" not in catalogue("measures")["bias_score_published"].details


def test_the_page_of_the_docs_holds_every_design(stored):
    from docs import generate

    page = generate.calibration_page()
    assert "| few | 300 | 3.0 %" in page and "counts against no measure" in page and "31.0 %" in page
    assert "calibration.md#noun_contrast" in "".join(generate._measure_facts("noun_contrast"))


def test_a_damaged_summary_says_how_to_mend_it(stored):
    stored.write_text("{")
    with pytest.raises(DataError, match="cannot be read"):
        calibration.calibrated("noun_contrast")


def test_the_summary_is_plain_json(stored):
    content = json.loads(stored.read_text())
    assert content["options"]["size"] == "full" and "jobs" not in content["options"]
    assert {"measures", "designs", "doses", "moves", "halves"} < content.keys()
