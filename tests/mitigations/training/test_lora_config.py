"""Configurations of adapters that are more than LoRA, or less, are refused before peft sees them."""

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.mitigations.training.lora_config import (
    check_ranks,
    config_digest,
    peft_config,
    read_lora_config,
)
from evenhand.schema import DataError, ModelError
from tests.mitigations.training.tiny import tiny_blenderbot, tiny_model

PLAIN = {
    "peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 2, "lora_alpha": 4, "target_modules": ["c_attn", "c_fc"],
    "rank_pattern": {r"^h\.0\.c_fc": 1}, "alpha_pattern": {}, "fan_in_fan_out": True, "megatron_config": None,
    "base_model_name_or_path": "https://nowhere.example/x", "peft_version": "0.18",
}  # fmt: skip


def written(folder: Path, content: Any) -> Path:
    (folder / "adapter_config.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def test_what_decides_the_change_is_read_and_nothing_else(tmp_path: Path) -> None:
    found = read_lora_config(written(tmp_path, PLAIN))
    assert {"r", "lora_alpha", "target_modules", "rank_pattern"} <= found.keys()
    assert not found.keys() & {"base_model_name_or_path", "megatron_config", "peft_version"}
    config = peft_config(found, tiny_model())
    assert (config.r, config.lora_alpha, config.fan_in_fan_out) == (2, 4, True)
    assert config.base_model_name_or_path is None and set(config.target_modules) == {"c_attn", "c_fc"}


def test_an_adapter_of_an_encoder_and_a_decoder_is_read(tmp_path: Path) -> None:
    found = read_lora_config(written(tmp_path, {**PLAIN, "task_type": "SEQ_2_SEQ_LM"}))
    assert peft_config(found, tiny_blenderbot()).task_type == "SEQ_2_SEQ_LM"


def test_the_scale_is_known_and_where_it_was_trained_is_not(tmp_path: Path) -> None:
    def digest(**changes: Any) -> str:
        return config_digest(read_lora_config(written(tmp_path, {**PLAIN, **changes})))

    assert digest(base_model_name_or_path="y", peft_version="1", lora_dropout=0.5) == digest()
    assert digest(target_modules=["c_fc", "c_attn"]) == digest()
    changes = ({"lora_alpha": 400}, {"r": 3}, {"use_rslora": True}, {"target_modules": ["c_fc"]})
    assert len({digest(), *(digest(**change) for change in changes)}) == 5


@pytest.mark.parametrize(
    "change",
    [
        {"peft_type": "XLORA", "adapters": {"a": "evil/repository"}}, {"peft_type": "PROMPT_TUNING"},
        {"peft_type": ["LORA"]}, {"peft_type": None}, {"task_type": "SEQ_CLS"},
        {"megatron_config": {"a": 1}, "megatron_core": "antigravity"}, {"layer_replication": [[0, 9]]},
        {"init_lora_weights": "pissa"}, {"a_setting_to_come": 1},
        {"r": "2"}, {"r": [1]}, {"r": None}, {"r": 2.5}, {"r": 0}, {"r": -2}, {"r": True}, {"r": 10**30},
        {"lora_alpha": "x"}, {"lora_alpha": float("nan")}, {"lora_alpha": float("inf")}, {"lora_alpha": 1e39},
        {"target_modules": "(([a-z_.0-9]+)+)+!"}, {"target_modules": ["(a+)+$"]}, {"target_modules": [1]},
        {"exclude_modules": ".*"}, {"rank_pattern": {"(([a-z_.0-9]+)+)+!": 3}}, {"rank_pattern": {"a": "x"}},
        {"alpha_pattern": {"a": None}}, {"use_dora": "yes"}, {"bias": "some"}, {"layers_to_transform": "1"},
    ],
)  # fmt: skip
def test_values_that_such_a_configuration_never_has_are_refused(tmp_path: Path, change: Any) -> None:
    with pytest.raises(
        ModelError, match=r"adapter_config\.json cannot be used: .+\nUse a plain LoRA adapter"
    ):
        read_lora_config(written(tmp_path, {**PLAIN, **change}))


@pytest.mark.parametrize("content", ["[]", '"x"', "null", "{}", '{"peft_type": "LORA"}', "{", "[" * 100_000])
def test_files_that_hold_none_are_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises((ModelError, DataError), match=r"adapter_config\.json"):
        read_lora_config(written(tmp_path, content))


def test_no_more_memory_is_taken_than_the_tensors_have(tmp_path: Path) -> None:
    shapes = {"a.lora_A.weight": (2, 128), "a.lora_B.weight": (384, 2)}
    check_ranks(tmp_path, {"r": 2, "rank_pattern": None}, shapes)
    for config in ({"r": 10**9}, {"r": 2, "rank_pattern": {"c_fc": 10**9}}):
        with pytest.raises(ModelError, match="its rank is 1,000,000,000, but its tensors have at most 384"):
            check_ranks(tmp_path, config, shapes)
