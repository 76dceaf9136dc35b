"""Every way in which a name can fail to become a model, and what the user is told."""

import json
import shutil
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from evenhand.models.huggingface import pretrained
from evenhand.models.loading import (
    as_language_model,
    check_model,
    find_architecture,
    load_model,
    load_tokenizer,
    tokenizer_fingerprint,
    weights_fingerprint,
)
from evenhand.schema import EvenhandError, ModelError, UsageError
from evenhand.weights import checkpoint


@pytest.fixture
def folder(tiny_folder, tmp_path):
    """A copy of a tiny model that a test may damage."""

    def copy(architecture: str = "gpt2", **overrides: Any) -> Path:
        target = tmp_path / architecture
        shutil.copytree(tiny_folder(architecture, **overrides), target)
        return target

    return copy


def edit_config(folder: Path, **values: Any) -> Path:
    config = json.loads((folder / "config.json").read_text())
    config.update(values)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def rewrite_weights(folder: Path, change: Any) -> Path:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("gpt2", "causal"),
        ("bloom", "causal"),
        ("mistral", "causal"),
        ("bert", "masked"),
        ("roberta", "masked"),
        ("fnet", "masked"),
        ("blenderbot", "encoder-decoder"),
        ("bart", "encoder-decoder"),
        ("t5", "encoder-decoder"),
    ],
)
def test_the_configuration_chooses_the_architecture(tiny_folder, architecture, kind, capfd):
    folder = str(tiny_folder(architecture))
    capfd.readouterr()
    model = load_model(folder, device="cpu")
    assert model.architecture == kind
    assert model.log_likelihoods(["I love old men."]).errors == [None]
    assert model.fingerprint["dtype"] == "float32"
    output = capfd.readouterr()
    assert output.out == "" and output.err == "", "only the command line prints"


def test_a_body_without_head_is_recognised_by_its_type_and_refused_by_its_weights(folder):
    from transformers import BertModel

    path = folder("bert")
    BertModel.from_pretrained(path).save_pretrained(path)
    with pytest.raises(ModelError, match="tensors of BertForMaskedLM are missing in the weights"):
        load_model(str(path), device="cpu")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (dict(model_type="bert", architectures=None), "masked"),
        (dict(model_type="bert", architectures=["BertModel"], is_decoder=True), "causal"),
        (dict(model_type="bert", architectures=["BertForPreTraining"]), "masked"),
        (dict(model_type="gpt2", architectures=["GPT2Model"]), "causal"),
        (dict(model_type="bart", architectures=["BartModel"], is_encoder_decoder=True), "encoder-decoder"),
        (dict(model_type="bart", architectures=["BartForConditionalGeneration"]), "encoder-decoder"),
        (
            dict(model_type="own", architectures=["OwnLM"], auto_map={"AutoModelForCausalLM": "own.OwnLM"}),
            "causal",
        ),
    ],
)
def test_architecture_of(config, expected):
    assert find_architecture(SimpleNamespace(**config), "name") == expected


@pytest.mark.parametrize(
    ("model_type", "saved_from"),
    [
        ("vit", "ViTForImageClassification"),
        ("bert", "BertForSequenceClassification"),
        ("electra", "ElectraForPreTraining"),
        ("whisper", "WhisperForConditionalGeneration"),
        ("clip", "CLIPModel"),
    ],
)
def test_what_is_no_language_model_is_refused(model_type, saved_from):
    config = SimpleNamespace(model_type=model_type, architectures=[saved_from])
    with pytest.raises(ModelError, match=f"not a text language model.*{saved_from}"):
        find_architecture(config, "name")


def test_speech_models_are_refused():
    config = SimpleNamespace(
        model_type="qwen2_audio", architectures=["Qwen2AudioForConditionalGeneration"], audio_config={}
    )
    with pytest.raises(ModelError, match="not a text language model"):
        find_architecture(config, "name")


def test_an_explicit_architecture_wins(folder):
    path = edit_config(folder("bert"), architectures=["BertForSequenceClassification"])
    with pytest.raises(ModelError, match=r"architecture='causal'|architecture='masked'"):
        load_model(str(path), device="cpu")
    assert load_model(str(path), device="cpu", architecture="masked").architecture == "masked"
    with pytest.raises(UsageError, match="Did you mean 'masked'"):
        load_model(str(path), architecture="mask")  # type: ignore[arg-type]


def test_missing_tensors_are_refused(folder):
    path = rewrite_weights(folder(), lambda w: w.pop("transformer.h.1.mlp.c_fc.weight"))
    with pytest.raises(
        ModelError, match=r"1 tensors of GPT2LMHeadModel.*transformer\.h\.1\.mlp\.c_fc\.weight\)"
    ):
        load_model(str(path), device="cpu")


@pytest.mark.parametrize(
    ("architecture", "fewer", "some"),
    [
        ("gpt2", {"n_layer": 1}, r"transformer\.h\.1\."),
        ("llama", {"num_hidden_layers": 1}, r"model\.layers\.1\."),
        ("bert", {"num_hidden_layers": 1}, r"bert\.encoder\.layer\.1\."),
        ("t5", {"num_decoder_layers": 1}, r"decoder\.block\.1\."),
    ],
)
def test_a_configuration_with_fewer_layers_than_the_weights(folder, architecture, fewer, some):
    path = edit_config(folder(architecture), **fewer)
    with pytest.raises(ModelError, match=rf"layers that are not in its config\.json \({some}"):
        load_model(str(path), device="cpu")


def test_a_configuration_that_leaves_out_parts_of_layers(folder):
    """Qwen2's attention has biases, Llama's has none: the weights load, and another model answers."""
    path = edit_config(folder("qwen2"), model_type="llama", architectures=["LlamaForCausalLM"])
    with pytest.raises(
        ModelError, match=r"layers that the model does not have \(model\.layers\.0\.self_attn"
    ):
        load_model(str(path), device="cpu")


def test_what_is_no_layer_may_be_left_over(folder):
    def add(weights: dict[str, Any]) -> None:
        some = weights["transformer.ln_f.weight"]
        weights |= {f"vision.layers.7.{part}": some.clone() for part in ("weight", "bias")}
        weights |= {"pooler.weight": some.clone(), "transformer.h.0.attn.masked_bias": some.clone()}
        weights["transformer.h.0.attn.rotary_emb.inv_freq"] = some.clone()

    path = rewrite_weights(folder(), add)
    assert load_model(str(path), device="cpu").log_likelihoods(["Hi."]).errors == [None]


def test_tied_heads_are_not_missing(tiny_folder):
    assert load_model(str(tiny_folder("gpt2")), device="cpu").log_likelihoods(["Hi."]).errors == [None]
    stored = checkpoint.stored_parameters(checkpoint.weight_files(tiny_folder("gpt2")))
    model = pretrained.load_pretrained(str(tiny_folder("gpt2")), "causal", device="cpu").model
    assert stored == {"F32": sum(p.numel() for p in model.parameters())}


def test_sizes_that_do_not_fit_the_configuration(folder):
    path = edit_config(folder(), n_positions=64)
    with pytest.raises(ModelError, match=r"do not fit its config.json"):
        load_model(str(path), device="cpu")


def test_folders_without_something(folder, tmp_path):
    path = folder()
    (path / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"contains no tokenizer: expected one of tokenizer.json") as caught:
        load_model(str(path), device="cpu")
    assert str(path) in caught.value.message and "save_pretrained" in str(caught.value.hint)
    assert caught.value.exit_code == 1
    (path / "model.safetensors").rename(path / "pytorch_model.bin")
    shutil.copy(path / "config.json", path / "vocab.txt")
    with pytest.raises(ModelError, match=r"can run code when they are opened: pytorch_model\.bin"):
        checkpoint.weight_files(path)
    (path / "pytorch_model.bin").unlink()
    with pytest.raises(ModelError, match="contains no weights"):
        checkpoint.weight_files(path)
    (path / "config.json").unlink()
    with pytest.raises(ModelError, match=r"contains no config\.json"):
        load_model(str(path), device="cpu")
    (path / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match="an adapter"):
        load_model(str(path), device="cpu")
    with pytest.raises(ModelError, match=r"model folder not found: .*nothing"):
        load_model(str(tmp_path / "nothing"), device="cpu")
    with pytest.raises(ModelError, match="it is a file"):
        load_model(str(path / "vocab.txt"), device="cpu")


def test_an_empty_vocabulary_is_refused(folder):
    # What transformers makes of a folder whose tokenizer files are there in name only.
    path = folder()
    tokenizer = json.loads((path / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"], tokenizer["model"]["merges"] = {"<|endoftext|>": 0}, []
    (path / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(ModelError, match="empty vocabulary"):
        load_tokenizer(path)


def test_a_tokenizer_of_another_model_is_refused(folder, tiny_tokenizer):
    path = folder("bert")
    tiny_tokenizer("roberta").save_pretrained(path)
    with pytest.raises(ModelError, match=r"token ids up to 3.., but the model knows only 131 tokens"):
        load_model(str(path), device="cpu")


def test_stored_truncation_is_switched_off(folder):
    path = folder("bert")
    tokenizer = json.loads((path / "tokenizer.json").read_text())
    tokenizer["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    (path / "tokenizer.json").write_text(json.dumps(tokenizer))
    cut = load_model(str(path), device="cpu").log_likelihoods(["I love old men."])
    assert cut.counts[0] > 2


def test_damaged_weights(folder):
    path = folder() / "model.safetensors"
    whole = path.read_bytes()
    for content, why in (
        (whole[:-100], "it is 100 bytes too short"),
        (whole[:50], "its header is incomplete"),
        (b"abc", "its header is incomplete"),
        (struct.pack("<Q", 8) + b"notjson!" + whole, "header cannot be read"),
    ):
        path.write_bytes(content)
        with pytest.raises(ModelError, match=why):
            load_model(str(path.parent), device="cpu")
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(ModelError, match="is only a Git LFS pointer to the weights"):
        load_model(str(path.parent), device="cpu")


def test_damaged_configuration(folder):
    path = folder()
    edit_config(path, n_embd=33)  # no multiple of the number of heads
    with pytest.raises(EvenhandError):
        load_model(str(path), device="cpu")
    (path / "config.json").write_text("{")
    with pytest.raises(ModelError, match="could not be opened"):
        load_model(str(path), device="cpu")
    (path / "config.json").write_text('{"model_type": "of-the-future"}')
    with pytest.raises(ModelError, match="The installed version of transformers does not support"):
        load_model(str(path), device="cpu")


def test_sharded_weights(folder, tiny_folder):
    path = folder()
    model = pretrained.load_pretrained(str(path), "causal", device="cpu").model
    (path / "model.safetensors").unlink()
    model.save_pretrained(path, max_shard_size="20KB")
    files = checkpoint.weight_files(path)
    assert len(files) > 1
    whole = tiny_folder("gpt2")
    assert checkpoint.stored_parameters(files) == checkpoint.stored_parameters(checkpoint.weight_files(whole))
    one, many = load_model(str(whole), device="cpu"), load_model(str(path), device="cpu")
    assert many.log_likelihoods(["I love old men."]).sums == one.log_likelihoods(["I love old men."]).sums
    files[0].unlink()
    with pytest.raises(ModelError, match="1 of them are missing: " + files[0].name):
        load_model(str(path), device="cpu")


def test_memory_is_checked_before_weights_are_read(folder, monkeypatch):
    path = folder()
    parameters = sum(checkpoint.stored_parameters([path / "model.safetensors"]).values())
    monkeypatch.setattr(pretrained, "available_memory", lambda _: 3 * parameters)
    monkeypatch.setattr(
        "transformers.AutoModelForCausalLM.from_pretrained", lambda *_, **__: pytest.fail("read")
    )
    with pytest.raises(ModelError, match=r"Not enough memory.*need about.*cpu has") as caught:
        load_model(str(path), device="cpu")
    assert "bfloat16 it needs" in str(caught.value.hint)
    monkeypatch.setattr(pretrained, "available_memory", lambda _: parameters)
    with pytest.raises(ModelError) as caught:
        load_model(str(path), device="cpu")
    assert "smaller model" in str(caught.value.hint)


def test_fingerprints_follow_content_not_place(folder, tmp_path):
    path = folder()
    first = load_model(str(path), device="cpu").fingerprint
    moved = path.rename(tmp_path / "elsewhere")
    assert load_model(str(moved), device="cpu").fingerprint == first
    edit_config(moved, transformers_version="9.9", dtype="float32")
    assert load_model(str(moved), device="cpu").fingerprint == first
    assert load_model(str(moved), device="cpu", dtype="bfloat16").fingerprint != first
    edit_config(moved, activation_function="relu")
    changed = weights_fingerprint(moved)
    assert changed != first["weights"]
    rewrite_weights(moved, lambda w: w["transformer.ln_f.bias"].add_(1e-3))
    assert weights_fingerprint(moved) != changed
    assert weights_fingerprint("gpt2", "607a30d") == "607a30d"
    with pytest.raises(ModelError, match="revision of 'gpt2' is not known"):
        weights_fingerprint("gpt2")


def test_tokenizer_fingerprints(tiny_folder, tiny_tokenizer):
    loaded = load_tokenizer(tiny_folder("bert"))
    assert tokenizer_fingerprint(loaded) == tokenizer_fingerprint(tiny_tokenizer("bert"))
    assert tokenizer_fingerprint(loaded) != tokenizer_fingerprint(tiny_tokenizer("roberta"))
    before = tokenizer_fingerprint(loaded)
    loaded.add_tokens(["neighbourly"])
    assert tokenizer_fingerprint(loaded) != before


def test_hub_names(monkeypatch):
    from huggingface_hub import errors

    with pytest.raises(ModelError, match=r"not in the local cache.*HF_HUB_OFFLINE is set"):
        load_model("someone/something")
    with pytest.raises(ModelError, match="is neither a local folder nor a valid Hugging Face name"):
        load_model("a/b/c/d")

    def hub_says(error: BaseException) -> Any:
        def raising(*_: Any, **__: Any) -> Any:
            raise OSError("transformers wraps what the hub said") from error

        monkeypatch.setattr("transformers.PreTrainedConfig.get_config_dict", raising)

    response = SimpleNamespace(headers={}, request=None, status_code=404)
    for kind, message in (
        (errors.GatedRepoError, "is gated"),
        (errors.RepositoryNotFoundError, "Cannot find the model 'gpt9'"),
        (errors.RevisionNotFoundError, "no revision 'v7'"),
    ):
        hub_says(kind("said", response=response))
        with pytest.raises(ModelError, match=message) as caught:
            load_model("gpt9", revision="v7")
        assert caught.value.hint and caught.value.exit_code == 1
    hub_says(errors.LocalEntryNotFoundError("no connection"))
    monkeypatch.setattr("evenhand.weights.hub.is_offline", lambda: False)
    with pytest.raises(ModelError, match="it is not in the local cache, and the Hugging Face Hub"):
        load_model("gpt9")


def test_a_hub_name_that_is_nearly_a_registered_one_is_guessed():
    for find in (load_model, check_model):
        with pytest.raises(ModelError, match=r"cannot be used .*\. Did you mean 'evenhand/reference'\?"):
            find("evenhnd/reference")
        for far in ("openai/reference", "someone/something", "gpt9"):
            with pytest.raises(ModelError) as refused:
                find(far)
            assert "Did you mean" not in str(refused.value)


def test_a_model_in_the_hub_cache(tiny_folder, tmp_path, monkeypatch):
    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "models--someone--tiny"
    snapshot = repository / "snapshots" / commit
    shutil.copytree(tiny_folder("bert"), snapshot)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    for module in (
        "huggingface_hub.constants",
        "huggingface_hub.file_download",
        "transformers.utils.hub.constants",
    ):
        monkeypatch.setattr(f"{module}.HF_HUB_CACHE", str(tmp_path), raising=False)
    model = load_model("someone/tiny", device="cpu")
    assert {"name": "someone/tiny", "revision": commit}.items() <= model.fingerprint.items()
    by_folder = load_model(str(tiny_folder("bert")), device="cpu")
    text = ["I love old men."]
    assert (model.log_likelihoods(text).log_probs == by_folder.log_likelihoods(text).log_probs).all()
    with pytest.raises(ModelError, match="not in the local cache"):
        load_model("someone/tiny", device="cpu", revision="another-branch")
    (snapshot / "model.safetensors").unlink()
    with pytest.raises(
        ModelError, match=r"Only the configuration of .* is in the local cache, not its weights"
    ):
        load_model("someone/tiny", device="cpu")
    # With a connection, the size is known before anything is fetched.
    monkeypatch.setattr(pretrained, "is_offline", lambda: False)
    monkeypatch.setattr(
        "huggingface_hub.HfApi.get_safetensors_metadata",
        lambda *_, **__: SimpleNamespace(parameter_count={"BF16": 10**15}),
    )
    with pytest.raises(ModelError, match="1,000,000,000,000,000 parameters in float32"):
        load_model("someone/tiny", device="cpu")

    def only_pickles(*_: Any, **__: Any) -> Any:
        from huggingface_hub.errors import NotASafetensorsRepoError

        raise NotASafetensorsRepoError("no such file")

    monkeypatch.setattr("huggingface_hub.HfApi.get_safetensors_metadata", only_pickles)
    with pytest.raises(ModelError, match="no safetensors weights"):
        load_model("someone/tiny", device="cpu")


def test_models_with_own_code_need_trust(folder):
    path = edit_config(
        folder(),
        model_type="own",
        architectures=["OwnLM"],
        auto_map={"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnLM"},
    )
    with pytest.raises(ModelError, match="contains its own Python code, which is not run without") as caught:
        load_model(str(path), device="cpu")
    assert "--trust-remote-code" in str(caught.value.hint)


def test_registered_models():
    assert load_model("puppet/uniform", device="cpu").fingerprint == {"name": "puppet/uniform"}
    with pytest.raises(UsageError, match="Did you mean 'evenhand/reference'"):
        load_model("evenhand/referense")
    with pytest.raises(UsageError, match="does not accept dtype") as caught:
        load_model("puppet/uniform", dtype="bfloat16")
    assert "It accepts: only its name." in str(caught.value.hint)


def test_options_of_another_architecture(tiny_folder):
    from evenhand.models.huggingface.causal import CausalOptions

    with pytest.raises(
        UsageError, match="The argument `options` must be of type MaskedOptions for this model, got"
    ):
        load_model(str(tiny_folder("bert")), device="cpu", options=CausalOptions())
    model = load_model(str(tiny_folder("gpt2")), device="cpu", options=CausalOptions(end=True))
    plain = load_model(str(tiny_folder("gpt2")), device="cpu")
    assert model.log_likelihoods(["Hi."]).counts[0] == plain.log_likelihoods(["Hi."]).counts[0] + 1


def test_models_in_memory(tiny_folder):
    loaded = pretrained.load_pretrained(str(tiny_folder("bert")), "masked", device="cpu")
    model = as_language_model(loaded.model, loaded.tokenizer, "masked", {"name": "mine"})
    assert model.fingerprint == {"name": "mine", "architecture": "masked"}


def test_16_bit_models_answer(tiny_folder, sentences):
    for architecture in ("bert", "t5"):
        exact = load_model(str(tiny_folder(architecture)), device="cpu").log_likelihoods(sentences)
        half = load_model(str(tiny_folder(architecture)), device="cpu", dtype="bfloat16").log_likelihoods(
            sentences
        )
        assert half.errors == exact.errors
        assert half.log_probs == pytest.approx(exact.log_probs, abs=0.5)
        assert (half.log_probs != exact.log_probs).any()


@pytest.mark.parametrize("sharded", [False, True])
def test_a_model_with_one_such_row_is_refused_with_the_tensor_and_its_file(tiny_folder, tmp_path, sharded):
    source = tiny_folder("gpt2")
    tensors = load_file(source / "model.safetensors")
    tensors["transformer.wte.weight"][40] = torch.nan
    for file in source.iterdir():
        if not file.name.startswith("model"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    name = "model-00001-of-00001.safetensors" if sharded else "model.safetensors"
    save_file(tensors, tmp_path / name, {"format": "pt"})
    if sharded:
        index = {"metadata": {}, "weight_map": dict.fromkeys(tensors, name)}
        (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(
        ModelError, match=r"32 values that are not a number .* transformer\.wte\.weight"
    ) as caught:
        load_model(str(tmp_path))
    assert name in caught.value.hint


class Half:
    """What a careless package registers as a model."""

    architecture = "causal"

    def describe(self) -> dict[str, Any]:
        return {}


def test_a_plug_in_that_is_not_a_language_model_names_what_it_lacks(installed):
    installed("careless", "evenhand.models", {"careless/half": "tests.models.test_loading:Half"})
    with pytest.raises(
        EvenhandError,
        match="a model of the package careless, is not a language model: Half has no `fingerprint`, `log_likelihoods`",
    ):
        load_model("careless/half")
