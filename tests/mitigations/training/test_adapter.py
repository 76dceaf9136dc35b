"""Adapters and trained folders as mitigations: they change what they say they change, and traps are refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from evenhand.mitigations import Prefix, load_mitigation
from evenhand.mitigations.training import TrainingOptions, prepare_to_save, prepared_model, write_model
from evenhand.models import Decoding, load_model
from evenhand.models.puppets import load_puppet
from evenhand.reference.embedded import WEIGHTS
from evenhand.schema import ModelError, Unsupported, UsageError
from tests.models.conftest import build_model

TEXTS = ["I admire Deaf women.", "Yesterday I talked with an old man."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `evenhand debias --lora-rank 2` writes it, of adapters with random B."""
    folder: Path = tmp_path_factory.mktemp("trained")
    base = load_model("evenhand/reference", device="cpu", dtype="float32")
    model = prepared_model(base.model, TrainingOptions(lora_rank=2))
    torch.manual_seed(0)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter.data, std=0.5)
    write_model(
        prepare_to_save(model, folder),
        base.tokenizer,
        folder,
        {"base": {"name": "evenhand/reference", **base.fingerprint}, "method": {}, "data": {}},
        "# Mine\n",
    )
    return folder


@pytest.fixture
def base() -> Any:
    return load_model("evenhand/reference", device="cpu", dtype="float32")


def sums(model: Any) -> np.ndarray:
    return model.log_likelihoods(TEXTS).sums


def test_an_adapter_and_its_merged_folder_say_the_same(base: Any, folder: Path) -> None:
    before = sums(base)
    adapted = load_mitigation(f"adapter={folder / 'adapter'}")(base)
    whole = load_mitigation(f"finetuned={folder}")(base)
    assert np.abs(sums(adapted) - before).min() > 0.02
    np.testing.assert_allclose(sums(adapted), sums(whole), atol=1e-3)
    np.testing.assert_allclose(sums(whole), sums(load_model(str(folder), device="cpu")), atol=1e-6)
    np.testing.assert_array_equal(sums(base), before)  # the base itself is as it was
    greedy = Decoding(max_new_tokens=5, temperature=None)
    assert adapted.generate(["I met"], greedy).texts == whole.generate(["I met"], greedy).texts
    step = adapted.fingerprint["mitigations"][0]
    assert step["lineage"]["base"]["name"] == "evenhand/reference" and len(step["weights"]) == 64


def test_an_encoder_and_a_decoder_are_written_and_answer_as_a_folder_and_as_an_adapter(
    tmp_path: Path,
) -> None:
    plain, tokenizer = build_model("blenderbot")
    plain.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    base, again = (load_model(str(tmp_path / "base"), device="cpu", dtype="float32") for _ in range(2))
    model = prepared_model(again.model, TrainingOptions(lora_rank=2))
    torch.manual_seed(0)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter.data, std=0.5)
    lineage = {"base": {"name": "base", **base.fingerprint}, "method": {}, "data": {}}
    write_model(prepare_to_save(model, tmp_path / "made"), tokenizer, tmp_path / "made", lineage, "# Mine\n")
    adapted = load_mitigation(f"adapter={tmp_path / 'made' / 'adapter'}")(base)
    whole = load_mitigation(f"finetuned={tmp_path / 'made'}")(base)
    assert np.abs(sums(adapted) - sums(base)).min() > 0.02
    np.testing.assert_allclose(sums(adapted), sums(whole), atol=1e-3)
    np.testing.assert_allclose(sums(whole), sums(load_model(str(tmp_path / "made"), device="cpu")), atol=1e-6)
    greedy = Decoding(max_new_tokens=5, temperature=None)
    assert adapted.generate(["Hi."], greedy).texts == whole.generate(["Hi."], greedy).texts
    with pytest.raises(ModelError, match="As a mitigation, it would be the base model under"):
        load_mitigation(f"finetuned={tmp_path / 'base'}")(base)


def test_the_layers_of_an_adapter_are_listed_in_order(folder: Path) -> None:
    listed = json.loads((folder / "adapter" / "adapter_config.json").read_text())["target_modules"]
    assert listed == sorted(listed) and len(listed) > 2  # peft keeps a set, in an order of each process


def with_weights(folder: Path, target: Path, change: Any) -> Path:
    shutil.copytree(folder / "adapter", target)
    tensors = load_file(target / "adapter_model.safetensors")
    save_file(
        {name: change(name, tensor) for name, tensor in tensors.items()}, target / "adapter_model.safetensors"
    )
    return target


def test_an_adapter_that_changes_nothing_is_refused(base: Any, folder: Path, tmp_path: Path) -> None:
    zero = with_weights(
        folder, tmp_path / "b", lambda name, t: torch.zeros_like(t) if "lora_B" in name else t
    )
    with pytest.raises(ModelError, match="has no effect: all its B matrices are zero"):
        load_mitigation(f"adapter={zero}")(base)
    other = with_weights(
        folder, tmp_path / "a", lambda name, t: torch.zeros_like(t) if "lora_A" in name else t
    )
    with pytest.raises(ModelError, match="has no effect: it does not change the outputs of the model"):
        load_mitigation(f"adapter={other}")(base)


def test_a_folder_that_holds_the_model_itself_is_refused(base: Any, tmp_path: Path) -> None:
    write_model(base.model, base.tokenizer, tmp_path / "same", {"base": {}, "method": {}, "data": {}}, "")
    with pytest.raises(
        ModelError, match="has no effect: its weights are identical to those of the original model"
    ):
        load_mitigation(f"finetuned={tmp_path / 'same'}")(base)


def test_what_belongs_to_another_base_is_refused(base: Any, folder: Path, tmp_path: Path) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    small = GPT2Config(vocab_size=5120, n_embd=16, n_layer=1, n_head=1, n_positions=64)
    write_model(
        GPT2LMHeadModel(small), base.tokenizer, tmp_path / "other", {"base": {}, "method": {}, "data": {}}, ""
    )
    other = load_model(str(tmp_path / "other"), device="cpu")
    for words in (f"adapter={folder / 'adapter'}", f"finetuned={folder}"):
        with pytest.raises(ModelError, match=r"was trained from evenhand/reference.*other weights") as told:
            load_mitigation(words)(other)
        assert str(tmp_path / "other") in str(told.value)
    shutil.copytree(folder / "adapter", tmp_path / "alone")
    (tmp_path / "alone" / "lineage.json").unlink()
    with pytest.raises(ModelError, match=r"trained on .+, does not fit .+: ") as told:
        load_mitigation(f"adapter={tmp_path / 'alone'}")(other)
    assert str(tmp_path / "other") in str(told.value)


def test_what_is_no_adapter_is_refused(base: Any, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is not an adapter folder: it has no adapter_config\.json"):
        load_mitigation(f"adapter={WEIGHTS}")
    with pytest.raises(UsageError, match=r"is not a model folder: it has no config\.json"):
        load_mitigation(f"finetuned={tmp_path}")
    shutil.copytree(folder / "adapter", tmp_path / "pickled")
    (tmp_path / "pickled" / "adapter_model.safetensors").rename(tmp_path / "pickled" / "adapter_model.bin")
    with pytest.raises(
        ModelError, match=r"is pickled \(adapter_model\.bin\), and pickled files can run code"
    ):
        load_mitigation(f"adapter={tmp_path / 'pickled'}")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("[]", "it is not a JSON object"),
        ({"peft_type": "XLORA"}, 'its peft_type is "XLORA", but only LORA is supported'),
        ({"r": 10**9}, r"its rank is 1,000,000,000, but its tensors have at most \d"),
        ({"r": 3}, "does not fit "),
    ],
)
def test_settings_of_a_stranger_are_refused(
    base: Any, folder: Path, tmp_path: Path, settings: Any, told: str
) -> None:
    shutil.copytree(folder / "adapter", tmp_path / "strange")
    config = tmp_path / "strange" / "adapter_config.json"
    whole = json.loads(config.read_text())
    config.write_text(settings if isinstance(settings, str) else json.dumps({**whole, **settings}))
    with pytest.raises(ModelError, match=told):
        load_mitigation(f"adapter={tmp_path / 'strange'}")(base)


def test_weights_that_are_no_numbers_are_refused(base: Any, folder: Path, tmp_path: Path) -> None:
    spoilt = with_weights(folder, tmp_path / "nan", lambda name, tensor: tensor * float("nan"))
    with pytest.raises(ModelError, match=r"NaN or infinity\) in the tensor .*lora_A"):
        load_mitigation(f"adapter={spoilt}")(base)


def test_another_scale_is_another_adapter(base: Any, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "adapter", tmp_path / "louder")
    config = tmp_path / "louder" / "adapter_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "lora_alpha": 1}))
    known = [load_mitigation(f"adapter={one}").parameters()["weights"] for one in
             (folder / "adapter", tmp_path / "louder")]  # fmt: skip
    assert known[0] != known[1]


def test_models_that_take_none_are_told_what_works(base: Any, folder: Path) -> None:
    mitigation = load_mitigation(f"finetuned={folder}")
    with pytest.raises(Unsupported, match="replaces the weights of a causal or encoder-decoder"):
        mitigation(load_puppet("random"))
    with pytest.raises(Unsupported, match="but prefix was applied before it") as error:
        mitigation(Prefix("Be kind.")(base))
    assert "Apply finetuned first" in str(error.value)
