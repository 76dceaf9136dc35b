"""Checkpoints: which files are read, and the fingerprints that stored runs were made with."""

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from evenhand.schema import ModelError
from evenhand.weights.checkpoint import (
    INDEX,
    ONE_FILE,
    PICKLED,
    VOLATILE_SETTINGS,
    find_checkpoint,
    folder_fingerprint,
    load_config,
    weight_files,
)
from evenhand.weights.tokenizer import check_token_ids, check_tokenizer, tokenizer_fingerprint

CONFIG = {"model_type": "bert", "hidden_size": 8}
SAVED_AS = {
    "transformers_version": "5.0", "_name_or_path": "x", "torch_dtype": "float32", "dtype": "float32",
    "_commit_hash": "abc",
}  # fmt: skip


def index(*names: str) -> bytes:
    return json.dumps(
        {"weight_map": {f"tensor {number}": name for number, name in enumerate(names)}}
    ).encode()


FOLDERS = {
    "one": {ONE_FILE: b"weights"},
    "many": {INDEX: index("b.safetensors", "a.safetensors"), "a.safetensors": b"a", "b.safetensors": b"bb"},
    "pickled": {PICKLED[0]: b"pickle"},
    "pickles": {PICKLED[1]: index("b.bin", "a.bin"), "a.bin": b"a", "b.bin": b"bb"},
}
# Made by commit 678b6a2 of the same folders, when models and classifiers had a loader each. Stored responses and
# labels are found by them.
OF_MODELS = {
    "one": "260487b4b8d867bec36736089e7a3073f7d7febaa340e90f9502bfbc98166521",
    "many": "4d53866d4920f325f6b0d6bcc49a5983c7b6c5b0d166e9e4e7a0c6e56ee9a5f7",
}
OF_CLASSIFIERS = {
    "one": "3d1e8bad07dda5a962d8978e073edff78715f371f9719b39f2f17ab9c50423eb",
    "many": "3f4226f3ac7599b3f016bfccd40a8dc8d17e020e93dd1e6788806d6676d598f4",
    "pickled": "90e56827c1be46c42e481a964b382ace2847c02d304282e15ccced84ed6c1e4e",
    "pickles": "118a95d5a2e2fa4b26cf74c2e2794543047659dd1aaa2b83c0e59925d2203edb",
}


@pytest.fixture
def folder(tmp_path: Path):
    def make(name: str) -> Path:
        for file, content in {**FOLDERS[name], "config.json": json.dumps(CONFIG | SAVED_AS).encode()}.items():
            (tmp_path / file).write_bytes(content)
        return tmp_path

    return make


@pytest.mark.parametrize("name", FOLDERS)
def test_stored_runs_are_found_by_the_same_fingerprints(folder, name):
    made = folder(name)
    assert folder_fingerprint(made, pickles=True, sizes=False) == OF_CLASSIFIERS[name]
    if name in OF_MODELS:
        assert folder_fingerprint(made) == OF_MODELS[name]
    else:
        with pytest.raises(ModelError, match=r"can run code when they are opened|contains no weights"):
            folder_fingerprint(made)


def test_a_fingerprint_by_hand(folder):
    content = hashlib.sha256(b"weights").hexdigest()
    settings = json.dumps(CONFIG, sort_keys=True)
    assert set(SAVED_AS) == set(VOLATILE_SETTINGS)
    by_hand = hashlib.sha256(f"{ONE_FILE} 7 {content}\n{settings}".encode()).hexdigest()
    assert folder_fingerprint(folder("one")) == by_hand


def test_safetensors_are_preferred_and_pickles_need_leave(folder):
    made = folder("pickles")
    assert [path.name for path in weight_files(made, pickles=True)] == ["a.bin", "b.bin"]
    folder("pickled")
    assert [path.name for path in weight_files(made, pickles=True)] == [PICKLED[0]]
    with pytest.raises(ModelError, match="can run code when they are opened") as refused:
        weight_files(made)
    assert "save_pretrained" in str(refused.value.hint)
    for name, files in (("many", ["a.safetensors", "b.safetensors"]), ("one", [ONE_FILE])):
        folder(name)
        for pickles in (False, True):
            assert [path.name for path in weight_files(made, pickles=pickles)] == files


def test_an_index_whose_parts_are_missing(folder):
    made = folder("pickles")
    (made / "a.bin").unlink()
    with pytest.raises(ModelError, match=r"lists 2 weight files, but 1 of them are missing: a\.bin"):
        weight_files(made, pickles=True)


@pytest.mark.parametrize(
    ("content", "told"),
    [("[]", "contains no JSON object"), ('"x"', "contains no JSON object"), ("null", "contains no JSON object"),
     ('{"weight_map": ["a"]}', "is not a valid index"), ('{"weight_map": {"a": 1}}', "is not a valid index"),
     ('{"weight_map": {"a": ["b"]}}', "is not a valid index"), ('{"weight_map": null}', "is not a valid index"),
     ('{"weight_map": {"a": "x\\u0000"}}', "is not a valid index"),
     ('{"weight_map": {"a": "../b.safetensors"}}', "outside of its folder"),
     ('{"weight_map": {"a": "/etc/passwd"}}', "outside of its folder")],
)  # fmt: skip
def test_an_index_that_is_none(tmp_path, content, told):
    (tmp_path / INDEX).write_text(content)
    with pytest.raises(ModelError, match=told):
        weight_files(tmp_path)


@pytest.mark.parametrize("kind", ["model", "classifier"])
def test_messages_name_what_was_asked_for(tmp_path, kind):
    with pytest.raises(ModelError, match=f"{kind} folder not found"):
        find_checkpoint(str(tmp_path / "nowhere"), kind=kind)
    with pytest.raises(
        ModelError, match=rf"no config\.json, so it is not a Hugging Face {kind}\."
    ) as refused:
        load_config(str(tmp_path), kind=kind, advice="Copy it here.")
    assert refused.value.hint == "Found: nothing. Copy it here."


class Slow:
    """A tokenizer without a backend: words and ids, no offsets."""

    special_tokens_map = {"unk_token": "?"}
    all_special_tokens = ["?"]

    def get_vocab(self):
        return {"?": 0, "b": 2, "a": 1, "added": 9}

    def get_added_vocab(self):
        return {"added": 9}


def test_tokenizers_without_a_backend():
    with pytest.raises(ModelError, match=r"The tokenizer of x \(Slow\) does not report which characters a"):
        check_tokenizer(Slow(), "x")
    check_tokenizer(Slow(), "x", offsets=False)
    check_token_ids(Slow(), 3, "x")
    with pytest.raises(ModelError, match="token ids up to 2, but the model knows only 2 tokens"):
        check_token_ids(Slow(), 2, "x")
    words = '[["?", 0], ["a", 1], ["added", 9], ["b", 2]]'
    assert (
        tokenizer_fingerprint(Slow()) == hashlib.sha256(f"{words}[('unk_token', '?')]".encode()).hexdigest()
    )


def test_a_backend_is_fingerprinted_as_it_writes_itself():
    fast = SimpleNamespace(
        backend_tokenizer=SimpleNamespace(to_str=lambda: "{}"), special_tokens_map={"b": 1, "a": "x"}
    )
    assert tokenizer_fingerprint(fast) == hashlib.sha256(b"{}[('a', 'x'), ('b', '1')]").hexdigest()


def test_what_transformers_would_load_beside_the_hashed_weights_is_refused(folder):
    """An adapter is added where peft is installed, and config.json may name another file: one fingerprint of two."""
    made = folder("one")
    fingerprint = folder_fingerprint(made)
    (made / "other.safetensors").write_bytes(b"others")
    with pytest.raises(
        ModelError, match=r"refers to other weights: transformers_weights is 'other\.safetensors'"
    ):
        find_checkpoint(str(made), config=SimpleNamespace(transformers_weights="other.safetensors"))
    (made / "adapter_config.json").write_text("{}")
    (made / "adapter_model.safetensors").write_bytes(b"change")
    assert folder_fingerprint(made) == fingerprint
    with pytest.raises(ModelError, match="contains a full model and an adapter") as caught:
        find_checkpoint(str(made), config=SimpleNamespace())
    assert "merge_and_unload" in caught.value.hint


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
def test_config_cannot_choose_the_attention_implementation(key: str, tmp_path: Path) -> None:
    nested = {
        "model_type": "clip",
        "text_config": {key: "evil/kernel"},
        "vision_config": {key: "evil/kernel"},
    }
    for config in (CONFIG | {key: "evil/kernel"}, nested | {key: "evil/kernel"}):
        (tmp_path / "config.json").write_text(json.dumps(config))
        loaded = load_config(str(tmp_path))
        for one in (loaded, *(getattr(loaded, name) for name in loaded.sub_configs)):
            assert one._attn_implementation is None
