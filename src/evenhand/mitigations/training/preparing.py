"""Prepare a model for training: full weights or low-rank adapters, activation checkpointing, and dropout."""

import warnings
from typing import Any

from evenhand.mitigations.training.options import TrainingOptions
from evenhand.schema import ModelError, UsageError

EXTRA = "Install it with: pip install 'evenhand[training]'"


TASKS = ("CAUSAL_LM", "SEQ_2_SEQ_LM")
"""peft task types of models that can be trained."""


def peft_task(model: Any) -> str:
    """Return peft's name for the task of a model of transformers."""
    return TASKS[bool(getattr(model.config, "is_encoder_decoder", False))]


def import_package(name: str) -> Any:
    """Import a package of the extra `training`. Raise ModelError, with the command to install it, if it is missing."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise ModelError(f"Training requires the package {name}, which is not installed.", EXTRA) from error


def check_installed(options: TrainingOptions) -> None:
    """Raise ModelError if a package is missing that the training needs. Call it before data are read."""
    import_package("accelerate")
    if options.lora_rank is not None:
        import_package("peft")


def prepared_model(model: Any, options: TrainingOptions) -> Any:
    """Return the model to train: with gradients for all weights, or frozen with new LoRA adapters.

    `model` is a model of transformers in 32 bits; it is changed in place. Raises a UsageError for layers that it does
    not have, and a ModelError if a package is missing.
    """
    import torch

    torch.manual_seed(options.seed)  # adapters begin at random
    config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
    config.use_cache = False
    if not options.dropout:
        _without_dropout(model)
    if options.lora_rank is None:
        model.requires_grad_(True)
    else:
        model = _with_adapters(model.requires_grad_(False), options)
    if options.gradient_checkpointing:
        if options.lora_rank is not None:
            model.enable_input_require_grads()
        # use the newer name of the option if it exists, because the older one gives a warning
        enable = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)
        enable({"use_reentrant": False})
    return model


def merge_adapters(model: Any) -> Any:
    """Return the model of transformers with its adapters merged into its weights, or the model itself without
    adapters.
    """
    return model.merge_and_unload() if hasattr(model, "merge_and_unload") else model


def _with_adapters(model: Any, options: TrainingOptions) -> Any:
    peft = import_package("peft")
    from transformers.pytorch_utils import Conv1D

    linear = _linear_layers(model)
    chosen = sorted(options.lora_layers or set(linear) - _find_refused_layers(peft, model))
    if missing := [name for name in chosen if name not in linear]:
        raise UsageError(
            f"{type(model).__name__} has no linear layer named {' or '.join(missing)}.",
            f"Its linear layers: {', '.join(linear)}.",
        )
    # GPT-2 stores its weights transposed, and peft warns unless fan_in_fan_out is set
    turned = any(isinstance(module, Conv1D) for module in model.modules())
    config = peft.LoraConfig(
        task_type=peft_task(model),
        r=options.lora_rank,
        lora_alpha=options.lora_alpha or 2 * (options.lora_rank or 1),
        lora_dropout=options.lora_dropout,
        target_modules=chosen,
        fan_in_fan_out=turned,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # transformers warns about names that peft uses
        try:
            return peft.get_peft_model(model, config)
        except ValueError as error:
            raise UsageError(
                f"{type(model).__name__} does not support adapters on {', '.join(chosen)}: "
                f"{str(error).splitlines()[0]}",
                f"Name others: --set lora_layers={','.join(name for name in linear if name not in chosen) or 'NAME'}. "
                "Or train all weights, without --lora-rank.",
            ) from error


def _linear_layers(model: Any) -> list[str]:
    """Return the names (without prefix) of all linear layers except the output head."""
    import torch
    from transformers.pytorch_utils import Conv1D

    head = model.get_output_embeddings()
    found = [
        name.rsplit(".", 1)[-1]
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear | Conv1D) and module is not head
    ]
    return sorted(set(found))


def _find_refused_layers(peft: Any, model: Any) -> set[str]:
    """Return the layers that peft refuses for adapters, by peft's own check (for example some layers of Mamba)."""
    check = peft.tuners.lora.LoraModel._check_target_module_compatiblity
    config, found = peft.LoraConfig(task_type=peft_task(model)), set()
    for name in _linear_layers(model):
        try:
            check(None, config, model, name)
        except ValueError:
            found.add(name)
    return found


def _without_dropout(model: Any) -> None:
    import torch

    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for name in (
            "attention_dropout",
            "activation_dropout",
            "dropout",
            "layerdrop",
        ):  # rates that functions read
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
