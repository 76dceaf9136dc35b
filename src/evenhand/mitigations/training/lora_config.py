"""Check the adapter_config.json of a LoRA folder before peft reads it.

peft trusts the configuration. It downloads and unpickles further adapters that it names, imports modules by name,
compiles patterns, and allocates memory for any rank. Here, any configuration that is not plain LoRA is refused. peft
gets the checked values and never reads the file.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evenhand.mitigations.training.preparing import TASKS, import_package, peft_task
from evenhand.schema import ModelError, read_json

CONFIG = "adapter_config.json"
MOST_BYTES = 1 << 20
NAME = re.compile(r"\^?(?:[\w-]|\\?\.)+\$?")
"""Pattern for the name of a layer or its end; peft itself writes them with escaped dots and anchors."""
DRAWN = ("gaussian", "eva", "orthogonal")
"""Initialisations that leave the model's weights unchanged; others change them when the adapter is loaded."""
WITHOUT_EFFECT = (
    "peft_type", "task_type", "auto_mapping", "peft_version", "base_model_name_or_path", "revision",
    "inference_mode", "init_lora_weights", "lora_dropout", "megatron_core", "qalora_group_size", "loftq_config",
    "eva_config", "runtime_config",
)  # fmt: skip
"""Settings about the origin and training of the adapter; the learned weights no longer depend on them."""


def _is_whole(value: Any) -> bool:
    return type(value) is int and 1 <= value < 2**31


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e30 and math.isfinite(value)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 1000 and NAME.fullmatch(value) is not None


def _is_list(value: Any, of: Callable[[Any], bool]) -> bool:
    return value is None or (isinstance(value, list) and all(map(of, value)))


def _is_pattern(value: Any, of: Callable[[Any], bool]) -> bool:
    return value is None or (
        isinstance(value, dict) and all(map(_is_name, value)) and all(map(of, value.values()))
    )


def _is_layers(value: Any) -> bool:
    return (type(value) is int and value >= 0) or _is_list(value, lambda one: type(one) is int and one >= 0)


NAMES = "a list of names of layers"
SWITCH: tuple[Callable[[Any], bool], str] = (lambda value: type(value) is bool, "true or false")
KNOWN: dict[str, tuple[Callable[[Any], bool], str]] = {
    "r": (_is_whole, "a whole number from 1 on"),
    "lora_alpha": (_is_number, "a number"),
    "target_modules": (lambda value: value == "all-linear" or _is_list(value, _is_name), NAMES),
    "exclude_modules": (lambda value: _is_list(value, _is_name), NAMES),
    "modules_to_save": (lambda value: _is_list(value, _is_name), NAMES),
    "target_parameters": (lambda value: _is_list(value, _is_name), "a list of names of parameters"),
    "layers_pattern": (lambda value: _is_name(value) or _is_list(value, _is_name), NAMES),
    "layers_to_transform": (_is_layers, "numbers of layers"),
    "rank_pattern": (lambda value: _is_pattern(value, _is_whole), "names of layers with whole numbers"),
    "alpha_pattern": (lambda value: _is_pattern(value, _is_number), "names of layers with numbers"),
    "bias": (lambda value: value in ("none", "all", "lora_only"), "none, all or lora_only"),
    "fan_in_fan_out": SWITCH,
    "use_rslora": SWITCH,
    "use_dora": SWITCH,
    "lora_bias": SWITCH,
}
"""Settings that determine the effect of the adapter, with the check of each value."""


def read_lora_config(folder: Path) -> dict[str, Any]:
    """Return the settings that determine the effect of an adapter, by the names of peft.

    folder: contains adapter_config.json. Raises ModelError if it is not plain LoRA of a language model or a value is
    not allowed, and DataError if it cannot be read.
    """
    path = folder / CONFIG
    whole = read_json(path, "Give a folder that peft wrote.", most=MOST_BYTES)
    if not isinstance(whole, dict):
        raise _unusable_error(path, "it is not a JSON object")
    if whole.get("peft_type") != "LORA":
        raise _unusable_error(
            path, f"its peft_type is {_shorten(whole.get('peft_type'))}, but only LORA is supported"
        )
    if (task := whole.get("task_type")) not in (None, *TASKS):
        raise _unusable_error(path, f"its task is {_shorten(task)}, not {' or '.join(TASKS)}")
    drawn = whole.get("init_lora_weights", True)
    if type(drawn) is not bool and drawn is not None and drawn not in DRAWN:
        raise _unusable_error(
            path,
            f"init_lora_weights is {_shorten(drawn)}, which changes the model's own weights when it is loaded",
        )
    found: dict[str, Any] = {}
    for name, value in whole.items():
        if name in WITHOUT_EFFECT:
            continue
        if name in KNOWN:
            is_right, expected = KNOWN[name]
            if not is_right(value):
                raise _unusable_error(path, f"{name} must be {expected}, got {_shorten(value)}")
            found[name] = value
        elif value:
            raise _unusable_error(path, f"{name} is {_shorten(value)}, which is not part of plain LoRA")
    if "r" not in found or "lora_alpha" not in found:
        raise _unusable_error(path, "r or lora_alpha is missing")
    return found


def peft_config(config: Mapping[str, Any], model: Any) -> Any:
    """Return checked settings as a configuration object of peft, for a model of transformers."""
    known: dict[str, Any] = {name: value for name, value in config.items() if value is not None}
    return import_package("peft").LoraConfig(task_type=peft_task(model), **known)


def check_ranks(folder: Path, config: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise ModelError for a rank that no tensor of the adapter has, because peft allocates memory for it.

    shapes: shapes of the adapter's tensors, by name.
    """
    most = max((side for shape in shapes.values() for side in shape), default=0)
    if (asked := max(config["r"], *(config.get("rank_pattern") or {}).values(), 1)) > most:
        raise _unusable_error(
            folder / CONFIG, f"its rank is {asked:,}, but its tensors have at most {most:,}"
        )


def config_digest(config: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of the settings that determine the effect, regardless of the order of names.

    >>> config_digest({"r": 2, "target_modules": ["a", "b"]}) == config_digest({"target_modules": ["b", "a"], "r": 2})
    True
    """
    told = {
        name: sorted(value, key=str) if isinstance(value, list) else value for name, value in config.items()
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _unusable_error(path: Path, why: str) -> ModelError:
    return ModelError(
        f"{path} cannot be used: {why}.",
        "Use a plain LoRA adapter written by peft, or merge the adapter into its base model with peft where you "
        "trust it, and use the merged model.",
    )
