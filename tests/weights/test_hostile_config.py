"""What a hostile config.json can make transformers do: fetch code, or fill the memory before a weight is read."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand
from evenhand.schema import ModelError
from evenhand.weights.checkpoint import load_config
from evenhand.weights.config_sizes import check_sizes
from tests.models.conftest import build_model

STUB = '''
"""Takes the place of the package kernels, and records every request for one."""

import os
from types import SimpleNamespace

__version__ = "0.18.2"


def get_kernel(name, *arguments, **options):
    with open(os.environ["RECORD"], "a") as record:
        record.write(f"{name}\\n")
    return SimpleNamespace(flash_attn_varlen_func=None)


def _decorator(*arguments, **options):
    return lambda decorated: decorated


use_kernel_forward_from_hub = use_kernelized_func = _decorator
get_local_kernel = get_kernel


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {"__init__": lambda self, *arguments, **options: None})
'''
BY_EVENHAND = "from evenhand.models.loading import load_model; load_model(sys.argv[1], device='cpu')"
BY_TRANSFORMERS = (
    "from transformers import AutoModelForCausalLM; AutoModelForCausalLM.from_pretrained(sys.argv[1])"
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    for part in build_model("llama"):
        part.save_pretrained(folder)
    return folder


@pytest.fixture
def hostile(saved: Path, tmp_path: Path) -> Callable[..., Path]:
    def make(**settings: Any) -> Path:
        folder = tmp_path / "model"
        shutil.copytree(saved, folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | settings))
        return folder

    return make


def requested_kernels(code: str, folder: Path, tmp_path: Path) -> tuple[int, list[str]]:
    """Return the exit status of a fresh process that loads a model, and the kernels that it asks for."""
    package, record = tmp_path / "stub" / "kernels", tmp_path / "record"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(STUB)
    record.touch()
    paths = os.pathsep.join([str(package.parent), str(Path(evenhand.__file__).parents[1])])
    ended = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}", str(folder)],
        env=os.environ | {"PYTHONPATH": paths, "RECORD": str(record), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        check=False,  # transformers ends in an error behind the stub's kernel
    )
    return ended.returncode, record.read_text().split()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("attn_implementation", "kernels-community/flash-attn"),
        ("_attn_implementation", "evil/kernel"),
        ("attn_implementation", "paged|evil/kernel:function"),
    ],
)
def test_no_kernel_is_requested_that_a_config_names(
    hostile: Callable[..., Path], tmp_path: Path, key: str, value: str
) -> None:
    assert requested_kernels(BY_EVENHAND, hostile(**{key: value}), tmp_path) == (0, [])


def test_the_stub_records_what_transformers_alone_would_fetch(
    hostile: Callable[..., Path], tmp_path: Path
) -> None:
    folder = hostile(attn_implementation="kernels-community/flash-attn")
    assert requested_kernels(BY_TRANSFORMERS, folder, tmp_path)[1] == ["kernels-community/flash-attn"]


@pytest.mark.parametrize(
    "settings",
    [
        {"num_hidden_layers": 10**9},
        {"hidden_size": 10**9},
        {"vocab_size": 10**12},
        {"num_labels": 10**8},
        {"num_local_experts": 10**7},
        {"head_dim": 10**10},
        {"text_config": {"num_hidden_layers": 10**9}},
        {"depths": [2, 10**9]},
    ],
    ids=str,
)
def test_a_huge_size_is_refused_before_anything_is_allocated(
    hostile: Callable[..., Path], settings: dict[str, Any]
) -> None:
    folder, began = hostile(**settings), time.monotonic()
    with pytest.raises(ModelError, match="is allowed"):
        load_config(str(folder))
    assert time.monotonic() - began < 5


def test_sizes_of_published_models_are_accepted() -> None:
    # Llama 3.1 405B, Switch-C, Llama 4 Scout's context, Gemma's vocabulary, a large rotary base
    check_sizes("m", {"num_hidden_layers": 126, "hidden_size": 16384, "intermediate_size": 53248})
    check_sizes("m", {"num_experts": 2048, "d_ff": 6144, "num_layers": 15})
    check_sizes("m", {"max_position_embeddings": 10_485_760, "vocab_size": 262_144, "rope_theta": 10**9})
    check_sizes(
        "m", {"eos_token_id": 2**31, "use_cache": True, "layer_norm_eps": 1e-5, "architectures": ["X"]}
    )
