"""Checkpoints and curves that somebody has changed are refused in words."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from evenhand.mitigations.training.checkpoints import CHECKPOINT, read_checkpoint
from evenhand.mitigations.training.curves import CURVES, CurveWriter, read_curves
from evenhand.schema import DataError
from tests.mitigations.training.tiny import tiny_model, trained

Tensors = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tensors, dict[str, Any]]:
    """The tensors and counters of a whole one."""
    folder = tmp_path_factory.mktemp("whole")
    trained(folder)
    with safe_open(folder / CHECKPOINT, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return tensors, json.loads(file.metadata()["evenhand"])


def read(path: Path) -> Any:
    model = tiny_model()
    return read_checkpoint(path, model, torch.optim.AdamW(model.parameters()))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"step": "x"}, "counter step is"),
        ({"step": -5}, "counter step is -5"),
        ({"step": 2.5}, "counter step is"),
        ({"halvings": 10**6}, "counter halvings is"),
        ({"best": "x"}, "counter best is"),
        ({"stopped": "yes"}, "counter stopped is"),
        ({"decided": None}, "counter decided is"),
        ({"moon": 1}, "counters are not those of a training"),
    ],
)
def test_counters_that_are_none_are_refused(
    checkpoint: Any, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    tensors, counters = checkpoint
    path = tmp_path / CHECKPOINT
    save_file(tensors, path, {"evenhand": json.dumps(counters)})
    assert read(path).step == counters["step"]
    save_file(tensors, path, {"evenhand": json.dumps({**counters, **change})})
    with pytest.raises(DataError, match=told):
        read(path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda name, t: t if name.startswith("weight:") else None, "it contains no optimiser state"),
        (lambda name, t: None if name.startswith("exp_avg_sq:") else t, "is incomplete"),
        (lambda name, t: t[:1] if name.startswith("exp_avg:") else t, r"exp_avg of .* is of \(1"),
        (lambda name, t: torch.zeros(3) if name.startswith("step:") else t, r"step of .* is of \(3,\)"),
        (lambda name, t: t.to(torch.int8) if name.startswith("weight:") else t, "weights of another model"),
    ],
)
def test_tensors_that_are_none_of_a_training_are_refused(
    checkpoint: Any, tmp_path: Path, change: Callable[[str, torch.Tensor], torch.Tensor | None], told: str
) -> None:
    tensors, counters = checkpoint
    changed = {name: change(name, tensor) for name, tensor in tensors.items()}
    kept = {name: tensor.clone() for name, tensor in changed.items() if tensor is not None}
    save_file(kept, tmp_path / CHECKPOINT, {"evenhand": json.dumps(counters)})
    with pytest.raises(DataError, match=told):
        read(tmp_path / CHECKPOINT)


def test_a_checkpoint_beyond_the_last_step_is_refused(checkpoint: Any, tmp_path: Path) -> None:
    tensors, counters = checkpoint
    save_file(tensors, tmp_path / CHECKPOINT, {"evenhand": json.dumps({**counters, "step": 10**9})})
    with pytest.raises(DataError, match="has an impossible step: 1,000,000,000 of 8"):
        trained(tmp_path)


@pytest.mark.parametrize(
    "change",
    [{"step": "x"}, {"step": None}, {"step": -(10**30)}, {"value": "v"}, {"epoch": [1]}, {"name": ["a"]},
     {"name": "\x1b[31m"}, {"split": 5}],
)  # fmt: skip
def test_rows_that_are_of_no_curve_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path, row = tmp_path / CURVES, {"step": 1, "epoch": 0.5, "split": "training", "name": "lm", "value": 2.0}
    whole = json.dumps(row) + "\n"
    path.write_text(whole + json.dumps({**row, "value": None}) + '\n{"step": 2, "ep')  # killed while writing
    assert read_curves(path)["value"].to_list() == [2.0, None]
    path.write_text(whole + json.dumps({**row, **change}) + "\n")
    for reader in (read_curves, lambda path: CurveWriter(path, 5)):
        with pytest.raises(DataError, match=r'Line 2 of .* is not valid: \{"step": '):
            reader(path)
