"""A model made ready for training: all of it or low-rank adapters, checkpointing of activations, dropout."""

import warnings
from typing import Any

from evenhand.mitigations.training.options import TrainingOptions
from evenhand.schema import ModelError, UsageError

EXTRA = "Install it with: pip install 'evenhand[training]'"


def needed(name: str) -> Any:
    """A package of the extra `training`; raises ModelError, saying how to get it, where it is missing."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise ModelError(f"Training needs the package {name}, which is not installed.", EXTRA) from error


def prepared_model(model: Any, options: TrainingOptions) -> Any:
    """The model to train: itself with gradients, or itself frozen behind fresh adapters.

    model: of transformers, in 32 bits; changed in place. Raises UsageError for layers that it does not have, ModelError
    where a package is missing.
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
        # by its newer name where there is one: the older warns
        enable = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)
        enable({"use_reentrant": False})
    return model


def merged(model: Any) -> Any:
    """The plain model of transformers with its adapters added into its weights; itself where it has none."""
    return model.merge_and_unload() if hasattr(model, "merge_and_unload") else model


def _with_adapters(model: Any, options: TrainingOptions) -> Any:
    peft = needed("peft")
    from transformers.pytorch_utils import Conv1D

    layers = {name: module for name, module in model.named_modules() if name.endswith(options.lora_layers)}
    if options.lora_layers and not layers:
        known = sorted({name.rsplit(".", 1)[-1] for name, _ in model.named_modules() if name})
        raise UsageError(
            f"No layer of {type(model).__name__} is called {' or '.join(options.lora_layers)}.",
            f"Names of its layers end with: {', '.join(known)}.",
        )
    # GPT-2 keeps its weights the other way round, and peft warns unless it is told.
    turned = any(isinstance(module, Conv1D) for module in model.modules())
    config = peft.LoraConfig(
        task_type="CAUSAL_LM",
        r=options.lora_rank,
        lora_alpha=options.lora_alpha or 2 * (options.lora_rank or 1),
        lora_dropout=options.lora_dropout,
        target_modules=list(options.lora_layers) or "all-linear",
        fan_in_fan_out=turned,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of transformers, about names that peft uses
        return peft.get_peft_model(model, config)


def _without_dropout(model: Any) -> None:
    import torch

    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for name in ("attention_dropout", "dropout"):  # rates that functions read
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
