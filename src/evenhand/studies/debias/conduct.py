"""A training against a bias, or a projection, from options to folder; it goes on where it was stopped."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.mitigations.training import (
    BIAS,
    CHECKPOINT,
    CURVES,
    OF_BASE,
    CurveWriter,
    Edit,
    EditingMethod,
    Encoding,
    Examples,
    Lesson,
    Material,
    TrainingMethod,
    Validation,
    evaluator,
    kept_values,
    load_method,
    material_hash,
    model_card,
    own_axes,
    own_material,
    own_preferences,
    own_texts,
    pad_token,
    prepared_model,
    published_texts,
    read_curves,
    read_lineage,
    train,
    write_model,
)
from evenhand.models import LanguageModel, load_model
from evenhand.models.huggingface import CausalModel
from evenhand.prompts.redditbias import BIAS_TYPES, Specification, load_specification, specification
from evenhand.runs import Progress, Silence, locked, resumable
from evenhand.schema import VERSION, Unsupported, UsageError, as_json, is_file, is_folder, unknown_name
from evenhand.studies.debias.options import DebiasConfig
from evenhand.studies.debias.record import RECORD

TRAINING = "training"
"""Within the folder: checkpoint and curves."""


@dataclass(frozen=True)
class DebiasStudy:
    """What came of a training or a projection.

    folder: the model. lineage: what it was made of, as in lineage.json. curves: see `read_curves`.
    """

    folder: Path
    lineage: Mapping[str, Any]
    curves: Any


def debias_model(
    config: DebiasConfig,
    output: Path,
    *,
    model: LanguageModel | None = None,
    progress: Progress | None = None,
) -> DebiasStudy:
    """Train as options say, or go on with a training; see `debias`."""
    progress = progress or Silence()
    config.check()
    method = load_method(config.method)
    if not isinstance(method, TrainingMethod):
        config.refuse_training(method.name)
    chosen = None if config.own_axis or config.own_pairs else _specification(config)
    base = trainable(model or _loaded(config))
    if base.longest is not None and config.longest > base.longest:
        raise UsageError(
            f"longest is {config.longest}, and this model reads {base.longest} tokens.", "Give fewer."
        )
    record = as_json(
        {
            **config.same_result(),
            "method": {"name": method.name, **method.parameters()},
            "base": base.fingerprint,
        }
    )

    def begin() -> None:
        RECORD.begin(output, {"evenhand": VERSION, RECORD.part: record}, lambda stored: (stored, record))

    there = is_folder(output) and any(output.iterdir())
    if there:  # nothing is computed for a folder that will be refused
        begin()
        if (lineage := read_lineage(output)) is not None and is_file(output / "config.json"):
            return DebiasStudy(output, lineage, read_curves(output / TRAINING / CURVES))
    go_on = f"The same command goes on after its last checkpoint ({output})."
    with resumable(go_on, "The training was stopped."):
        encoding = Encoding(config.longest, tuple(base.start) if config.start == "auto" else ())
        material, validation = _material(config, chosen, base, encoding)
        session = _Session(config, base, material, encoding, output, progress)
        if isinstance(method, TrainingMethod):
            lesson = method.lesson(material, base.tokenizer, encoding, config.seed)
            finish = partial(session.trained, method, lesson, validation)
        else:
            finish = partial(session.written, *session.edited(method, validation))
        if not there:  # nothing is written of what cannot begin
            begin()
        with locked(output / "lock"):
            lineage, curves = finish()
    return DebiasStudy(output, lineage, curves)


@dataclass(frozen=True)
class _Session:
    """One sitting of a training, everything at hand."""

    config: DebiasConfig
    base: CausalModel
    material: Material
    encoding: Encoding
    output: Path
    progress: Progress

    def trained(
        self, method: TrainingMethod, lesson: Lesson, validation: Validation
    ) -> tuple[dict[str, Any], Any]:
        """Train and write the folder; returns lineage and curves."""
        pad, options = pad_token(self.base.tokenizer), self.config.training
        evaluate = evaluator(validation, self.base.tokenizer, self.encoding, pad)
        self.progress.note(f"{method.name} against {self.material.bias}: {_told(lesson.facts)}")
        before = evaluate(self.base.model.eval())
        examples = self._examples(lesson)
        model = prepared_model(self.base.model, options)
        done = train(
            model,
            examples,
            lesson.objective,
            options,
            self.output / TRAINING,
            pad=pad,
            device=str(self.base.scorer.device),
            evaluate=evaluate,
            watched=BIAS if options.patience else None,
            note=self.progress.note,
        )
        lineage = {
            **self._lineage(method, {**lesson.facts, "examples_sha256": examples.digest()}),
            "options": {**options.deciding(), **self._read()},
            "steps": done.steps,
            "best_step": done.best_step,
            "stopped_early": done.stopped_early,
            "batch_size_in_the_end": done.batch_size,
            "devices": done.devices,
            "watched": {"before": before, "after": evaluate(model.eval())},
        }
        self._write(model, lineage)
        (self.output / TRAINING / CHECKPOINT).unlink(missing_ok=True)
        return lineage, done.curves

    def edited(self, method: EditingMethod, validation: Validation) -> tuple[dict[str, Any], Edit]:
        """Change the model at once; returns its lineage and what came of it."""
        pad, model = pad_token(self.base.tokenizer), self.base.model.eval()
        evaluate = evaluator(validation, self.base.tokenizer, self.encoding, pad)
        self.progress.note(f"{method.name} against {self.material.bias}: nothing is trained")
        before = evaluate(model)
        done = method.edit(self.material, model, self.base.tokenizer, self.encoding, self.config.seed)
        lineage = {
            **self._lineage(method, done.facts),
            "options": self._read(),
            "told": done.told,
            "watched": {"before": before, "after": evaluate(model.eval())},
        }
        return lineage, done

    def written(self, lineage: dict[str, Any], done: Edit) -> tuple[dict[str, Any], Any]:
        """Write the folder of a model that was changed at once; returns lineage and curves."""
        path = self.output / TRAINING / CURVES
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # of a sitting that was stopped
        writer = CurveWriter(path, 0)
        for step, name, value in done.curves:
            writer.add(step, 0.0, "projection", {name: value})
        writer.flush()
        self._write(self.base.model, lineage)
        return lineage, read_curves(path)

    def _examples(self, lesson: Lesson) -> Examples:
        """Those of a lesson, with what it needs to know of the base model: found once, and kept."""
        if (of_base := lesson.of_base) is None:
            return lesson.examples
        path, told = self.output / TRAINING / OF_BASE, {"examples": lesson.examples.digest()}
        path.parent.mkdir(parents=True, exist_ok=True)
        values = kept_values(path, lambda: of_base(self.base.model, lesson.examples), told)
        return lesson.examples.with_values(values)

    def _write(self, model: Any, lineage: Mapping[str, Any]) -> None:
        write_model(model, self.base.tokenizer, self.output, lineage, model_card(lineage))

    def _read(self) -> dict[str, Any]:
        """How texts are read."""
        return {"longest": self.config.longest, "start": self.config.start}

    def _lineage(self, method: TrainingMethod | EditingMethod, facts: Mapping[str, Any]) -> dict[str, Any]:
        """What a model is made of, whatever is done to it."""
        card, config = method.card, self.config
        known = {"summary": card.summary, "critique": card.critique, "citation": card.citation}
        found: dict[str, Any] = as_json(
            {
                "evenhand": VERSION,
                "base": {"name": config.model, **self.base.fingerprint},
                "method": {"name": method.name, **method.parameters(), **known},
                "bias": self.material.bias,
                "groups": self.material.groups,
                "data": {"sha256": material_hash(self.material), **facts},
                "seed": config.seed,
            }
        )
        return found


def trainable(model: LanguageModel) -> CausalModel:
    """The model itself, if it can be trained here; raises Unsupported, saying what can."""
    if isinstance(model, CausalModel):
        return model
    kind = (
        f"{model.architecture} models"
        if model.architecture != "causal"
        else "models that are not loaded here"
    )
    raise Unsupported(
        f"{model.fingerprint.get('name', 'This model')} cannot be trained: the losses are of models that read from "
        f"left to right, with their weights in this process, and not of {kind}.",
        "Use a causal Hugging Face model (GPT-2, OPT, Llama, ...) by hub name or folder, without mitigations. "
        "Masked and encoder-decoder models are not supported.",
    )


def _loaded(config: DebiasConfig) -> LanguageModel:
    loaded = load_model(
        config.model,
        device=config.device,
        dtype="float32",
        revision=config.revision,
        trust_remote_code=config.trust_remote_code,
    )
    return loaded


def _material(
    config: DebiasConfig, chosen: Specification | None, base: CausalModel, encoding: Encoding
) -> tuple[Material, Validation]:
    pad = pad_token(base.tokenizer)
    if config.own_pairs:
        file = Path(str(config.data))
        return own_preferences(file, base.model, base.tokenizer, encoding, pad, config.seed)
    if chosen is None:
        own = own_material(str(config.own_axis), base.model, base.tokenizer, encoding, pad, config.seed)
        return own.material, own.validation
    if config.data:
        return own_texts(chosen, Path(config.data), config.seed)
    return published_texts(chosen, Path(str(config.source)))


def _specification(config: DebiasConfig) -> Specification:
    if config.specification:
        return load_specification(Path(config.specification))
    if config.bias not in BIAS_TYPES:
        raise unknown_name(
            "bias type", str(config.bias), [*BIAS_TYPES, *(f"evenhand/{axis}" for axis in own_axes())]
        )
    return specification(str(config.bias))


def _told(facts: Mapping[str, Any]) -> str:
    return ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in facts.items())
