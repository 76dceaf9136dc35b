"""One training against a bias, from texts to a folder; it goes on where it was stopped."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.mitigations.training import (
    BIAS,
    CURVES,
    Encoding,
    Lesson,
    Material,
    Trained,
    TrainingMethod,
    Validation,
    drop_checkpoints,
    evaluator,
    load_method,
    material_facts,
    material_hash,
    model_card,
    pad_token,
    prepared_model,
    read_curves,
    read_lineage,
    train,
    write_model,
)
from evenhand.models.huggingface import CausalModel
from evenhand.runs import Progress, locked, resumable
from evenhand.schema import VERSION, as_json, is_file, is_folder
from evenhand.studies.debias.lineage import check_lineage
from evenhand.studies.debias.options import DebiasConfig
from evenhand.studies.debias.record import RECORD

TRAINING = "training"
"""Within the folder: checkpoint and curves."""


@dataclass(frozen=True)
class DebiasStudy:
    """What came of a training.

    folder: the model. lineage: what it was made of, as in lineage.json. curves: see `read_curves`.
    """

    folder: Path
    lineage: Mapping[str, Any]
    curves: Any


@dataclass(frozen=True)
class Ground:
    """What trainings of one model against one bias have in common."""

    encoding: Encoding
    material: Material
    validation: Validation

    def facts(self) -> dict[str, Any]:
        """What is learned from and watched, so that another can be told from it."""
        return material_facts(self.material, (*self.validation.check.texts, *self.validation.neutral))


def record_of(config: DebiasConfig, base: CausalModel, ground: Callable[[], Ground]) -> dict[str, Any]:
    """What decides the weights, JSON-serialisable.

    Our own sentences follow from the rest, and are not made for it.
    """
    method = load_method(config.method)
    told = {"name": method.name, **method.parameters()}
    material = {} if config.own_axis else {"material": ground().facts()}
    record: dict[str, Any] = as_json(
        {**config.same_result(), "method": told, "base": base.fingerprint, **material}
    )
    return record


def finished(folder: Path) -> DebiasStudy | None:
    """What a folder holds, if its training has ended. Raises DataError for a lineage that is none."""
    if not is_file(folder / "config.json") or (lineage := read_lineage(folder)) is None:
        return None
    check_lineage(folder, lineage)
    drop_checkpoints(folder / TRAINING)  # left by a kill right behind the last file
    return DebiasStudy(folder, lineage, read_curves(folder / TRAINING / CURVES))


def train_into(
    output: Path,
    config: DebiasConfig,
    base: CausalModel,
    ground: Callable[[], Ground],
    progress: Progress,
    *,
    model: Callable[[], Any] | None = None,
) -> DebiasStudy:
    """Train as options say into a folder, or go on with the training in it.

    ground: texts, made only where there is something to train. model: makes the one to train, where it is not that of
    `base` itself. Raises as `debias`.
    """
    record = record_of(config, base, ground)

    def begin() -> None:
        RECORD.begin(output, {"evenhand": VERSION, RECORD.part: record}, lambda stored: (stored, record))

    there = is_folder(output) and any(output.iterdir())
    if there:  # nothing is computed for a folder that will be refused
        begin()
        if (done := finished(output)) is not None:
            return done
    go_on = f"The same command goes on after its last checkpoint ({output})."
    with resumable(go_on, "The training was stopped."):
        shared = ground()
        method = load_method(config.method)
        lesson = method.lesson(shared.material, base.tokenizer, shared.encoding, config.seed)
        if not there:  # nothing is written of a training that cannot begin
            begin()
        with locked(output / "lock"):
            if (done := finished(output)) is not None:  # by another process, meanwhile
                return done
            session = _Session(config, base, method, shared, lesson, output, progress)
            lineage, curves = session.run(base.model if model is None else model())
    return DebiasStudy(output, lineage, curves)


@dataclass(frozen=True)
class _Session:
    """One sitting of a training, everything at hand."""

    config: DebiasConfig
    base: CausalModel
    method: TrainingMethod
    ground: Ground
    lesson: Lesson
    output: Path
    progress: Progress

    def run(self, model: Any) -> tuple[dict[str, Any], Any]:
        """Train a model and write the folder; returns lineage and curves."""
        pad, options = pad_token(self.base.tokenizer), self.config.training
        ground = self.ground
        evaluate = evaluator(ground.validation, self.base.tokenizer, ground.encoding, pad, self.progress.note)
        self.progress.note(
            f"{self.method.name} against {self.ground.material.bias}: {_told(self.lesson.facts)}"
        )
        before = evaluate(model.eval())
        model = prepared_model(model, options)
        done = train(
            model,
            self.lesson.examples,
            self.lesson.objective,
            options,
            self.output / TRAINING,
            pad=pad,
            device=str(self.base.scorer.device),
            evaluate=evaluate,
            watched=BIAS if options.patience else None,
            decided={"method": self.method.parameters(), "material": ground.facts()},
            note=self.progress.note,
        )
        lineage = self.lineage(done, before, evaluate(model.eval()))
        write_model(model, self.base.tokenizer, self.output, lineage, model_card(lineage))
        drop_checkpoints(self.output / TRAINING)
        return lineage, done.curves

    def lineage(
        self, done: Trained, before: Mapping[str, float], after: Mapping[str, float]
    ) -> dict[str, Any]:
        """What the model was made of."""
        card, config = self.method.card, self.config
        method = {"summary": card.summary, "critique": card.critique, "citation": card.citation}
        data = {
            "sha256": material_hash(self.ground.material),
            "examples_sha256": self.lesson.examples.digest(),
        }
        return as_json(
            {
                "evenhand": VERSION,
                "base": {"name": config.model, **self.base.fingerprint},
                "method": {"name": self.method.name, **self.method.parameters(), **method},
                "bias": self.ground.material.bias,
                "groups": self.ground.material.groups,
                "data": {**data, **self.lesson.facts},
                "options": {**config.training.deciding(), "longest": config.longest, "start": config.start},
                "seed": config.seed,
                "steps": done.steps,
                "best_step": done.best_step,
                "stopped_early": done.stopped_early,
                "batch_size_in_the_end": done.batch_size,
                "devices": done.devices,
                "watched": {"before": before, "after": after},
            }
        )


def _told(facts: Mapping[str, Any]) -> str:
    return ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in facts.items())
