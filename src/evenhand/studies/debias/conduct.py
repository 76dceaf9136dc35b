"""A training against a bias from options to folder; it goes on where it was stopped."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.mitigations.training import (
    BIAS,
    CHECKPOINT,
    CURVES,
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
from evenhand.prompts.datasets import dataset_folder
from evenhand.prompts.redditbias import Specification, load_specification, specification
from evenhand.runs import Progress, Silence, locked, resumable
from evenhand.schema import VERSION, Unsupported, as_json, unknown_name
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
    base = trainable(model or _loaded(config))
    go_on = f"The same command goes on after its last checkpoint ({output})."
    record = {
        **config.same_result(),
        "method": {"name": method.name, **method.parameters()},
        "base": base.fingerprint,
    }
    RECORD.begin(
        output, {"evenhand": VERSION, RECORD.part: as_json(record)}, lambda stored: (stored, as_json(record))
    )
    if (lineage := read_lineage(output)) is not None and (output / "config.json").is_file():
        return DebiasStudy(output, lineage, read_curves(output / TRAINING / CURVES))
    with resumable(go_on, "The training was stopped."), locked(output / "lock"):
        lineage, trained = _trained(config, base, method, output, progress)
    return DebiasStudy(output, lineage, trained.curves)


def _trained(
    config: DebiasConfig, base: CausalModel, method: TrainingMethod, output: Path, progress: Progress
) -> tuple[dict[str, Any], Trained]:
    tokenizer, pad = base.tokenizer, pad_token(base.tokenizer)
    encoding = Encoding(config.longest, tuple(base.start) if config.start == "auto" else ())
    material, validation = _material(config, base, encoding, pad)
    lesson: Lesson = method.lesson(material, tokenizer, encoding, config.seed)
    progress.note(f"{method.name} against {material.bias}: {_told(lesson.facts)}")
    evaluate = evaluator(validation, tokenizer, encoding, pad)
    before = evaluate(base.model.eval())
    options = config.training
    trained_model = prepared_model(base.model, options)
    done = train(
        trained_model,
        lesson.examples,
        lesson.objective,
        options,
        output / TRAINING,
        pad=pad,
        device=str(base.scorer.device),
        evaluate=evaluate,
        watched=BIAS if config.patience else None,
        note=progress.note,
    )
    lineage = as_json(
        {
            "evenhand": VERSION,
            "base": {"name": config.model, **base.fingerprint},
            "method": {"name": method.name, "summary": method.card.summary, "critique": method.card.critique,
                       "citation": method.card.citation, **method.parameters()},
            "bias": material.bias,
            "groups": material.groups,
            "data": {"sha256": material_hash(material), "examples": lesson.examples.digest(), **lesson.facts},
            "options": {**options.deciding(), "longest": config.longest, "start": config.start},
            "seed": config.seed,
            "steps": done.steps,
            "best_step": done.best_step,
            "stopped_early": done.stopped_early,
            "batch_size_in_the_end": done.batch_size,
            "devices": done.devices,
            "watched": {"before": before, "after": evaluate(trained_model.eval())},
        }
    )  # fmt: skip
    write_model(trained_model, tokenizer, output, lineage, model_card(lineage))
    (output / TRAINING / CHECKPOINT).unlink(missing_ok=True)
    return lineage, done


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
    return loaded  # type: ignore[no-any-return]


def _material(
    config: DebiasConfig, base: CausalModel, encoding: Encoding, pad: int
) -> tuple[Material, Validation]:
    if config.own_axis:
        own = own_material(config.own_axis, base.model, base.tokenizer, encoding, pad, config.seed)
        return own.material, own.validation
    chosen = _specification(config)
    if config.data:
        return own_texts(chosen, Path(config.data), config.seed)
    folder = Path(config.source) if config.source else dataset_folder("redditbias")
    return published_texts(chosen, folder)


def _specification(config: DebiasConfig) -> Specification:
    from evenhand.mitigations.training import own_axes
    from evenhand.prompts.redditbias import BIAS_TYPES

    if config.specification:
        return load_specification(Path(config.specification))
    if config.bias not in BIAS_TYPES:
        raise unknown_name(
            "bias type", str(config.bias), [*BIAS_TYPES, *(f"evenhand/{axis}" for axis in own_axes())]
        )
    return specification(str(config.bias))


def _told(facts: Mapping[str, Any]) -> str:
    return ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in facts.items())
