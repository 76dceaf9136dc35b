"""A training against a bias, or a projection, from options to folder, or a search among them; all go on."""

from functools import cache
from pathlib import Path

from evenhand.mitigations.training import (
    Encoding,
    HalvedValidation,
    Material,
    Validation,
    own_material,
    own_preferences,
    pad_token,
)
from evenhand.models import LanguageModel, load_model
from evenhand.models.huggingface import CausalModel
from evenhand.runs import Progress, Silence
from evenhand.schema import Unsupported, UsageError
from evenhand.studies.debias.given import given_texts, specification_of
from evenhand.studies.debias.options import DebiasConfig
from evenhand.studies.debias.training import DebiasStudy, Ground, train_into
from evenhand.studies.debias.trials import search_into


def debias_model(
    config: DebiasConfig,
    output: Path,
    *,
    model: LanguageModel | None = None,
    progress: Progress | None = None,
) -> DebiasStudy:
    """Train as options say, or go on with a training or a search; see `debias`."""
    progress = progress or Silence()
    config.check()
    config.check_method()
    if config.search:
        for setting in config.settings():
            config.of_trial(setting)
    specification_of(config)
    base = trainable(model or _loaded(config))
    if base.longest is not None and config.longest > base.longest:
        raise UsageError(
            f"longest is {config.longest}, and this model reads {base.longest} tokens.", "Give fewer."
        )

    @cache
    def ground() -> Ground:
        encoding = Encoding(config.longest, tuple(base.start) if config.start == "auto" else ())
        material, validation = _material(config, base, encoding)
        if config.search:
            validation = HalvedValidation(validation.check, validation.neutral, config.seed)
        return Ground(encoding, material, validation)

    if config.search:
        return search_into(output, config, base, ground, progress)
    return train_into(output, config, base, ground, progress)


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


def _material(config: DebiasConfig, base: CausalModel, encoding: Encoding) -> tuple[Material, Validation]:
    pad = pad_token(base.tokenizer)
    if config.own_pairs:
        file = Path(str(config.data)).expanduser()
        return own_preferences(file, base.model, base.tokenizer, encoding, pad, config.seed)
    given = given_texts(config)
    if given is not None:
        return given
    own = own_material(str(config.own_axis), base.model, base.tokenizer, encoding, pad, config.seed)
    return own.material, own.validation
