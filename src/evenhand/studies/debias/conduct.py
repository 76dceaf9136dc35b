"""Run a debiasing training, a projection, or a search, from options to a folder. All can be resumed."""

from functools import cache
from pathlib import Path

from evenhand.mitigations.training import (
    Encoding,
    HalvedValidation,
    Material,
    TrainableModel,
    Validation,
    load_method,
    own_material,
    own_preferences,
    pad_token,
    supported_architectures,
)
from evenhand.models import LanguageModel, load_model
from evenhand.models.dialogue import DialogueOptions, dialogue_model
from evenhand.models.huggingface import CausalModel
from evenhand.runs import Progress, Silence
from evenhand.schema import Unsupported, UsageError
from evenhand.studies.debias.given import given_texts, specification_of
from evenhand.studies.debias.options import DebiasConfig
from evenhand.studies.debias.training import DebiasStudy, Ground, train_into
from evenhand.studies.debias.trials import search_into
from evenhand.weights import load_config, refuse_light

LONGEST_DIALOGUE = 1024
"""Maximum number of tokens of a history with its reply, for models without a limit of their own."""


def debias_model(
    config: DebiasConfig,
    output: Path,
    *,
    model: LanguageModel | None = None,
    progress: Progress | None = None,
) -> DebiasStudy:
    """Train with the options, or resume a training or a search; see `debias`."""
    progress = progress or Silence()
    config.check()
    config.check_method()
    if config.search:
        for setting in config.settings():
            config.of_trial(setting)
    specification_of(config)
    base, stored_as = _in_32_bits(config, model)
    longest = _longest(config, base)
    dialogue = dialogue_model(base, DialogueOptions(label="")) if config.dialogue else None

    @cache
    def ground() -> Ground:
        start = tuple(base.start) if isinstance(base, CausalModel) and config.start == "auto" else ()
        decoder_start = None if isinstance(base, CausalModel) else base.start
        reply = dialogue.encoded if dialogue else None
        encoding = Encoding(longest, start, reply=reply, decoder_start=decoder_start)
        material, validation = _material(config, base, encoding)
        if config.search:
            validation = HalvedValidation(validation.check, validation.neutral, config.seed)
        told = str(dialogue.facts["format"]) if dialogue else None
        return Ground(encoding, material, validation, stored_as, told)

    if config.search:
        return search_into(output, config, base, ground, progress)
    return train_into(output, config, base, ground, progress)


def _longest(config: DebiasConfig, base: TrainableModel) -> int:
    """Return the number of tokens of an example that are read; raises UsageError if the model cannot read as many."""
    if config.dialogue and "longest" not in config.model_fields_set:
        return base.longest or LONGEST_DIALOGUE
    if base.longest is not None and config.longest > base.longest:
        raise UsageError(
            f"`longest` is {config.longest}, but this model reads at most {base.longest} tokens.",
            "Use a smaller value.",
        )
    return config.longest


def trainable(model: LanguageModel, words: str) -> TrainableModel:
    """Return the model, if a method can train it here; raises Unsupported with what can be trained.

    `words` is the method with its options.
    """
    method = load_method(words)
    able = supported_architectures(method)
    if isinstance(model, TrainableModel) and model.architecture in able:
        return model
    if isinstance(model, TrainableModel):
        raise Unsupported(
            f"{method.name} cannot train {_called(model)}: its loss is defined for {' and '.join(able)} models, "
            f"and this model is {model.architecture}.",
            "Use a causal Hugging Face model (GPT-2, OPT, Llama, ...), by name or folder, or a dialogue method "
            "(docs/how-to/debias_a_dialogue_model.md).",
        )
    use = f"Use a {' or '.join(able)} Hugging Face model by hub name or folder, without mitigations."
    refuse_light(model, f"Training {_called(model)}")
    if model.architecture not in able:
        raise Unsupported(
            f"{method.name} cannot train {_called(model)}: it trains {' and '.join(able)} models, and this model "
            f"is {model.architecture}.",
            use,
        )
    raise Unsupported(
        f"Cannot train {_called(model)}: it has no weights in this process. Synthetic models, served models and "
        "models with a mitigation cannot be trained.",
        use,
    )


def _called(model: LanguageModel) -> str:
    return str(model.fingerprint.get("name", "This model"))


def _in_32_bits(config: DebiasConfig, given: LanguageModel | None) -> tuple[TrainableModel, str]:
    """Return the model to train and the precision for storing its weights, by default the original one."""
    if given is not None:
        base = trainable(given, config.method)
        before = str(next(base.model.parameters()).dtype)
        base.model.float()
    else:
        trusted = config.trust_remote_code
        base = trainable(
            load_model(
                config.model,
                device=config.device,
                dtype="float32",
                revision=config.revision,
                trust_remote_code=trusted,
            ),
            config.method,
        )
        source = base.model.config.name_or_path  # empty if a package created the model itself
        before = str(load_config(source, trust_remote_code=trusted).dtype) if source else "float32"
    kept = before.removeprefix("torch.")
    auto = kept if kept in ("bfloat16", "float16") else "float32"
    return base, auto if config.save_dtype == "auto" else config.save_dtype


def _material(config: DebiasConfig, base: TrainableModel, encoding: Encoding) -> tuple[Material, Validation]:
    pad = pad_token(base.tokenizer)
    if not config.dialogue and config.own_pairs:
        file = Path(str(config.data)).expanduser()
        return own_preferences(file, base.model, base.tokenizer, encoding, pad, config.seed)
    given = given_texts(config)
    if given is not None:
        return given
    own = own_material(str(config.own_axis), base.model, base.tokenizer, encoding, pad, config.seed)
    return own.material, own.validation
