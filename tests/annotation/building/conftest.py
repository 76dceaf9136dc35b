"""Runs whose every answer is known, and conversations of a World."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.models.puppets import writes
from evenhand.runs import RunDirectory
from evenhand.studies.audit import audit

Answers = Callable[[str, int], str]
Judged = Callable[..., Path]


@pytest.fixture
def run_of(judged_house: object, tmp_path: Path) -> Judged:
    """A function that audits a model of given answers on the house's prompts (24, two samples): its folder."""

    def begin(name: str, answer: Answers, benchmark: str = "rudeness") -> Path:
        run = audit(writes(answer, name), benchmarks=[benchmark], output=tmp_path / name.replace("/", "-"))
        return run.path

    return begin


@pytest.fixture(scope="session")
def talks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunDirectory]:
    """Runs of two Worlds that converse, by their names: 24 conversations each, with the same openers."""
    folder = tmp_path_factory.mktemp("talks")
    runs = {}
    for name in ("evenhand/conversing", "evenhand/conversing-planted"):
        runs[name] = audit(
            name,
            benchmarks=["names"],
            limit=24,
            decoding="sampling",
            temperature=1.0,
            top_p=1.0,
            output=folder / name.rpartition("/")[2],
        ).directory
    return runs
