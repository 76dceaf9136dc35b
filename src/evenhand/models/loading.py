"""Load a language model by name: a registered name, the URL of a server, a `vllm:` name, a folder, or a hub name."""

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
    add_registered_guess,
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
    needs_card=False,  # a model describes itself after it is loaded
)
"""Registry of models that need neither a folder nor the hub, such as the scripted ones."""
VLLM = "vllm:"
"""Prefix of a model that generates and scores with vLLM."""
Options = TypeVar("Options")


def registered_models() -> list[str]:
    """Return the names of models that need neither a folder nor the hub.

    Packages can add models under the entry-point group "evenhand.models", as functions that return a LanguageModel.
    """
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
    """Load a language model by name.

    Use it if you call the model yourself or audit it several times. For one audit, pass the name to
    `evenhand.audit`.

    Parameters
    ----------
    name : str
        One of:

        - a registered name ("evenhand/reference", "puppet/uniform");
        - the folder of a Hugging Face model, or a hub name ("gpt2");
        - the same after "vllm:", to run the model with vLLM;
        - the URL of a server ("http://localhost:8000/v1#name"; see `evenhand.models.served.model`).
    device : str, default "auto"
        "auto", "cpu", "cuda", "cuda:1" or "mps".
    dtype : str, default "auto"
        "auto", "float32", "bfloat16" or "float16". "auto" means float32, except for weights that are stored
        in 16 bits and run on an accelerator.
    revision : str, optional
        Branch, tag or commit on the hub.
    architecture : {"causal", "masked", "encoder-decoder"}, optional
        Needed if the configuration of the model does not state it or is wrong.
    trust_remote_code : bool, default False
        Run Python code that comes with the model.
    options : optional
        Conventions for scoring texts, such as the start token: `CausalOptions`, `MaskedOptions` or
        `EncoderDecoderOptions` of `evenhand.models`; for a URL, `HttpOptions`.
    batch_tokens : int, optional
        Tokens per batch. It replaces the value in `options` and does not affect results.

    Returns
    -------
    LanguageModel
        The model.

    Raises
    ------
    UsageError
        A registered name or an option is unknown, or the model does not accept an option.
    ModelError
        The model does not exist, is not a text language model, or cannot run here. Where possible, this is
        detected before the weights are read.

    Examples
    --------
    >>> load_model("evenhand/no-such-model")
    Traceback (most recent call last):
    evenhand.schema.errors.UsageError: Unknown model: 'evenhand/no-such-model'...
    """
    if not name.strip():
        raise UsageError(
            "The name of the model is empty.",
            "Give a Hugging Face name, a folder, or a name of `evenhand list models`.",
        )
    if architecture is not None and architecture not in get_args(Architecture):
        raise unknown_name("architecture", architecture, get_args(Architecture))
    arguments = {"device": device, "dtype": dtype, "revision": revision, "options": options}
    arguments["batch_tokens"] = batch_tokens
    if is_address(name):
        from evenhand.models.served import load_http_model

        if architecture not in (None, "causal"):
            raise UsageError(
                f"architecture={architecture!r} cannot be used with a served model, which is always causal.",
                "Remove architecture.",
            )
        return _call_registered(name, load_http_model, arguments)
    if name.startswith(VLLM):
        from evenhand.models.vllm import load_vllm

        if architecture not in (None, "causal") or device != "auto":
            raise UsageError(
                "With vLLM, architecture must be causal, and device must be auto, because vLLM chooses its "
                "devices itself.",
                "Remove architecture and device (`--device`).",
            )
        return load_vllm(
            name.removeprefix(VLLM),
            dtype=dtype,
            revision=revision,
            trust_remote_code=trust_remote_code,
            options=options,
        )
    if _is_registered(name):
        return _call_registered(name, MODELS.load(name), arguments)
    config = _find_config(name, revision, trust_remote_code)
    kind = architecture or find_architecture(config, name)
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
    """Return the architecture of a model without reading its weights.

    Use it to find a wrong name before a long run. For a folder, the tokenizer is read and the presence of
    weights is checked. A server is not contacted.

    Parameters
    ----------
    name : str
        Name of the model, as in `load_model`.
    revision : str, optional
        Branch, tag or commit on the hub.
    trust_remote_code : bool, default False
        Run Python code that comes with the model.

    Returns
    -------
    {"causal", "masked", "encoder-decoder"} or None
        The architecture. None if it is known only after loading.

    Raises
    ------
    UsageError
        A registered name is unknown.
    ModelError
        There is no language model in the folder or under the hub name.

    Examples
    --------
    >>> check_model("puppet/uniform") is None
    True
    """
    if is_address(name) or name.startswith(VLLM):
        return None
    if _is_registered(name):
        MODELS.load(name)
        return None
    config = _find_config(name, revision, trust_remote_code)
    kind = find_architecture(config, name)
    if is_folder(Path(name).expanduser()):
        find_checkpoint(name, config=config, trust_remote_code=trust_remote_code)
    return kind


def _find_config(name: str, revision: str | None, trust_remote_code: bool) -> Any:
    """Return a model's configuration. If there is none, the error suggests a registered name with nearly this name."""
    try:
        return load_config(name, revision=revision, trust_remote_code=trust_remote_code)
    except ModelError as error:
        add_registered_guess(error, name, MODELS.names())
        raise


def _is_registered(name: str) -> bool:
    """Return whether a name is registered, or starts like a registered one."""
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
    """Wrap a Hugging Face model that is in memory, so that every function of evenhand accepts it.

    Use it to audit a model during training or after you changed it. To load a model from a folder or the hub,
    use `load_model`.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        The model.
    tokenizer : transformers.PreTrainedTokenizerFast
        Its tokenizer.
    architecture : {"causal", "masked", "encoder-decoder"}
        Architecture of the model.
    identity : dict
        What identifies the results of the model: its name, a hash of the weights or the training run, and the
        dtype. It is stored with the results. Stored results are reused only if it is the same.
    options : optional
        Conventions for scoring texts, as in `load_model`.
    batch_tokens : int, optional
        Tokens per batch. It does not affect results.

    Returns
    -------
    LanguageModel
        The wrapped model.

    Raises
    ------
    UsageError
        `options` are for another architecture.
    """
    if architecture == "causal":
        from evenhand.models.huggingface import CausalModel, CausalOptions

        return CausalModel(model, tokenizer, identity, _check_options(options, CausalOptions, batch_tokens))
    if architecture == "masked":
        from evenhand.models.huggingface import MaskedModel, MaskedOptions

        return MaskedModel(model, tokenizer, identity, _check_options(options, MaskedOptions, batch_tokens))
    from evenhand.models.huggingface import EncoderDecoderModel, EncoderDecoderOptions

    return EncoderDecoderModel(
        model, tokenizer, identity, _check_options(options, EncoderDecoderOptions, batch_tokens)
    )


def find_architecture(config: Any, name: str) -> Architecture:
    """Return the architecture of the language model that a Hugging Face configuration describes.

    The class from which the weights were saved determines it. For a body without a head, the model type determines it
    if only one architecture exists for the type. Raises ModelError for models that are not text language models
    (classifiers, vision and speech models, discriminators).
    """
    from transformers.models.auto import modeling_auto

    classes: dict[Architecture, dict[str, str]] = {
        "encoder-decoder": dict(modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES),
        "causal": dict(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
        "masked": dict(modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES),
    }
    saved_from = list(getattr(config, "architectures", None) or [])
    # transformers lists speech models among sequence-to-sequence models, but they need audio input
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
        if {"causal", "masked"} <= set(kinds):  # model types such as BERT exist as both
            return "causal" if getattr(config, "is_decoder", False) else "masked"
        return kinds[0]
    what = ", ".join(saved_from) or f"model type {config.model_type!r}"
    hint = "Give the name of a causal, masked or encoder-decoder language model (such as 'gpt2')."
    if kinds:
        hint += f" If it does contain language-model weights, pass architecture={kinds[0]!r}."
    raise ModelError(f"{name!r} is not a text language model: its config.json contains {what}.", hint)


def _check_options(options: Any, kind: type[Options], batch_tokens: int | None) -> Options:
    if options is not None and not isinstance(options, kind):
        raise UsageError(
            f"The argument `options` must be of type {kind.__name__} for this model, got {type(options).__name__}.",
            f"Pass options=evenhand.models.{kind.__name__}(...), or remove `options`.",
        )
    result: Any = kind() if options is None else options
    return cast(Options, result if batch_tokens is None else replace(result, batch_tokens=batch_tokens))


def _call_registered(name: str, make: Callable[..., LanguageModel], given: dict[str, Any]) -> LanguageModel:
    takes = inspect.signature(make).parameters
    defaults = {"device": "auto", "dtype": "auto", "revision": None, "options": None, "batch_tokens": None}
    # the batch size does not affect results, so a model without batches may ignore it
    refused = [
        key
        for key, value in given.items()
        if key not in takes and key != "batch_tokens" and value != defaults[key]
    ]
    # registered models run on the CPU in their own precision by default, so these values request nothing special
    refused = [key for key in refused if (key, given[key]) not in (("device", "cpu"), ("dtype", "float32"))]
    if refused:
        raise UsageError(
            f"The model {name!r} does not accept {' or '.join(refused)}.",
            f"It accepts: {', '.join(key for key in takes if key != 'name') or 'only its name'}.",
        )
    accepted = {key: value for key, value in given.items() if key in takes}
    try:
        made = make(**({"name": name} if "name" in takes else {}), **accepted)
    except Exception as error:
        if (broken := MODELS.explain_failure(name, error)) is not None:
            raise broken from error
        raise
    if lacking := missing_members(made, LanguageModel):
        kind = type(made).__name__
        raise ExtensionError(
            f"{name!r}, a model of the package {MODELS.package(name)}, is not a language model: {kind} has no "
            f"{', '.join(f'`{member}`' for member in lacking)}.",
            "Add the missing members. evenhand.models.LanguageModel describes each of them.",
        )
    return made
