"""One debiasing training or projection, from texts to a folder. It can be resumed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.mitigations.training import (
    BIAS,
    CURVES,
    OF_BASE,
    PERPLEXITY,
    CurveWriter,
    Edit,
    EditingMethod,
    Encoding,
    Examples,
    Lesson,
    Material,
    TrainableModel,
    TrainingMethod,
    Validation,
    check_objective,
    drop_checkpoints,
    evaluator,
    kept_values,
    load_method,
    material_facts,
    material_hash,
    model_card,
    pad_token,
    prepare_to_save,
    prepared_model,
    read_curves,
    read_lineage,
    write_model,
)
from evenhand.runs import Progress, hold_lock, resumable
from evenhand.schema import VERSION, as_json, is_file, is_folder
from evenhand.studies.debias.given import given_facts
from evenhand.studies.debias.lineage import check_lineage
from evenhand.studies.debias.options import DebiasConfig
from evenhand.studies.debias.record import RECORD

TRAINING = "training"
"""Within the folder: checkpoint and curves."""


@dataclass(frozen=True)
class DebiasStudy:
    """The result of a training or a projection.

    ``folder`` is the model. ``lineage`` describes how it was made, as in lineage.json. ``curves`` are those of
    `read_curves`.
    """

    folder: Path
    lineage: Mapping[str, Any]
    curves: Any


@dataclass(frozen=True)
class Ground:
    """The common parts of trainings of one model against one bias."""

    encoding: Encoding
    material: Material
    validation: Validation
    stored_as: str = "float32"
    """The precision of the stored weights."""
    dialogue: str | None = None
    """The name of the dialogue format, if dialogues are learned."""

    def facts(self) -> dict[str, Any]:
        """Return facts that identify the training and validation texts."""
        return material_facts(self.material, self.validation.texts)


def record_of(config: DebiasConfig, base: TrainableModel) -> dict[str, Any]:
    """Return what determines the weights, JSON-serialisable: options, method, base model, texts and terms."""
    method = load_method(config.method)
    told = {"name": method.name, **method.parameters()}
    record: dict[str, Any] = as_json(
        {**config.same_result(), "given": given_facts(config), "method": told, "base": base.fingerprint}
    )
    return record


def finished(folder: Path) -> DebiasStudy | None:
    """Return the result in a folder, if its training has ended; raises DataError if its lineage was changed."""
    if not is_file(folder / "config.json") or (lineage := read_lineage(folder)) is None:
        return None
    check_lineage(folder, lineage)
    drop_checkpoints(folder / TRAINING)  # left over if the process was killed after the last file
    return DebiasStudy(folder, lineage, read_curves(folder / TRAINING / CURVES))


def train_into(
    output: Path,
    config: DebiasConfig,
    base: TrainableModel,
    ground: Callable[[], Ground],
    progress: Progress,
    *,
    model: Callable[[], Any] | None = None,
) -> DebiasStudy:
    """Train with the options into a folder, or resume the training in it.

    Raises as `debias`.

    Parameters
    ----------
    ground
        Creates the texts, only if training is needed.
    model
        Creates the model to train, if it differs from that of `base`.
    """
    record = record_of(config, base)

    def begin() -> None:
        RECORD.begin(output, {"evenhand": VERSION, RECORD.part: record}, lambda stored: (stored, record))

    there = is_folder(output) and any(output.iterdir())
    if there:  # check first: nothing is computed for a folder that is refused
        begin()
        if (done := finished(output)) is not None:
            return done
    go_on = f"The same command resumes after the last checkpoint ({output})."
    with resumable(go_on, "The training was stopped."):
        shared = ground()
        method, session = load_method(config.method), _Session(config, base, shared, output, progress)
        changed = base.model if model is None else model()
        if isinstance(method, TrainingMethod):
            lesson = method.lesson(shared.material, base.tokenizer, shared.encoding, config.seed)
            check_objective(
                lesson.objective, base.model, lesson.examples.batch([0], pad_token(base.tokenizer))
            )
            finish = partial(session.trained, changed, method, lesson)
        else:
            finish = partial(session.written, changed, *session.edited(changed, method))
        if not there:  # nothing is written for a training that cannot start
            begin()
        with hold_lock(output / "lock"):
            if (done := finished(output)) is not None:  # finished by another process in the meantime
                return done
            lineage, curves = finish()
    return DebiasStudy(output, lineage, curves)


@dataclass(frozen=True)
class _Session:
    """One session of a training, with everything that it needs."""

    config: DebiasConfig
    base: TrainableModel
    ground: Ground
    output: Path
    progress: Progress

    def trained(self, model: Any, method: TrainingMethod, lesson: Lesson) -> tuple[dict[str, Any], Any]:
        """Train a model and write the folder; returns lineage and curves."""
        from evenhand.mitigations.training import train

        pad, options = pad_token(self.base.tokenizer), self.config.training
        self.progress.note(f"{method.name} against {self.ground.material.bias}: {_told(lesson.facts)}")
        before = self._evaluator()(model.eval())
        evaluate = self._evaluator(lesson.label)  # evaluated in the way in which the model is used
        examples = self._examples(model, lesson)
        model = prepared_model(model, options)
        done = train(
            model,
            examples,
            lesson.objective,
            options,
            self.output / TRAINING,
            pad=pad,
            device=str(self.base.model.device),
            evaluate=evaluate,
            watched=self._stops_by() if options.patience else None,
            decided={"method": method.parameters(), "material": self.ground.facts()},
            note=self.progress.note,
            of_epoch=lesson.of_epoch,
        )
        plain = prepare_to_save(model, self.output, self.ground.stored_as)
        lineage: dict[str, Any] = as_json(
            {
                **self._lineage(method, {**lesson.facts, "examples_sha256": examples.digest()}),
                "options": {**options.deciding(), **self._read()},
                "steps": done.steps,
                "best_step": done.best_step,
                "stopped_early": done.stopped_early,
                "batch_size_in_the_end": done.batch_size,
                "devices": done.devices,
                "watched": {"before": before, "after": evaluate(plain.eval())},
            }
        )
        self._write(plain, lineage, lesson.label)
        drop_checkpoints(self.output / TRAINING)
        return lineage, done.curves

    def edited(self, model: Any, method: EditingMethod) -> tuple[dict[str, Any], Edit]:
        """Change a model without training; returns its lineage and the result of the change."""
        evaluate, ground = self._evaluator(), self.ground
        self.progress.note(
            f"{method.name} changes the weights without training, to reduce the bias {ground.material.bias}"
        )
        before = evaluate(model.eval())
        done = method.edit(ground.material, model, self.base.tokenizer, ground.encoding, self.config.seed)
        model = prepare_to_save(model, self.output, ground.stored_as)
        lineage: dict[str, Any] = as_json(
            {
                **self._lineage(method, done.facts),
                "options": self._read(),
                "told": done.told,
                "watched": {"before": before, "after": evaluate(model.eval())},
            }
        )
        return lineage, done

    def written(self, model: Any, lineage: dict[str, Any], done: Edit) -> tuple[dict[str, Any], Any]:
        """Write the folder of a model that was changed without training; returns lineage and curves."""
        path = self.output / TRAINING / CURVES
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # left over from a stopped session
        writer = CurveWriter(path, 0)
        for step, name, value in done.curves:
            writer.add(step, 0.0, "projection", {name: value})
        writer.flush()
        self._write(model, lineage)
        return lineage, read_curves(path)

    def _stops_by(self) -> str:
        """Return the name of the value that stops a training early.

        For dialogues it is not the bias, because that would favour a method over its control.
        """
        return BIAS if self.ground.dialogue is None else PERPLEXITY

    def _evaluator(self, label: str = "") -> Callable[[Any], Mapping[str, float]]:
        tokenizer, ground = self.base.tokenizer, self.ground
        pad = pad_token(tokenizer)
        return evaluator(ground.validation, tokenizer, ground.encoding, pad, self.progress.note, label)

    def _examples(self, model: Any, lesson: Lesson) -> Examples:
        """Return the examples of a lesson, with the values of the base model that it needs, which are computed once and
        stored.
        """
        if (of_base := lesson.of_base) is None:
            return lesson.examples
        path, told = self.output / TRAINING / OF_BASE, {"examples": lesson.examples.digest()}
        path.parent.mkdir(parents=True, exist_ok=True)
        values = kept_values(path, lambda: of_base(model, lesson.examples), told)
        return lesson.examples.with_values(values)

    def _write(self, model: Any, lineage: Mapping[str, Any], label: str = "") -> None:
        stored_as, told = self.ground.stored_as, self.ground.dialogue
        card = model_card(lineage, self.output)
        dialogue = None if told is None else {"format": told, "label": label or None}
        write_model(
            model, self.base.tokenizer, self.output, lineage, card, dtype=stored_as, dialogue=dialogue
        )

    def _read(self) -> dict[str, Any]:
        """Return the settings for reading texts."""
        return {"longest": self.ground.encoding.longest, "start": self.config.start}

    def _lineage(self, method: TrainingMethod | EditingMethod, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the part of the lineage that all methods share."""
        card, config, material = method.card, self.config, self.ground.material
        known = {"summary": card.summary, "critique": card.critique, "citation": card.citation}
        found: dict[str, Any] = as_json(
            {
                "evenhand": VERSION,
                "base": {"name": config.model, **self.base.fingerprint},
                "method": {"name": method.name, **method.parameters(), **known},
                "bias": material.bias,
                "groups": material.groups,
                "data": {"source": material.source, "sha256": material_hash(material), **facts},
                "seed": config.seed,
                "stored_as": self.ground.stored_as,
            }
        )
        return found


def _told(facts: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{value:,} {name.replace('_', ' ')}" for name, value in facts.items() if isinstance(value, int)
    )
