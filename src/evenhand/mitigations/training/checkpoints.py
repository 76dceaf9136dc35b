"""Where a training stands, in one file that is whole or absent: weights that are trained, optimiser, and counters.

One safetensors file holds all of it, so that reading it runs no code and there is never half a checkpoint.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenhand.schema import DataError, EvenhandError, atomic_write, check_fields, parse_json

CHECKPOINT, BEST = "checkpoint.safetensors", "best.safetensors"
OF_BASE = "base.safetensors"
"""What the base model said of the examples, where a method needs that."""


@dataclass
class Position:
    """Where a training stands.

    step: steps done. halvings: how often the batch was halved since memory ran out. best, best_step, since_best: of
    the evaluations, where one is watched. decided: what must be the same for it to go on.
    """

    step: int = 0
    halvings: int = 0
    best: float | None = None
    best_step: int = 0
    since_best: int = 0
    stopped: bool = False
    decided: dict[str, Any] = field(default_factory=dict)


def write_checkpoint(path: Path, model: Any, optimizer: Any, position: Position) -> None:
    """Write where a training stands, whole or not at all. Raises WriteError."""
    tensors = {f"weight:{name}": value for name, value in trained(model).items()}
    for name, parameter in _parameters(model).items():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{key}:{name}"] = value
    _write(path, tensors, asdict(position))


def read_checkpoint(path: Path, model: Any, optimizer: Any) -> Position:
    """Put weights and optimiser back where they stood; returns the counters. Raises DataError for a damaged file."""
    tensors, told = _read(path)
    parameters = _parameters(model)
    _restore(path, parameters, tensors)
    for name, parameter in parameters.items():
        optimizer.state[parameter] = {
            key.removesuffix(f":{name}"): _placed(key, value, parameter)
            for key, value in tensors.items()
            if key.endswith(f":{name}") and not key.startswith("weight:")
        }
    return _position(path, told)


def stored_position(path: Path) -> Position:
    """The counters alone. Raises DataError for a damaged file."""
    return _position(path, _read(path)[1])


def write_weights(path: Path, model: Any) -> None:
    """Write the weights that are trained. Raises WriteError."""
    _write(path, {f"weight:{name}": value for name, value in trained(model).items()}, {})


def read_weights(path: Path, model: Any) -> None:
    """Put them back. Raises DataError for a damaged file."""
    _restore(path, _parameters(model), _read(path)[0])


def kept_values(
    path: Path, found: Callable[[], Mapping[str, NDArray[Any]]], told: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    """What a base model said before training: read from a file, or found and written there for a later sitting.

    told: what the values are of; values of something else are found anew. Raises WriteError, DataError.
    """
    if path.is_file():
        tensors, stored = _read(path)
        if stored == told:
            return {name: value.numpy() for name, value in tensors.items()}
    values = {name: np.ascontiguousarray(value) for name, value in found().items()}
    _write(path, {name: torch.from_numpy(value) for name, value in values.items()}, told)
    return values


def trained(model: Any) -> dict[str, Tensor]:
    """The weights of a model that are trained, by name."""
    return {name: parameter.detach() for name, parameter in _parameters(model).items()}


def _parameters(model: Any) -> dict[str, Any]:
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def _write(path: Path, tensors: Mapping[str, Tensor], told: Mapping[str, Any]) -> None:
    from safetensors.torch import save

    whole = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    content = save(whole, {"evenhand": json.dumps(told)})
    with atomic_write(path) as handle:
        handle.write(content)


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return tensors, parse_json(file.metadata()["evenhand"])
    except (OSError, SafetensorError, ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"The checkpoint {path} cannot be read: {error}.", "Delete it: training then begins anew."
        ) from error


def _position(path: Path, told: Any) -> Position:
    try:
        found = Position(**told)
        check_fields(found)
        if min(found.step, found.halvings, found.best_step, found.since_best) < 0:
            raise ValueError("a counter is below 0")
    except (TypeError, ValueError, EvenhandError) as error:
        raise DataError(
            f"The checkpoint {path} does not say where training stands: {error}.",
            "Delete it: training then begins anew.",
        ) from error
    return found


def _restore(path: Path, parameters: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    stored = {name.removeprefix("weight:"): t for name, t in tensors.items() if name.startswith("weight:")}
    if {name: t.shape for name, t in stored.items()} != {name: p.shape for name, p in parameters.items()}:
        raise DataError(
            f"The checkpoint {path} holds the weights of another model.", "Choose another folder with -o."
        )
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(stored[name])


def _placed(key: str, value: Tensor, parameter: Any) -> Tensor:
    # PyTorch keeps the count of steps on the processor, whatever the device of the weights.
    return value if key.startswith("step:") else value.to(parameter.device)
