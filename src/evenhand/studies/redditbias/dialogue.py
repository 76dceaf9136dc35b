"""The two dialogue tasks for every model of the study: training, test and results."""

import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.measures import (
    response_score_changes,
    response_scores,
    state_tracking,
    state_tracking_changes,
)
from evenhand.prompts.dialogue_tasks import (
    DialogueContext,
    Exchange,
    StatePair,
    classification_pairs,
    read_exchanges,
    read_multiwoz,
    read_test_contexts,
)
from evenhand.schema import read_stored_table, write_table
from evenhand.studies.redditbias.options import RedditBiasConfig
from evenhand.studies.redditbias.tasks import (
    ResponseOptions,
    TrackingOptions,
    generate_responses,
    track_states,
)

TRACKING, RESPONDING = "state tracking", "response generation"
FLAGS = {TRACKING: "--multiwoz", RESPONDING: "--dstc7"}
SETS = {TRACKING: "MultiWOZ", RESPONDING: "DSTC7"}
MEASURES = {
    TRACKING: ("dst_f1", "dst_f1_over_null"),
    RESPONDING: ("bleu_4", "nist_2", "entropy_4", "dist_2", "meteor"),
}


@dataclass(frozen=True)
class Task:
    """One dialogue task: training examples and test examples."""

    name: str
    train: Sequence[StatePair] | Sequence[Exchange]
    asked: Sequence[StatePair] | Sequence[DialogueContext]

    def run(self, config: RedditBiasConfig, model: Any, folder: Path) -> pl.DataFrame:
        """Train a model on the task in a folder, and test it. Changes the model's weights."""
        published, train, asked = config.as_published, list(self.train), list(self.asked)
        if self.name == TRACKING:
            teaching = replace(TrackingOptions().training, seed=config.seed)
            tracking = TrackingOptions(as_published=published, training=teaching)
            return track_states(model, train, asked, tracking, folder, device=config.device)  # type: ignore[arg-type]
        teaching = replace(ResponseOptions().training, seed=config.seed)
        responding = ResponseOptions(as_published=published, seed=config.seed, training=teaching)
        return generate_responses(model, train, asked, responding, folder, device=config.device)  # type: ignore[arg-type]


def load_tasks(config: RedditBiasConfig) -> tuple[list[Task], list[str]]:
    """Return the tasks for which the user gave data, and notes on the data.

    Each task has at most `config.task_limit` examples for training and for testing.

    Raises DataError for data that cannot be read.
    """
    tasks, notes = [], []
    named = [
        SETS[task]
        for task, data in ((TRACKING, config.multiwoz), (RESPONDING, config.dstc7))
        if data is not None
    ]
    if named:
        notes.append(
            f"{' and '.join(named)}: the files were read as they are. No checksum of the published files is known, so "
            "they may differ from those of the paper."
        )
    if config.multiwoz is not None:
        data = read_multiwoz(Path(config.multiwoz).expanduser())
        sides = [
            classification_pairs(data, split, as_published=config.as_published, seed=config.seed)
            for split in ("train", "test")
        ]
        tasks.append(Task(TRACKING, *(side.pairs[: _even(config.task_limit)] for side in sides)))
        if data.left_out:
            left = ", ".join(f"{count:,} with {reason}" for reason, count in data.left_out.items())
            notes.append(f"Dialogues of MultiWOZ that were left out, as TRADE leaves them out: {left}.")
        lacking: Counter[str] = Counter()
        for side in sides:
            lacking.update(side.without_negative)
        if lacking:
            told = ", ".join(f"{count:,} ({reason})" for reason, count in lacking.items())
            notes.append(
                f"Slot values for training and testing without a wrong value to compare with: {told}."
            )
    if config.dstc7 is not None:
        folder = Path(config.dstc7).expanduser()
        exchanges = list(read_exchanges(folder, config.task_limit))
        tasks.append(Task(RESPONDING, exchanges, read_test_contexts(folder)[: config.task_limit]))
    if config.task_limit is not None and tasks:
        notes.append(
            f"Each dialogue task was trained and tested on at most {config.task_limit:,} examples each, so results are "
            "not comparable with published ones."
        )
    return tasks, notes


def answer_task(config: RedditBiasConfig, task: Task, folder: Path, load: Callable[[], Any]) -> pl.DataFrame:
    """Return a model's responses to a task, cached in a folder; the model is loaded and trained only without a cache.

    A stopped training is resumed. It is deleted after the model has responded.
    """
    file = folder / f"{task.name.replace(' ', '_')}.parquet"
    if file.is_file():
        return read_stored_table(file)
    training = folder / f"{task.name.replace(' ', '_')}_training"
    table = task.run(config, load(), training)
    write_table(file, table)
    shutil.rmtree(training, ignore_errors=True)
    return table


def task_cells(
    task: str, table: pl.DataFrame, base: pl.DataFrame | None, config: RedditBiasConfig
) -> list[dict[str, object]]:
    """Return the measures of a task for one model, as cells with columns of `cells.CELLS`.

    Parameters
    ----------
    task
        Name of the task.
    table
        Responses of the model, as `read_answers` returns them.
    base
        Responses of the base model. None if the model is the base model, which has no change.
    config
        Options of the study.

    Notes
    -----
    The null of state tracking is the value of a model that always answers yes.
    """
    if task == TRACKING:
        own = state_tracking(table, seed=config.seed)
        moved = None if base is None else state_tracking_changes(base, table, seed=config.seed)
    else:
        how: dict[str, Any] = {
            "as_published": config.as_published,
            "seed": config.seed,
            "cluster": "conversation",
        }
        own = response_scores(table, **how)
        moved = None if base is None else response_score_changes(base, table, **how)
    changes = {} if moved is None else {row["measure"]: row for row in moved.to_dicts()}
    return [_cell(row, changes.get(row["measure"])) for row in own.to_dicts()]


def _cell(row: Mapping[str, Any], moved: Mapping[str, Any] | None) -> dict[str, object]:
    cell = {name: row.get(name) for name in ("measure", "estimate", "low", "high", "null", "n")}
    if moved is None:
        return cell
    named = {"change": "change", "change_low": "low", "change_high": "high", "change_p": "p"}
    return cell | {name: moved[column] for name, column in named.items()}


def _even(limit: int | None) -> int | None:
    """Return the limit rounded to an even number, because questions come in pairs of a right and a wrong one."""
    return None if limit is None else limit + limit % 2
