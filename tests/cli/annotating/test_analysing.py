"""`evenhand annotate analyse`: an export analysed, refused in words, and left without an answer."""

import json
from pathlib import Path

from evenhand.annotation.simulating import simulated_votes
from tests.annotation.analysis.written_exports import pairs, written


def test_an_export_is_analysed(evenhand, tmp_path: Path) -> None:
    file = pairs(tmp_path, {"new": 1.0, "old": 0.0}, persons=80, votes_per_item=2, onboarding=2, seed=4)
    done = evenhand("annotate", "analyse", file, "-o", "told", "--baseline", "old", "--report", "page.html")
    assert done.code == 0, done.err
    done.says("new was preferred to old", "report: told/people.html", "page.html")
    assert json.loads(Path("told/people.json").read_text())["headlines"][0]["verdict"] == "preferred"
    assert Path("told/tables/win_rates.csv").is_file()
    assert Path("page.html").read_text() == Path("told/people.html").read_text()


def test_what_is_wrong_is_said(evenhand, tmp_path: Path) -> None:
    file = pairs(tmp_path, {"new": 1.0, "old": 0.0}, persons=10)
    evenhand("annotate", "analyse", "absent.jsonl").refused(1, "File not found: absent.jsonl")
    evenhand("annotate", "analyse", file, "--question", "human").refused(2, "Unknown question: 'human'")
    evenhand("annotate", "analyse", file, "--alpha", 2).refused(2, "alpha")
    evenhand("annotate", "analyse", file, "--rules", "strict").refused(1, "File of rules not found: strict")
    evenhand("annotate", "analyse", file, "--by", "groups.axis").refused(1, "has the property 'axis'")


def test_without_an_answer_that_counts_it_ends_with_3(evenhand, tmp_path: Path) -> None:
    votes = simulated_votes({"new": 1.0, "old": 0.0}, persons=12, onboarding=2, attention=0.0, seed=1)
    done = evenhand("annotate", "analyse", written(tmp_path / "v.jsonl", votes), "-o", "told")
    assert done.code == 3
    done.says("No judgements to analyse: all 12 annotators were excluded.")
    assert Path("told/people.html").is_file()
