"""A training against a bias from options to folder; it goes on where it was stopped."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.mitigations.training import (
    BIAS,
    CHECKPOINT,
    CURVES,
    LINEAGE,
    Encoding,
    Lesson,
    Material,
    Trained,
    TrainingMethod,
    Validation,
    evaluator,
    load_method,
    material_hash,
    model_card,
    own_axes,
    own_material,
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
from evenhand.schema import (
    VERSION,
    DataError,
    ResumeRefused,
    Unsupported,
    UsageError,
    as_json,
    is_file,
    is_folder,
    unknown_name,
)
from evenhand.studies.debias.options import DebiasConfig
from evenhand.studies.debias.record import RECORD
from evenhand.studies.debias.wording import cautions, sentences

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
    chosen = None if config.own_axis else _specification(config)
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
            _check_lineage(lineage, output)
            _check_data(config, chosen, lineage, output)
            return DebiasStudy(output, lineage, read_curves(output / TRAINING / CURVES))
    go_on = f"The same command goes on after its last checkpoint ({output})."
    with resumable(go_on, "The training was stopped."):
        encoding = Encoding(config.longest, tuple(base.start) if config.start == "auto" else ())
        material, validation = _material(config, chosen, base, encoding)
        lesson = method.lesson(material, base.tokenizer, encoding, config.seed)
        if not there:  # nothing is written of a training that cannot begin
            begin()
        with locked(output / "lock"):
            session = _Session(config, base, method, material, lesson, encoding, output, progress)
            lineage, curves = session.run(validation)
    return DebiasStudy(output, lineage, curves)


@dataclass(frozen=True)
class _Session:
    """One sitting of a training, everything at hand."""

    config: DebiasConfig
    base: CausalModel
    method: TrainingMethod
    material: Material
    lesson: Lesson
    encoding: Encoding
    output: Path
    progress: Progress

    def run(self, validation: Validation) -> tuple[dict[str, Any], Any]:
        """Train and write the folder; returns lineage and curves."""
        pad, options = pad_token(self.base.tokenizer), self.config.training
        evaluate = evaluator(validation, self.base.tokenizer, self.encoding, pad)
        self.progress.note(f"{self.method.name} against {self.material.bias}: {_told(self.lesson.facts)}")
        before = evaluate(self.base.model.eval())
        model = prepared_model(self.base.model, options)
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
            note=self.progress.note,
        )
        lineage = self.lineage(done, before, evaluate(model.eval()))
        write_model(model, self.base.tokenizer, self.output, lineage, model_card(lineage))
        (self.output / TRAINING / CHECKPOINT).unlink(missing_ok=True)
        return lineage, done.curves

    def lineage(
        self, done: Trained, before: Mapping[str, float], after: Mapping[str, float]
    ) -> dict[str, Any]:
        """What the model was made of."""
        card, config = self.method.card, self.config
        method = {"summary": card.summary, "critique": card.critique, "citation": card.citation}
        data = {
            "source": self.material.source,
            "sha256": material_hash(self.material),
            "examples_sha256": self.lesson.examples.digest(),
        }
        return as_json(
            {
                "evenhand": VERSION,
                "base": {"name": config.model, **self.base.fingerprint},
                "method": {"name": self.method.name, **self.method.parameters(), **method},
                "bias": self.material.bias,
                "groups": self.material.groups,
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


def _check_lineage(lineage: Mapping[str, Any], output: Path) -> None:
    """Raise DataError for a lineage that somebody has changed, so that it does not tell of a training any more."""
    try:
        model_card(lineage)
        sentences(lineage)
        cautions(lineage)
        digest = lineage["data"]["sha256"]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise DataError(
            f"{output / LINEAGE} does not tell of a training ({type(error).__name__}: {error}).",
            "It was changed by hand or by another program: restore it, or train again with another -o.",
        ) from error
    if not isinstance(digest, str):
        raise DataError(f"{output / LINEAGE} does not say what was trained on.", "Restore it from a copy.")


def _check_data(
    config: DebiasConfig, chosen: Specification | None, lineage: Mapping[str, Any], output: Path
) -> None:
    """Raise ResumeRefused where a finished model was trained on other texts or terms than those given now.

    Our own sentences follow from model, axis and seed, which were compared before.
    """
    if chosen is None:
        return
    material, _ = _texts(config, chosen)
    trained_on, now = lineage["data"]["sha256"], material_hash(material)
    if trained_on != now:
        raise ResumeRefused(
            f"The model in {output} was trained on other texts or terms: SHA-256 {trained_on[:16]}..., given are "
            f"{now[:16]}....",
            "Start another training with -o, or give what it was trained on.",
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
    if chosen is None:
        pad = pad_token(base.tokenizer)
        own = own_material(str(config.own_axis), base.model, base.tokenizer, encoding, pad, config.seed)
        return own.material, own.validation
    return _texts(config, chosen)


def _texts(config: DebiasConfig, chosen: Specification) -> tuple[Material, Validation]:
    if config.data:
        return own_texts(chosen, Path(config.data).expanduser(), config.seed)
    return published_texts(chosen, None if config.source is None else Path(config.source).expanduser())


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
