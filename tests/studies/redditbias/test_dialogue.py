"""The dialogue tasks of the study: what options reach them, and what is said of their data."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evenhand.prompts.dialogue_tasks import StatePairs
from evenhand.studies.redditbias import RedditBiasConfig, dialogue
from evenhand.studies.redditbias.dialogue import RESPONDING, TRACKING, Task, load_tasks
from tests.prompts.dialogue_tasks.small import write_multiwoz


def test_the_seed_of_the_study_reaches_both_tasks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[Any] = []
    drawn: list[int] = []
    pairs = dialogue.classification_pairs

    def told(model: Any, train: Any, asked: Any, options: Any, folder: Any, *, device: str) -> pl.DataFrame:
        given.append(options)
        return pl.DataFrame()

    def counted(*args: Any, seed: int, **options: Any) -> StatePairs:
        drawn.append(seed)
        return pairs(*args, seed=seed, **options)

    monkeypatch.setattr(dialogue, "track_states", told)
    monkeypatch.setattr(dialogue, "generate_responses", told)
    monkeypatch.setattr(dialogue, "classification_pairs", counted)
    config = RedditBiasConfig.read(
        {"model": "m", "seed": 7, "multiwoz": str(write_multiwoz(tmp_path / "data"))}
    )
    load_tasks(config)
    for name in (TRACKING, RESPONDING):
        Task(name, [], []).run(config, None, tmp_path)
    assert [one.training.seed for one in given] == [7, 7] and given[1].seed == 7 and drawn == [7, 7]
    assert config.deciding()["seed"] == 7


def test_slot_values_without_a_wrong_one_are_those_of_both_splits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lacking = iter([{"no other value": 28, "no such slot": 3}, {"no other value": 16}])
    monkeypatch.setattr(dialogue, "classification_pairs", lambda *_, **__: StatePairs((), next(lacking)))
    config = RedditBiasConfig.read({"model": "m", "multiwoz": str(write_multiwoz(tmp_path / "data"))})
    assert any("44 (no other value), 3 (no such slot)" in note for note in load_tasks(config)[1])
