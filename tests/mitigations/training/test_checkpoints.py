"""Checkpoints that somebody has changed are refused in words."""

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open
from safetensors.torch import save_file

from evenhand.mitigations.training.checkpoints import CHECKPOINT, stored_position
from evenhand.schema import DataError
from tests.mitigations.training.tiny import trained

WHOLE = {
    "step": 3,
    "halvings": 0,
    "best": None,
    "best_step": 0,
    "since_best": 0,
    "stopped": False,
    "decided": {},
}


@pytest.mark.parametrize(
    "told", [[1], {"moon": 1}, {**WHOLE, "step": "x"}, {**WHOLE, "step": -5}, {**WHOLE, "decided": None}]
)
def test_counters_that_are_none_are_refused(tmp_path: Path, told: Any) -> None:
    trained(tmp_path)
    path = tmp_path / CHECKPOINT
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(tensors, path, {"evenhand": json.dumps(WHOLE)})
    assert stored_position(path).step == 3
    save_file(tensors, path, {"evenhand": json.dumps(told)})
    with pytest.raises(DataError, match="does not say where training stands"):
        stored_position(path)
