"""What measures show of the last full calibration, read from the summary that a study writes."""

import json
from pathlib import Path

import polars as pl
import pytest

from evenhand.catalogue import catalogue
from evenhand.measures import calibration
from evenhand.schema import DataError
from evenhand.studies.calibration.conduct import SimulatedResults
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
    study = CalibrationStudy(tmp_path, CalibrationOptions(size="full"), SimulatedResults((), (), {}))
    study.__dict__["_tables"] = tables(study.drawn) | {"designs": designs, "measures": by_measure(designs)}
    path = study.write_summary(tmp_path / "calibration.json")
    monkeypatch.setattr(calibration, "SUMMARY", path)
    forget_results()
    yield path
    forget_results()


def forget_results():
    calibration._read_summary.cache_clear()
    calibration._find.cache_clear()


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
        "In simulations without bias, the false-positive rate was 5.0% in the worst of 2 designs (100 data sets) "
        "and 3.5% over all 400 data sets; 1 of these designs needs more data sets to confirm the error rates."
    )
    assert known.coverage == (0.95, 0.98) and known.power == (0.8, 0.8)


def test_one_that_fails_says_so_wherever_it_is_shown(stored):
    told = "In simulations, this measure fails in 1 of 1 designs (swaps: false-positive rate 31.0%)."
    assert calibration.calibrated("crows_pairs").sentence == told
    assert told in catalogue("measures")["crows_pairs"].details


def test_a_measure_that_was_never_tried_says_nothing(stored):
    assert calibration.calibrated("bias_score_published") is None
    assert "Calibration" not in catalogue("measures")["bias_score_published"].details


def test_a_measure_that_was_simulated_apart_shows_what_its_script_found(stored):
    known = calibration.calibrated("interaction")
    results = json.loads((Path(__file__).parents[2] / "perf" / "results" / "interactions.json").read_text())
    designs, sets = results["designs"], results["sets"]
    sizes = {name: one["size"] for name, one in designs.items()}
    worst = max(sizes, key=sizes.__getitem__)
    assert (known.designs, known.n) == (len(designs), sets * len(designs))
    assert (known.worst, known.worst_design, known.worst_n) == (sizes[worst], worst, sets)
    assert known.false == pytest.approx(sum(sizes.values()) / len(designs))
    coverages = [one["coverage"] for one in designs.values()]
    powers = [one["power_at_mde"] for one in designs.values() if "power_at_mde" in one]
    assert known.coverage == (min(coverages), max(coverages)) and known.power == (min(powers), max(powers))

    def is_undecided(one):
        false_high, coverage_low = wilson(one["size"], sets)[1], wilson(one["coverage"], sets)[0]
        return false_high > 0.08 or coverage_low < 0.92

    assert known.undecided == tuple(name for name, one in designs.items() if is_undecided(one))


def wilson(share, n, z=1.959964):
    centre, half = share + z * z / 2 / n, z * (share * (1 - share) / n + (z / 2 / n) ** 2) ** 0.5
    return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)


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
