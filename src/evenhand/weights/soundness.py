"""Check that a loaded model equals the saved one: no tensor missing, none left over, and all numbers finite."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from evenhand.schema import ModelError

LAYER_NUMBER = re.compile(r"\.(\d+)\.")
WITHOUT_EFFECT = (
    "inv_freq",
    "position_ids",
    "masked_bias",
    "attn.bias",
    "attention.bias",
    "num_batches_tracked",
)
"""Ends of the names of buffers that older versions of transformers saved and newer ones compute."""


def check_loaded(name: str, report: dict[str, Any], model_class: str) -> None:
    """Raise ModelError for tensors that are missing in the weights or have another size.

    report: transformers' report on loading. model_class: class of the model, for messages.
    """
    missing = sorted(report["missing_keys"])
    broken = sorted(str(key) for key in report.get("mismatched_keys", ())) + list(
        report.get("error_msgs", ())
    )
    if missing or broken:
        some = ", ".join((missing + broken)[:3])
        raise ModelError(
            f"{len(missing) + len(broken)} tensors of {model_class} are missing in the weights of {name!r} "
            f"({some}{', ...' * (len(missing) + len(broken) > 3)}), so they would be random.",
            "The checkpoint was saved without its head, or its tensors have other names. Save it from the class "
            "that was trained, with its head.",
        )


def check_layers(name: str, unexpected: Iterable[str], model: Any) -> None:
    """Raise ModelError if the weights contain parts of layers that the model does not have.

    A config.json with fewer layers than the weights would silently give a truncated model. Parts that are not layers (a
    pooler, another tower) may be left over.
    """
    import torch

    layers = {
        path: len(module)
        for path, module in model.named_modules()
        if isinstance(module, torch.nn.ModuleList | torch.nn.Sequential)
    }
    beyond: list[str] = []
    within: list[str] = []
    for key in sorted(key for key in unexpected if not key.endswith(WITHOUT_EFFECT)):
        for place in LAYER_NUMBER.finditer(key):
            held = [n for path, n in layers.items() if _is_same_list(path, key[: place.start()])]
            if held:
                (beyond if int(place[1]) >= max(held) else within).append(key)
                break
    if beyond or within:
        what = "layers that are not in its config.json" if beyond else "layers that the model does not have"
        some = ", ".join((beyond or within)[:3]) + ", ..." * (len(beyond or within) > 3)
        raise ModelError(
            f"The weights of {name!r} contain {len(beyond or within)} tensors of {what} ({some}). Without them, "
            f"{type(model).__name__} would be a different model, without any other warning.",
            "Use the config.json that was saved with these weights (number of layers, model_type, biases).",
        )


def check_finite(name: str, model: Any, file_of: Callable[[str], str]) -> None:
    """Raise ModelError if a parameter contains NaN or infinity.

    A text that uses such a parameter (for example, the embedding of one token) can also spoil the results of the other
    texts in its batch. `name` is the name of the model, for messages. `file_of` returns the file of a parameter by its
    name. Only minimum and maximum are computed, without a copy, because NaN is passed on to both.
    """
    import torch

    broken = []
    for key, parameter in model.named_parameters():
        tensor = parameter.detach()
        if tensor.numel() and tensor.dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            least, most = torch.aminmax(tensor)
            if not (torch.isfinite(least) and torch.isfinite(most)):
                broken.append((key, tensor))
    if not broken:
        return
    key, tensor = broken[0]
    wrong = int((~torch.isfinite(tensor)).sum())
    more = f", and so do {len(broken) - 1} other tensors" if len(broken) > 1 else ""
    narrow = ", or choose --dtype float32: numbers above 65,504 are infinite in float16"
    raise ModelError(
        f"The weights of {name!r} contain {wrong:,} value{'s' * (wrong != 1)} that {'are' if wrong != 1 else 'is'} "
        f"not a number (NaN or infinity) in the tensor {key}{more}.",
        f"Download or copy {file_of(key)} again{narrow if tensor.dtype == torch.float16 else ''}. If it was saved "
        "so, its training diverged, or a later step failed (merging, pruning or conversion): use an earlier "
        "checkpoint.",
    )


def _is_same_list(path: str, stored: str) -> bool:
    """Return whether two names refer to the same list of layers; a checkpoint may omit or add the name of its body."""
    return path == stored or path.endswith(f".{stored}") or ("." in path and stored.endswith(f".{path}"))
