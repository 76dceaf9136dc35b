"""Checkpoints of a training: weights, optimiser state and counters in one file that is written atomically.

The file is in safetensors format, so that reading it runs no code.
"""

import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.schema import DataError, atomic_write, parse_json

if TYPE_CHECKING:
    from torch import Tensor

CHECKPOINT, BEST = "checkpoint.safetensors", "best.safetensors"
OF_BASE = "base.safetensors"
"""Name of the file with the values of the base model that a method needs, such as log-probabilities of the examples."""
OF_OPTIMISER = ("step", "exp_avg", "exp_avg_sq")
"""State that AdamW has for each parameter."""


@dataclass
class Position:
    """Progress of a training.

    Attributes
    ----------
    step : int
        Number of completed steps.
    halvings : int
        How often the batch size was halved because memory ran out.
    best, best_step, since_best
        Best monitored value, its step, and the number of evaluations since then.
    stopped : bool
        Whether training ended.
    decided : dict
        Options and data that must be equal for the training to be resumed.
    """

    step: int = 0
    halvings: int = 0
    best: float | None = None
    best_step: int = 0
    since_best: int = 0
    stopped: bool = False
    decided: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_stored(cls, stored: Any) -> "Position":
        """Return the progress from stored data. Raise ValueError, naming the counter, if one is invalid."""
        names = {one.name for one in fields(cls)}
        if not isinstance(stored, dict) or stored.keys() != names:
            raise ValueError("its counters are not those of a training run")
        for name, value in stored.items():
            if not _COUNTERS.get(name, _is_count)(value):
                raise ValueError(f"its counter {name} is {json.dumps(value)[:60]}")
        return cls(**stored)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


_COUNTERS: dict[str, Callable[[Any], bool]] = {
    "halvings": lambda value: _is_count(value) and value < 64,
    "best": lambda value: value is None or (type(value) in (int, float) and math.isfinite(value)),
    "stopped": lambda value: type(value) is bool,
    "decided": lambda value: isinstance(value, dict),
}
"""Validity checks of the fields of a checkpoint that are not plain counts."""


def write_checkpoint(path: Path, model: Any, optimizer: Any, position: Position) -> None:
    """Write a checkpoint atomically. Raises WriteError."""
    tensors = {f"weight:{name}": value for name, value in trainable_weights(model).items()}
    for name, parameter in _parameters(model).items():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{key}:{name}"] = value
    _write(path, tensors, asdict(position))


def read_checkpoint(path: Path, model: Any, optimizer: Any) -> Position:
    """Restore weights and optimiser from a checkpoint, and return its progress. Raises DataError for a damaged file."""
    tensors, progress = _read(path)
    parameters = _parameters(model)
    try:
        position = Position.from_stored(progress)
        states = {name: _state(tensors, name, parameter) for name, parameter in parameters.items()}
        if position.step and not any(states.values()):
            raise ValueError("it contains no optimiser state")
    except ValueError as error:
        raise _damaged_error(path, str(error)) from error
    _restore(path, parameters, tensors)
    for name, parameter in parameters.items():
        optimizer.state[parameter] = states[name]
    return position


def write_weights(path: Path, model: Any) -> None:
    """Write the trainable weights. Raises WriteError."""
    _write(path, {f"weight:{name}": value for name, value in trainable_weights(model).items()}, {})


def read_weights(path: Path, model: Any) -> None:
    """Restore the trainable weights. Raises DataError for a damaged file."""
    _restore(path, _parameters(model), _read(path)[0])


def kept_values(
    path: Path, found: Callable[[], Mapping[str, NDArray[Any]]], description: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    """Return values of the base model before training: read from a file, or computed and stored for a resumed training.

    `description` identifies the values; a file with a different one is recomputed. Raises a WriteError or DataError.
    """
    if path.is_file():
        tensors, stored = _read(path)
        if stored == description:
            return {name: value.numpy() for name, value in tensors.items()}
    import torch

    values = {name: np.ascontiguousarray(value) for name, value in found().items()}
    _write(path, {name: torch.from_numpy(value) for name, value in values.items()}, description)
    return values


def drop_checkpoints(folder: Path) -> None:
    """Delete the checkpoints of a finished training; files that cannot be deleted are harmless."""
    for path in folder.glob("*.safetensors"):
        with suppress(OSError):
            path.unlink()


def trainable_weights(model: Any) -> dict[str, "Tensor"]:
    """Return the trainable weights of a model by name."""
    return {name: parameter.detach() for name, parameter in _parameters(model).items()}


def _parameters(model: Any) -> dict[str, Any]:
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def _write(path: Path, tensors: Mapping[str, "Tensor"], metadata: Mapping[str, Any]) -> None:
    from safetensors.torch import save

    whole = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    content = save(whole, {"evenhand": json.dumps(metadata)})
    with atomic_write(path) as handle:
        handle.write(content)


def _read(path: Path) -> tuple[dict[str, "Tensor"], dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return tensors, parse_json((file.metadata() or {}).get("evenhand", ""))
    except (OSError, SafetensorError, ValueError) as error:
        raise _damaged_error(path, str(error)) from error


def _damaged_error(path: Path, why: str) -> DataError:
    return DataError(
        f"The checkpoint {path} cannot be read: {why}.",
        "Delete the checkpoint: training then starts from the beginning.",
    )


def _restore(path: Path, parameters: Mapping[str, Any], tensors: Mapping[str, "Tensor"]) -> None:
    import torch

    stored = {name.removeprefix("weight:"): t for name, t in tensors.items() if name.startswith("weight:")}
    found = {name: (t.shape, t.dtype) for name, t in stored.items()}
    if found != {name: (p.shape, p.dtype) for name, p in parameters.items()}:
        raise DataError(
            f"The checkpoint {path} contains the weights of another model.", "Choose another folder with -o."
        )
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(stored[name])


def _state(tensors: Mapping[str, "Tensor"], name: str, parameter: Any) -> dict[str, "Tensor"]:
    """Return the optimiser state of a parameter, empty if it never had a gradient; raise ValueError
    if it is invalid.
    """
    state = {key: tensors[f"{key}:{name}"] for key in OF_OPTIMISER if f"{key}:{name}" in tensors}
    if state and state.keys() != set(OF_OPTIMISER):
        raise ValueError(
            f"the optimiser state of {name} is incomplete: it contains only {' and '.join(state)}"
        )
    for key, value in state.items():
        if value.shape != (() if key == "step" else parameter.shape) or not value.is_floating_point():
            raise ValueError(f"the optimiser's {key} of {name} is of {tuple(value.shape)}, {value.dtype}")
    # PyTorch keeps the step counter on the CPU for weights on any device
    return {key: value if key == "step" else value.to(parameter.device) for key, value in state.items()}
