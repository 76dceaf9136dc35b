"""`evenhand calibrate`: wrong calls are refused before anything is drawn, and what is asked for is written."""

import json
from pathlib import Path

import pytest

from tests.studies.calibration import toys


@pytest.fixture(autouse=True)
def toy(installed):
    toys.register(installed)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("-o", ""), ("must not be empty",)),
        (("--summary", ""), ("`--summary` expects a file",)),
        (("--summary", "."), ("`--summary` expects a file",)),
        (("--summary", "x" * 300), ("`--summary` expects a file",)),
        (("--summary", f"{__file__}/s.json"), ("cannot write to",)),
        (("--replications", 10**12), ("replications: must be at most 100,000, got",)),
        (("--quick", "--full"), ("`--quick` and `--full` cannot be combined",)),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_drawn(evenhand, arguments, parts):
    before = set(Path().rglob("*"))
    evenhand("calibrate", toys.HONEST, *arguments).refused(2, *parts)
    assert set(Path().rglob("*")) == before


def test_study_and_summary_are_written_and_a_name_given_twice_counts_once(evenhand):
    call = ("calibrate", toys.HONEST, toys.HONEST, "--replications", 2, "-o", "c", "-j", 1)
    ended = evenhand(*call, "--summary", "s.json")
    assert ended.code == 0, ended.err
    assert json.loads(Path("s.json").read_text())["options"]["measures"] == [toys.HONEST]
    assert Path("c/calibration.html").is_file()


def test_a_study_of_one_measure_renews_its_rows_of_a_summary_that_is_there(evenhand):
    def drawn(measures, seed=0):
        call = ("calibrate", *measures, "--replications", 2, "-j", 1, "--seed", seed, "--summary", "s.json")
        return evenhand(*call, "-o", f"{len(measures)}-{seed}")

    assert drawn((toys.HONEST, toys.CARELESS)).code == 0
    before = json.loads(Path("s.json").read_text())
    changed = {**before, "designs": [{**row, "n": 0} for row in before["designs"]]}
    Path("s.json").write_text(json.dumps(changed))
    assert drawn((toys.HONEST,)).code == 0
    after = json.loads(Path("s.json").read_text())
    assert after["measures"] == before["measures"] and list(after["renewed"]) == [toys.HONEST]
    drawn_anew = {row["measure"] for row in after["designs"] if row["n"]}
    assert drawn_anew == {toys.HONEST} and len(after["designs"]) == len(before["designs"])
    drawn((toys.HONEST,), seed=1).refused(2, "another size, seed or number of replications")
    assert drawn((toys.HONEST, toys.CARELESS)).code == 0
    assert json.loads(Path("s.json").read_text()) == before, "all was drawn anew"
