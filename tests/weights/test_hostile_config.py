"""What a hostile config.json can make transformers do: fetch code, or fill the memory before a weight is read."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig

import evenhand
from evenhand.models.loading import load_model
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
BY_EVENHAND = (
    "from evenhand.models.loading import load_model; [load_model(it, device='cpu') for it in sys.argv[1:]]"
)
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
    def make(name: str = "model", /, **settings: Any) -> Path:
        folder = tmp_path / name
        shutil.copytree(saved, folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | settings))
        return folder

    return make


def requested_kernels(code: str, folders: list[Path], tmp_path: Path) -> tuple[int, list[str]]:
    """Return the exit status of a fresh process that loads models, and the kernels that it requests."""
    package, record = tmp_path / "stub" / "kernels", tmp_path / "record"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(STUB)
    record.touch()
    paths = os.pathsep.join([str(package.parent), str(Path(evenhand.__file__).parents[1])])
    ended = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}", *map(str, folders)],
        env=os.environ | {"PYTHONPATH": paths, "RECORD": str(record), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        check=False,  # transformers ends in an error behind the stub's kernel
    )
    return ended.returncode, record.read_text().split()


def test_no_kernel_is_requested_that_a_config_names(hostile: Callable[..., Path], tmp_path: Path) -> None:
    folders = [  # in one process, because it takes seconds to start
        hostile("first", attn_implementation="kernels-community/flash-attn"),
        hostile("second", _attn_implementation="evil/kernel"),
        hostile("third", attn_implementation="paged|evil/kernel:function"),
    ]
    assert requested_kernels(BY_EVENHAND, folders, tmp_path) == (0, [])


def test_the_stub_records_what_transformers_alone_would_fetch(
    hostile: Callable[..., Path], tmp_path: Path
) -> None:
    folder = hostile(attn_implementation="kernels-community/flash-attn")
    assert requested_kernels(BY_TRANSFORMERS, [folder], tmp_path)[1] == ["kernels-community/flash-attn"]


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
def test_a_huge_size_is_refused_before_transformers_builds_anything(
    hostile: Callable[..., Path], settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, built = hostile(**settings), []
    monkeypatch.setattr(AutoConfig, "from_pretrained", lambda *given, **options: built.append(given))
    with pytest.raises(ModelError, match="is allowed"):
        load_config(str(folder))
    assert built == []


def test_sizes_of_published_models_are_accepted() -> None:
    # Llama 3.1 405B, Switch-C, Llama 4 Scout's context, Gemma's vocabulary, a large rotary base
    check_sizes("m", {"num_hidden_layers": 126, "hidden_size": 16384, "intermediate_size": 53248})
    check_sizes("m", {"num_experts": 2048, "d_ff": 6144, "num_layers": 15})
    check_sizes("m", {"max_position_embeddings": 10_485_760, "vocab_size": 262_144, "rope_theta": 10**9})
    check_sizes(
        "m", {"eos_token_id": 2**31, "use_cache": True, "layer_norm_eps": 1e-5, "architectures": ["X"]}
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_layer": 1000, "n_embd": 2**26}, "sets n_layer to 1,000, n_embd to 67,108,864: together more than"),
        ({"vocab_size": 2**26, "hidden_size": 2**26}, "sets vocab_size to 67,108,864, hidden_size to 67,108,864"),
        (
            {"text_config": {"num_hidden_layers": 900, "hidden_size": 2**20, "n_inner": 2**20, "num_experts": 2**14}},
            "num_experts to 16,384: together",
        ),
        ({"eos_token_id": [1] * 10**5}, "gives 100,000 values to eos_token_id; at most 10,000 are allowed"),
        ({"layer_types": ["full"] * 10**6}, "gives 1,000,000 values to layer_types"),
    ],
    ids=str,
)  # fmt: skip
def test_sizes_that_are_absurd_together_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        check_sizes("m", settings)


def test_the_largest_published_models_are_accepted_with_all_their_sizes() -> None:
    moe = {
        "num_hidden_layers": 61,
        "hidden_size": 7168,
        "intermediate_size": 18432,
        "moe_intermediate_size": 2048,
    }
    check_sizes("kimi", {**moe, "n_routed_experts": 384, "num_experts_per_tok": 8, "vocab_size": 163_840})
    check_sizes("switch", {"num_layers": 15, "d_model": 2080, "d_ff": 6144, "num_experts": 2048})
    check_sizes("quantised", {"quantization_config": {"ignore": ["model.layers.1.mlp"] * 45_000}})


@pytest.mark.parametrize("listed", [[1], "GPT2LMHeadModel", [None], {"a": 1}], ids=str)
def test_architectures_that_are_no_list_of_names_are_refused(
    hostile: Callable[..., Path], listed: Any
) -> None:
    with pytest.raises(ModelError, match="a list of class names was expected"):
        load_model(str(hostile(architectures=listed)), device="cpu")


def test_a_size_of_zero_that_transformers_divides_by_is_a_model_error(hostile: Callable[..., Path]) -> None:
    folder = hostile(model_type="gpt2", architectures=["GPT2LMHeadModel"], n_head=0, num_attention_heads=0)
    with pytest.raises(ModelError, match=r"ZeroDivisionError"):
        load_model(str(folder), device="cpu")


@pytest.mark.parametrize("content", [[], "x", None])
def test_a_config_that_is_no_object_is_refused(content):
    with pytest.raises(ModelError, match="an object was expected"):
        check_sizes("m", content)
