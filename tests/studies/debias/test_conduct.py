"""A training from options to folder: in what precision it is stored, and what is said of texts it did nothing about."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from evenhand.mitigations import load_mitigation
from evenhand.models import load_model
from evenhand.models.dialogue import dialogue_model
from evenhand.models.huggingface import EncoderDecoderModel
from evenhand.reference.talkers import load_planted
from evenhand.schema import ModelError, Unsupported
from evenhand.studies.debias import debias
from evenhand.studies.debias.conduct import trainable
from evenhand.studies.debias.wording import cautions
from tests.helpers.planted_chats import planted_chats, written
from tests.helpers.terms import HEARING
from tests.models.conftest import build_model

FAST = {"method": "cda", "epochs": 1, "learning_rate": 2e-3, "device": "cpu"}


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Any]:
    """Terms and texts of one's own, one in four without a term; and a base that is stored in bfloat16."""
    (tmp_path / "terms.toml").write_text(HEARING)
    (tmp_path / "texts.txt").write_text(
        "".join(f"Number {i}: {'nobody' if i % 4 == 0 else 'a Deaf woman'} was rude.\n" for i in range(60))
    )
    base = load_model("evenhand/reference", device="cpu", dtype="bfloat16")
    base.model.save_pretrained(tmp_path / "base")  # type: ignore[attr-defined]
    base.tokenizer.save_pretrained(tmp_path / "base")  # type: ignore[attr-defined]
    return {"specification": tmp_path / "terms.toml", "data": tmp_path / "texts.txt", **FAST}


def test_a_model_without_weights_is_told_so() -> None:
    with pytest.raises(Unsupported, match="conversing-planted: it has no weights"):
        trainable(load_planted(), "self-chat")


@pytest.mark.parametrize(("package", "more"), [("accelerate", {}), ("peft", {"lora_rank": 2})])
@pytest.mark.parametrize("method", ["cda", "self-chat"])
def test_a_missing_package_is_told_before_anything_is_read_or_written(
    method: str, package: str, more: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"bias": "race"} if method == "cda" else {"data": tmp_path / "nowhere"}
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelError, match=f"requires the package {package}") as error:
        debias("no/such-model", method=method, output=tmp_path / "made", **given, **more)
    assert "evenhand[training]" in str(error.value.hint)
    assert not (tmp_path / "made").exists()


def test_a_folder_is_stored_as_its_base_is_and_tells_what_was_left_as_it_was(
    given: Any, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM

    made = debias(str(tmp_path / "base"), output=tmp_path / "made", **given)
    assert made.lineage["stored_as"] == "bfloat16"
    base, after = (load_file(tmp_path / one / "model.safetensors") for one in ("base", "made"))
    assert {one.dtype for one in after.values()} == {torch.bfloat16} == {one.dtype for one in base.values()}
    assert any(not torch.equal(after[name], base[name]) for name in base)
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "made").dtype == torch.bfloat16
    facts = made.lineage["data"]
    without = facts["texts"] - facts["counterfactuals"]
    assert without == facts["texts_without_counterfactual"] > 3
    [told] = [one for one in cautions(made.lineage) if "contain no word that could be replaced" in one]
    assert (
        told.startswith(f"{without} of 54 texts") and "contain no word that could be replaced" in made.html()
    )
    whole = debias(str(tmp_path / "base"), output=tmp_path / "whole", save_dtype="float32", **given)
    kept = load_file(tmp_path / "whole" / "model.safetensors")
    assert {one.dtype for one in kept.values()} == {torch.float32} and whole.lineage["stored_as"] == "float32"
    assert all(torch.equal(kept[name].bfloat16(), after[name]) for name in kept)
    assert made.lineage["watched"]["after"] != whole.lineage["watched"]["after"]  # rounded, as it is stored


@pytest.mark.parametrize(
    ("method", "told"), [({"weight": 1.0}, "the weight of the term or the"), ({}, "the")]
)
def test_what_to_lower_is_something_the_method_has(method: dict[str, Any], told: str) -> None:
    watched = {"before": {"bias": 1.0, "perplexity": 10.0}, "after": {"bias": 0.5, "perplexity": 11.0}}
    known = {"name": "cda", "critique": "Little.", **method}
    said = cautions({"watched": watched, "method": known, "bias": "race", "data": {}, "steps": 9})
    assert f"It reads neutral texts worse than before; lower {told} learning rate." in said


def test_methods_of_causal_models_refuse_others() -> None:
    blenderbot = encoder_decoder()
    for method in ("cda", "lmd", "add", "hd", "dpo", "inlp", "sentence-debias"):
        with pytest.raises(Unsupported, match=rf"{method} cannot train .*: its loss is defined for causal"):
            trainable(blenderbot, method)


def test_a_blenderbot_is_trained_on_self_chats_and_stands_beside_its_base(tmp_path: Path) -> None:
    base = encoder_decoder()
    base.model.save_pretrained(tmp_path / "base")
    base.tokenizer.save_pretrained(tmp_path / "base")
    made = debias(
        str(tmp_path / "base"),
        method="unlikelihood-sequence?max_new_tokens=4",
        data=written(tmp_path, planted_chats(1)),
        output=tmp_path / "made",
        learning_rate=1e-2,
        epochs=1,
        device="cpu",
    )
    assert made.lineage["base"]["architecture"] == "encoder-decoder"
    assert made.lineage["watched"]["after"]["perplexity"] < made.lineage["watched"]["before"]["perplexity"]
    before = load_model(str(tmp_path / "base"), device="cpu")
    after = load_mitigation(f"finetuned={tmp_path / 'made'}")(before)
    assert abs(after.log_likelihoods(["Hi."]).sums[0] - before.log_likelihoods(["Hi."]).sums[0]) > 0.1
    assert dialogue_model(load_model(str(tmp_path / "made"), device="cpu")).facts["format"] == "blenderbot"


def encoder_decoder() -> EncoderDecoderModel:
    """A random BlenderBot."""
    return EncoderDecoderModel(*build_model("blenderbot"), {"name": "tiny"})
