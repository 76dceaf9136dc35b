"""The study of RedditBias: bias, perplexity and two dialogue tasks of a model with and without each debiasing method.

The stages run one after the other, each for all models. Their results are stored in the study's folder, so that an
interrupted study can be resumed: models/ (trained), audits/ (bias), perplexity/ and tasks/.
"""

import gc
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.mitigations.training import TrainingMethod, load_method, published_texts, read_lineage
from evenhand.models import load_model
from evenhand.models.huggingface import CausalModel
from evenhand.prompts.redditbias import load_redditbias, specification
from evenhand.reports import listing
from evenhand.runs import Progress, Silence, default_path, hold_lock, resumable
from evenhand.schema import Unsupported, read_stored_table, write_table
from evenhand.studies.debias import debias
from evenhand.studies.redditbias.bias import audit_biases, audit_options, bias_cells
from evenhand.studies.redditbias.cells import cell_table
from evenhand.studies.redditbias.dialogue import (
    FLAGS,
    SETS,
    Task,
    answer_task,
    load_tasks,
    task_cells,
)
from evenhand.studies.redditbias.language import Lines, left_out, load_lines, perplexity_cells, read_lines
from evenhand.studies.redditbias.options import BASE, OWN, RedditBiasConfig, StudyModel
from evenhand.weights import need_hugging_face, refuse_light

CELLS_FILE = "cells.parquet"


@dataclass(frozen=True)
class RedditBiasStudy:
    """Finished study on disk.

    Attributes
    ----------
    folder
        Folder of the study.
    cells
        All numbers (`cells.CELLS`).
    not_measured
        Measures that are missing, with the reasons.
    notes
        Cautions for readers.
    facts
        Descriptions of the model and the data.
    """

    folder: Path
    config: RedditBiasConfig
    cells: pl.DataFrame
    not_measured: tuple[str, ...]
    notes: tuple[str, ...]
    facts: Mapping[str, Any]


def study_redditbias(
    config: RedditBiasConfig, *, output: Path | None = None, progress: Progress | None = None
) -> RedditBiasStudy:
    """Run or resume all stages: training, audits, perplexity and dialogue tasks; see `redditbias`.

    All data are read before anything is trained. Raises DataError or DatasetMissing for invalid or missing data,
    Unsupported for a model that is not causal or that evenhand does not load itself (such as a served model),
    Interrupted (the study can be resumed), ResumeRefused, and the errors of the stages.
    """
    need_hugging_face("Training a model")
    progress = progress or Silence()
    path = output or default_path(config.model, "redditbias")
    published = [bias for bias in config.bias if not bias.startswith(OWN)]
    for bias in published:
        published_texts(specification(bias), config.folder)
    if published:
        load_redditbias(config.folder, bias_types=published)
    audit_options(config, config.model)
    lines = load_lines(config)
    tasks, notes = load_tasks(config)
    config.begin(path, renewed=False)
    with resumable(f"Resume with: evenhand study redditbias {path}"), hold_lock(path / "lock"):
        session = _Session(config, path, lines, tasks, progress)
        facts = session.run()
        cells = cell_table(session.cells(), config.alpha)
        write_table(path / CELLS_FILE, cells)
        notes += session.unread()
    given = {task.name for task in tasks}
    missing = [f"{name}: no {SETS[name]} was given ({FLAGS[name]})." for name in FLAGS if name not in given]
    return RedditBiasStudy(
        path,
        config,
        cells,
        tuple(f"Not measured: {one}" for one in missing),
        tuple(notes),
        {"lines": lines.called, "model": facts},
    )


@dataclass
class _Session:
    """One run of a study; stored results are kept and missing ones are computed."""

    config: RedditBiasConfig
    path: Path
    lines: Lines
    tasks: list[Task]
    progress: Progress

    def run(self) -> dict[str, Any]:
        """Run every stage of every model; return the description of the base model."""
        facts: dict[str, Any] = {}
        models = self.config.models
        for number, made in enumerate(models, 1):
            key = made.key
            self.progress.note(f"model {number} of {len(models)}: {self._name_model(made)}")
            if made.bias is not None and made.words is not None:
                self._train(made, made.bias, made.words)
            model = self._load_model(key)
            facts = facts or model.describe()
            audit_biases(self.config, key, model, self.path / "audits" / key, self.progress)
            read_lines(model, self.lines.texts, self._lines_file(key))
            del model
            gc.collect()
            for task in self.tasks:
                self.progress.note(
                    f"{task.name}: {len(task.train):,} examples for training, {len(task.asked):,} for testing"
                )
                answer_task(self.config, task, self.path / "tasks" / key, partial(self._load_model, key))
        return facts

    def cells(self) -> list[dict[str, Any]]:
        """Return all numbers of every model; those of the base model are repeated for each bias."""
        rows: list[dict[str, Any]] = []
        base_lines = read_stored_table(self._lines_file(BASE))
        answers = {
            (task.name, key): answer_task(self.config, task, self.path / "tasks" / key, lambda: None)
            for task in self.tasks
            for key in (made.key for made in self.config.models)
        }
        audits = self.path / "audits"
        for bias in self.config.bias:
            mine = [made for made in self.config.models if made.bias in (None, bias)]
            for made in mine:
                key = made.key
                controls = [one.key for one in mine if one.name == made.control]
                control = audits / controls[0] if controls else None
                found = bias_cells(self.config, bias, audits / key, audits / BASE, control)
                found += perplexity_cells(
                    read_stored_table(self._lines_file(key)),
                    base_lines,
                    self.config.seed,
                    base=key == BASE,
                    measures=self.lines.measures,
                )
                for task in self.tasks:
                    base = None if key == BASE else answers[task.name, BASE]
                    found += task_cells(task.name, answers[task.name, key], base, self.config)
                rows += [
                    {"bias": bias, "model": made.name, "control": made.control, **cell} for cell in found
                ]
        return rows

    def unread(self) -> list[str]:
        """Return sentences about lines without a likelihood; models with the same sentence share it."""
        told: dict[str, list[str]] = {}
        for made in self.config.models:
            sentence = left_out(read_stored_table(self._lines_file(made.key)), "{}")
            if sentence is not None:
                told.setdefault(sentence, []).append(made.name)
        every = len(self.config.models)
        return [
            sentence.replace(
                "{}", "every model" if len(names) == every else listing(list(dict.fromkeys(names)))
            )
            for sentence, names in told.items()
        ]

    def _train(self, made: StudyModel, bias: str, words: str) -> None:
        config = self.config
        options: dict[str, Any] = {"seed": config.seed, "device": config.device}
        if config.epochs is not None and isinstance(load_method(words), TrainingMethod):
            options["epochs"] = config.epochs
        if made.steps_of is not None:
            options["epochs"] = epochs_as_long(read_lineage(self.path / "models" / made.steps_of) or {})
        if config.as_published:
            options["start"] = "none"
        debias(
            config.model,
            method=words if made.is_control else config.words(words),
            bias=bias,
            source=None if bias.startswith(OWN) else config.folder,
            revision=config.revision,
            trust_remote_code=config.trust_remote_code,
            output=self.path / "models" / made.key,
            progress=self.progress,
            **options,
        )

    def _load_model(self, key: str) -> CausalModel:
        name = self.config.model if key == BASE else str(self.path / "models" / key)
        config = self.config
        model = load_model(
            name,
            device=config.device,
            dtype="float32",
            revision=config.revision if key == BASE else None,
            trust_remote_code=config.trust_remote_code,
            batch_tokens=config.batch_tokens,
        )
        if not isinstance(model, CausalModel):
            refuse_light(model, f"Training {config.model}")
            raise Unsupported(
                f"Cannot train {config.model}: the study requires a causal model whose weights are in this "
                "process.",
                "Use a causal Hugging Face model (GPT-2, DialoGPT, ...), by name or folder, or "
                "evenhand/reference.",
            )
        return model

    def _lines_file(self, key: str) -> Path:
        return self.path / "perplexity" / f"{key}.parquet"

    @staticmethod
    def _name_model(made: StudyModel) -> str:
        if made.words is None:
            return "by itself"
        if made.is_control:
            return f"{made.name}, the texts of {made.bias} without a method"
        return f"{load_method(made.words).name} against {made.bias}"


def epochs_as_long(lineage: Mapping[str, Any]) -> float:
    """Return the number of epochs with which another training takes as many steps as a recorded one.

    The other training reads each text once per epoch. lineage: record of the first training.

    >>> data, options = {"texts": 100, "examples": 200}, {"batch_size": 8, "accumulation": 1}
    >>> epochs_as_long({"steps": 50, "data": data, "options": options})
    4.0
    """
    options, texts = lineage["options"], lineage["data"].get("texts")
    if not texts:
        return float(options["epochs"])
    return float(lineage["steps"] * options["batch_size"] * options["accumulation"] / texts)
