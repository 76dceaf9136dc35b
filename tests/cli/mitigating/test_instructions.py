"""`evenhand search-instruction`: begins, is gone on with, and says what is wrong."""

import json
from pathlib import Path
from typing import Any

FAST = ("--iterations", 1, "--keep", 2, "--variants", 1, "--subset", 12, "--final", 12)


def test_searches_writes_a_mitigation_and_goes_on(evenhand: Any, judged_house: Any, tmp_path: Path) -> None:
    ended = evenhand("search-instruction", "house/writer", "-b", "rudeness", *FAST, "-o", "out")
    assert ended.code == 0, ended.err
    ended.says("house/writer on rudeness", "(chosen)", "no change was detected", "out/instruction.json")
    facts = json.loads((tmp_path / "out" / "instruction.json").read_text())["facts"]
    assert facts["benchmark"] == "rudeness" and facts["verdict"] == "not detected"
    assert (tmp_path / "out" / "report.html").is_file()
    judged_house.WordJudge.asked.clear()
    again = evenhand("search-instruction", "out")
    assert again.code == 0 and again.out == ended.out
    assert judged_house.WordJudge.asked == [], "nothing is judged twice"


def test_a_stop_is_gone_on_with(evenhand: Any, judged_house: Any, tmp_path: Path) -> None:
    judged_house.WordJudge.stop_after = 5
    stopped = evenhand("search-instruction", "house/writer", "-b", "rudeness", *FAST, "-o", "out")
    assert stopped.code == 130
    stopped.says("All results so far are saved", "evenhand search-instruction out")
    judged_house.WordJudge.stop_after = None
    assert evenhand("search-instruction", "out").code == 0
    evenhand("search-instruction", "house/writer", "-b", "rudeness", *FAST, "-o", "whole")
    files = [(tmp_path / name / "instruction.json").read_bytes() for name in ("out", "whole")]
    assert files[0] == files[1]


def test_own_instructions_and_classifier(evenhand: Any, judged_house: Any, tmp_path: Path) -> None:
    ended = evenhand(
        "search-instruction", "house/writer", "-b", "rudeness", *FAST, "-o", "out", "--instruction", "Be good.",
        "--instruction", "Be calm.", "--classifier", "house/words?word=mean",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    record = json.loads((tmp_path / "out" / "revision.json").read_text())["search"]
    assert record["seeds"] == ["Be good.", "Be calm."] and record["classifier"]["word"] == "mean"


def test_what_is_wrong_is_said(evenhand: Any, judged_house: Any) -> None:
    def refused(code: int, *told: str, to: tuple[object, ...]) -> None:
        evenhand("search-instruction", *to).refused(code, *told)

    refused(2, "Missing option: `--benchmark`", to=("house/writer",))
    refused(2, "Unknown benchmark: 'rudenes'", to=("house/writer", "-b", "rudenes"))
    refused(2, "--role rudeness", to=("house/writer", "-b", "two-roles", *FAST))
    refused(
        2, "names a group", to=("house/writer", "-b", "rudeness", *FAST, "--instruction", "Like red hair.")
    )
    refused(
        2,
        "Unknown model: 'evenhand/nobody'",
        to=("house/writer", "-b", "rudeness", *FAST, "--reviser", "evenhand/nobody"),
    )
    refused(
        2,
        "20 prompts for the final choice and 20 per round are more than",
        to=("house/writer", "-b", "rudeness", "--subset", 20, "--final", 20),
    )
    evenhand("search-instruction", "house/writer", "-b", "rudeness", *FAST, "-o", "out")
    refused(2, "is an existing search, so keep cannot be changed", to=("out", "--keep", 3))
