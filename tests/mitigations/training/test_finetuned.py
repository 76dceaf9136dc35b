"""What is to be asked of a trained model stands where it was made: as a command that a shell takes."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from evenhand.mitigations.training import next_steps


def lineage(bias: str, **options: Any) -> dict[str, Any]:
    return {"base": {"name": "my model"}, "bias": bias, "options": options}


@pytest.mark.parametrize(
    ("bias", "asked"),
    [
        ("religion1", ["-b", "redditbias", "-b", "redditbias-lmp"]),
        ("evenhand/age", ["-b", "evenhand-likelihood", "--axis", "age"]),
        ("my own terms", ["-b", "redditbias", "--set", "data.redditbias=PAIRS"]),
    ],
)
def test_the_next_step_measures_what_was_trained(bias: str, asked: list[str]) -> None:
    [command], note = next_steps(lineage(bias), Path("a folder"))
    assert shlex.split(command) == ["evenhand", "before-after", "my model", "a folder", *asked]
    assert ("PAIRS" in command) == ("PAIRS is" in note)


def test_an_adapter_is_measured_by_itself_too() -> None:
    commands, _ = next_steps(lineage("race", lora_rank=8), Path("made"))
    assert [shlex.split(one)[3] for one in commands] == ["made", "made/adapter"]
