"""Loading a language model by name: registered, address of a served one, `vllm:` name, folder, or hub name."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from evenhand.models.contract import Architecture, LanguageModel
from evenhand.models.huggingface import (
    load_config,
    load_pretrained,
    weights_fingerprint as weights_fingerprint,
)
from evenhand.models.served import is_address
from evenhand.schema import (
    ExtensionError,
    ModelError,
    Registry,
    UsageError,
    checked,
    is_folder,
    missing_members,
    unknown_name,
)
from evenhand.weights import (
    find_checkpoint,
    load_tokenizer as load_tokenizer,
    tokenizer_fingerprint as tokenizer_fingerprint,
)

MODELS: Registry[Callable[..., LanguageModel]] = Registry(
    "model",
    "evenhand.models",
    {},
    "a function that returns a LanguageModel",
    needs_card=False,  # a model is described by itself, when it is loaded
)
"""Models that need no folder and no hub, ours among them: pyproject.toml names them, so that nothing here knows
them."""
VLLM = "vllm:"
"""In front of a name: write and score with vLLM."""
Options = TypeVar("Options")


def registered_models() -> list[str]:
    """Names of models that need no folder and no hub; packages add theirs under the entry-point group
    "evenhand.models", as a function that returns a LanguageModel."""
    return MODELS.names()


@checked
def load_model(
    name: str,
    *,
    device: str = "auto",
    dtype: str = "auto",
    revision: str | None = None,
    architecture: Architecture | None = None,
    trust_remote_code: bool = False,
    options: Any = None,
    batch_tokens: int | None = None,
) -> LanguageModel:
    """Load any language model by name.

    name: a registered name ("evenhand/reference", "puppet/uniform"), a Hugging Face model folder, a hub
    name ("gpt2"), or a served model's address ("http://localhost:8000/v1#name", see evenhand.models.served.model),
    or "vllm:" in front of a folder or hub name.
    device: "auto", "cpu", "cuda", "cuda:1", "mps". dtype: "auto" (float32, except on an
    accelerator for weights stored in 16 bits), "float32", "bfloat16", "float16". revision: branch, tag or
    commit on the hub. architecture: "causal", "masked" or "encoder-decoder" where the configuration leaves
    it open or is wrong. trust_remote_code: run Python code that comes with the model. options: the scoring
    conventions of the architecture (`CausalOptions`, `MaskedOptions`, `EncoderDecoderOptions`). batch_tokens:
    tokens a batch, over what `options` say; changes no number.
    Raises UsageError for an unknown registered name or option, ModelError for everything that can be wrong
    with a model, before its weights are read wherever that is possible.

    >>> load_model("evenhand/no-such-model")
    Traceback (most recent call last):
    evenhand.schema.errors.UsageError: Unknown model: 'evenhand/no-such-model'...
    """
    if not name.strip():
        raise UsageError(
            "The name of the model is empty.",
            "Give a hub name, a folder, or a name of `evenhand list models`.",
        )
    if architecture is not None and architecture not in get_args(Architecture):
        raise unknown_name("architecture", architecture, get_args(Architecture))
    arguments = {"device": device, "dtype": dtype, "revision": revision, "options": options}
    arguments["batch_tokens"] = batch_tokens
    if is_address(name):
        from evenhand.models.served import load_http_model

        if architecture not in (None, "causal"):
            raise UsageError(f"A served model reads from left to right; it cannot be {architecture}.")
        return _call_registered(name, load_http_model, arguments)
    if name.startswith(VLLM):
        from evenhand.models.vllm import load_vllm

        if architecture not in (None, "causal") or device != "auto":
            raise UsageError("vLLM chooses its devices itself and serves causal models only.")
        return load_vllm(
            name.removeprefix(VLLM),
            dtype=dtype,
            revision=revision,
            trust_remote_code=trust_remote_code,
            options=options,
        )
    if _is_registered(name):
        return _call_registered(name, MODELS.load(name), arguments)
    config = load_config(name, revision=revision, trust_remote_code=trust_remote_code)
    kind = architecture or architecture_of(config, name)
    pretrained = load_pretrained(
        name,
        kind,
        config=config,
        revision=revision,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
    )
    return as_language_model(
        pretrained.model, pretrained.tokenizer, kind, pretrained.identity, options, batch_tokens
    )


def check_model(
    name: str, *, revision: str | None = None, trust_remote_code: bool = False
) -> Architecture | None:
    """Which kind of model a name is of, without reading weights; None where only loading tells.

    name, revision, trust_remote_code: as in `load_model`. Of a folder the tokenizer is read and the weights are looked
    for. Nothing is asked of a served model. Raises UsageError for an unknown registered name, ModelError for a folder
    or hub name without a language model.

    >>> check_model("puppet/uniform") is None
    True
    """
    if is_address(name) or name.startswith(VLLM):
        return None
    if _is_registered(name):
        MODELS.load(name)
        return None
    config = load_config(name, revision=revision, trust_remote_code=trust_remote_code)
    kind = architecture_of(config, name)
    if is_folder(Path(name).expanduser()):
        find_checkpoint(name, config=config, trust_remote_code=trust_remote_code)
    return kind


def _is_registered(name: str) -> bool:
    """Whether a name is, or begins as, one of the register."""
    owners = {"evenhand", "puppet"} | {known.split("/")[0] for known in MODELS.names()}
    return name in MODELS or name.split("/")[0] in owners


@checked
def as_language_model(
    model: Any,
    tokenizer: Any,
    architecture: Architecture,
    identity: dict[str, Any],
    options: Any = None,
    batch_tokens: int | None = None,
) -> LanguageModel:
    """Put a Hugging Face model that is already in memory behind the LanguageModel contract.

    identity: whatever makes its numbers reusable (name, weights hash or training run, dtype); it enters the
    fingerprint. Raises UsageError if `options` belong to another architecture.
    """
    if architecture == "causal":
        from evenhand.models.huggingface import CausalModel, CausalOptions

        return CausalModel(model, tokenizer, identity, _checked(options, CausalOptions, batch_tokens))
    if architecture == "masked":
        from evenhand.models.huggingface import MaskedModel, MaskedOptions

        return MaskedModel(model, tokenizer, identity, _checked(options, MaskedOptions, batch_tokens))
    from evenhand.models.huggingface import EncoderDecoderModel, EncoderDecoderOptions

    return EncoderDecoderModel(
        model, tokenizer, identity, _checked(options, EncoderDecoderOptions, batch_tokens)
    )


def architecture_of(config: Any, name: str) -> Architecture:
    """Which kind of language model a Hugging Face configuration describes.

    The class the weights were saved from decides; where it is a body without a head, the model type does,
    if only one kind exists for it. Raises ModelError for anything that is not a text language model
    (classifiers, vision and speech models, discriminators).
    """
    from transformers.models.auto import modeling_auto

    classes: dict[Architecture, dict[str, str]] = {
        "encoder-decoder": dict(modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES),
        "causal": dict(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
        "masked": dict(modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES),
    }
    saved_from = list(getattr(config, "architectures", None) or [])
    # transformers lists speech models among the sequence-to-sequence ones; they need sound to say anything.
    speech = hasattr(config, "audio_config")
    for kind, names in classes.items():
        if set(saved_from) & set(names.values()) and not speech:
            return kind
    custom = getattr(config, "auto_map", None) or {}
    autos = {
        "AutoModelForSeq2SeqLM": "encoder-decoder",
        "AutoModelForCausalLM": "causal",
        "AutoModelForMaskedLM": "masked",
    }
    for auto, custom_kind in autos.items():
        if auto in custom:
            return cast(Architecture, custom_kind)
    body_only = all(c.endswith("Model") or c == "BertForPreTraining" for c in saved_from)
    kinds = [kind for kind, names in classes.items() if config.model_type in names]
    if body_only and kinds:
        if getattr(config, "is_encoder_decoder", False) and "encoder-decoder" in kinds:
            return "encoder-decoder"
        if {"causal", "masked"} <= set(kinds):  # BERT and its kin exist as both
            return "causal" if getattr(config, "is_decoder", False) else "masked"
        return kinds[0]
    what = ", ".join(saved_from) or f"model type {config.model_type!r}"
    hint = "Give the name of a causal, masked or encoder-decoder language model (such as 'gpt2')."
    if kinds:
        hint += f" If it holds language-model weights all the same, pass architecture={kinds[0]!r}."
    raise ModelError(f"{name!r} is not a text language model: its config.json says {what}.", hint)


def _checked(options: Any, kind: type[Options], batch_tokens: int | None) -> Options:
    if options is not None and not isinstance(options, kind):
        raise UsageError(
            f"These scoring options are {type(options).__name__}, and this model takes {kind.__name__}.",
            f"Make them with evenhand.models.{kind.__name__}(...), or leave them out.",
        )
    result: Any = kind() if options is None else options
    return cast(Options, result if batch_tokens is None else replace(result, batch_tokens=batch_tokens))


def _call_registered(name: str, make: Callable[..., LanguageModel], given: dict[str, Any]) -> LanguageModel:
    takes = inspect.signature(make).parameters
    defaults = {"device": "auto", "dtype": "auto", "revision": None, "options": None, "batch_tokens": None}
    # a batch size changes no number, so a model that has no batches may ignore it
    refused = [
        key
        for key, value in given.items()
        if key not in takes and key != "batch_tokens" and value != defaults[key]
    ]
    # Registered models compute on the processor unless they say otherwise, so these two ask for nothing else.
    refused = [key for key in refused if (key, given[key]) not in (("device", "cpu"), ("dtype", "float32"))]
    if refused:
        raise UsageError(
            f"The model {name!r} takes no {' and no '.join(refused)}.",
            f"It takes: {', '.join(key for key in takes if key != 'name') or 'nothing but its name'}.",
        )
    accepted = {key: value for key, value in given.items() if key in takes}
    try:
        made = make(**({"name": name} if "name" in takes else {}), **accepted)
    except Exception as error:
        if (broken := MODELS.made_by_stranger(name, error)) is not None:
            raise broken from error
        raise
    if lacking := missing_members(made, LanguageModel):
        kind = type(made).__name__
        raise ExtensionError(
            f"{name!r}, registered as a model by the package {MODELS.package(name)}, makes {kind}, which is not a "
            f"language model: {kind} lacks {', '.join(f'`{member}`' for member in lacking)}.",
            "Add what is missing. evenhand.models.LanguageModel describes each member.",
        )
    return made
