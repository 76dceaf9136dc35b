"""Folders of trained models: full disks, code of the base's own, lineages of others."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from safetensors import SafetensorError

from evenhand.mitigations.training.finetuned import (
    MOST_TOLD,
    next_steps,
    read_lineage,
    shorten_lineage,
    write_model,
)
from evenhand.reference.embedded import WEIGHTS
from evenhand.schema import DataError, WriteError
from evenhand.weights import load_tokenizer
from tests.mitigations.training.tiny import tiny_model

LINEAGE = {
    "base": {"name": "a", "weights": "b"},
    "method": {"name": "cda"},
    "data": {"sha256": "c"},
    "bias": "d",
}


@pytest.mark.parametrize(
    "error",
    [SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
     Exception("No space left on device (os error 28)"), OSError(28, "No space left on device")],
)  # fmt: skip
def test_a_full_disk_is_said_and_leaves_its_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    model = tiny_model()

    def full(folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"x" * 100)
        raise error

    monkeypatch.setattr(model, "save_pretrained", full)
    with pytest.raises(WriteError, match=r"Could not write the model .*No space left.*"):
        write_model(model, None, tmp_path, {}, "")
    assert not (tmp_path / "training" / "model").exists()


def test_code_that_is_not_written_is_not_named(tmp_path: Path) -> None:
    model, tokenizer = tiny_model(), load_tokenizer(WEIGHTS)
    model.config.auto_map = {"AutoModelForCausalLM": "mod.M"}
    write_model(model, tokenizer, tmp_path, LINEAGE, "# Mine\n")
    config = json.loads((tmp_path / "config.json").read_text())
    assert "auto_map" not in config and config["model_type"] == "gpt2"


@pytest.mark.parametrize(
    "content", ["[]", '"weights"', "null", '{"base": "weights"}', '{"base": ["x"]}', "{"]
)
def test_lineages_that_are_none_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "lineage.json").write_text(content)
    with pytest.raises(DataError, match=r"lineage\.json"):
        read_lineage(tmp_path)


def test_of_a_long_lineage_a_little_is_told(tmp_path: Path) -> None:
    assert shorten_lineage(LINEAGE) == LINEAGE
    long: dict[str, Any] = {**LINEAGE, "x": "A" * MOST_TOLD, "evenhand": "A" * MOST_TOLD}
    assert shorten_lineage(long) == LINEAGE
    (tmp_path / "lineage.json").write_text(json.dumps({**LINEAGE, "x": "A" * (1 << 24)}))
    with pytest.raises(DataError, match="at most 16,777,216 are allowed"):
        read_lineage(tmp_path)


def made_of(bias: str, **options: Any) -> dict[str, Any]:
    return {"base": {"name": "my model"}, "bias": bias, "options": options}


@pytest.mark.parametrize(
    ("bias", "asked"),
    [
        ("religion1", ["-b", "redditbias", "-b", "redditbias-lmp"]),
        ("evenhand/age", ["-b", "evenhand-likelihood", "--axis", "age"]),
        ("my own terms", ["-b", "redditbias", "--set", "data.redditbias=PAIRS"]),
    ],
)
def test_the_next_step_measures_what_was_trained(bias: str, asked: list[str]) -> None:
    [command], note = next_steps(made_of(bias), Path("a folder"))
    assert shlex.split(command) == ["evenhand", "before-after", "my model", "a folder", *asked]
    assert ("PAIRS" in command) == ("PAIRS is" in note)


def test_an_adapter_is_measured_by_itself_too() -> None:
    commands, _ = next_steps(made_of("race", lora_rank=8), Path("made"))
    assert [shlex.split(one)[3] for one in commands] == ["made", "made/adapter"]
