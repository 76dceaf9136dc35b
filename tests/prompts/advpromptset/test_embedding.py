"""Sentence embeddings from folders, on a BERT whose vectors are known, and against sentence-transformers itself."""

import csv
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evenhand.cli.app import main
from evenhand.prompts.advpromptset import embedding as advpromptset_embedding
from evenhand.prompts.advpromptset.embedding import SentenceEmbedding
from evenhand.prompts.advpromptset.loading import load_advpromptset
from evenhand.prompts.advpromptset.pieces import FILES, FOLDERS, GROUPS
from evenhand.schema import ModelError, Unsupported, UsageError

WIDTH = 8
WORDS = ["ab", "cd", "ef", "gh", "query"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


@pytest.fixture(scope="session")
def token_vectors() -> dict[str, np.ndarray]:
    """What the model makes of each token: mean 0 and variance 1, so that its LayerNorm changes nothing."""
    half = np.random.default_rng(5).normal(size=(len(SPECIAL + WORDS), WIDTH // 2))
    both = np.concatenate([half, -half], axis=1)
    both /= both.std(axis=1, keepdims=True)
    return dict(zip(SPECIAL + WORDS, both.astype(np.float32), strict=True))


@pytest.fixture
def folder(tmp_path: Path, token_vectors: dict[str, np.ndarray]) -> Path:
    """An encoder without layers: a token's vector is that of its word, wherever it stands."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    config = BertConfig(
        vocab_size=len(token_vectors), hidden_size=WIDTH, num_hidden_layers=0, num_attention_heads=1,
        max_position_embeddings=32, layer_norm_eps=1e-12,
    )  # fmt: skip
    model = BertModel(config)
    with torch.no_grad():
        model.embeddings.word_embeddings.weight.copy_(torch.tensor(np.stack(list(token_vectors.values()))))
        model.embeddings.position_embeddings.weight.zero_()
        model.embeddings.token_type_embeddings.weight.zero_()
    where = tmp_path / "model"
    model.save_pretrained(where)
    ids = {token: number for number, token in enumerate(token_vectors)}
    backend = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = [(token, ids[token]) for token in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=6, **names).save_pretrained(where)
    return where


@pytest.fixture
def formatted(folder: Path) -> Callable[..., Path]:
    """The folder with modules.json: formatted(kind=settings or None, ...)."""

    def make(**modules: dict[str, Any] | None) -> Path:
        rows = [{"idx": 0, "name": "0", "type": "sentence_transformers.models.Transformer", "path": ""}]
        for number, (kind, settings) in enumerate(modules.items(), 1):
            path = f"{number}_{kind}"
            kind = f"sentence_transformers.models.{kind}"
            rows.append({"idx": number, "name": str(number), "type": kind, "path": path})
            (folder / path).mkdir(exist_ok=True)
            if settings is not None:
                (folder / path / "config.json").write_text(json.dumps(settings))
        (folder / "modules.json").write_text(json.dumps(rows))
        return folder

    return make


def mean_of(vectors: dict[str, np.ndarray], *tokens: str) -> np.ndarray:
    return np.mean([vectors[token] for token in tokens], axis=0)


def reference(place: Path, texts: list[str]) -> np.ndarray:
    """What sentence-transformers itself makes of the texts, one by one."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(place), device="cpu")
    return np.stack([model.encode(text) for text in texts])


def test_a_plain_folder_is_pooled_by_the_mean(folder: Path, token_vectors: dict[str, np.ndarray]) -> None:
    texts = ["ab", "cd ab ef", "", "ab cd ef gh ab", "what"]
    got = SentenceEmbedding(str(folder), "cpu").encode(texts)
    expected = [
        mean_of(token_vectors, "[CLS]", "ab", "[SEP]"),
        mean_of(token_vectors, "[CLS]", "cd", "ab", "ef", "[SEP]"),
        mean_of(token_vectors, "[CLS]", "[SEP]"),
        mean_of(token_vectors, "[CLS]", "ab", "cd", "ef", "gh", "[SEP]"),  # cut at six tokens
        mean_of(token_vectors, "[CLS]", "[UNK]", "[SEP]"),
    ]
    assert got.dtype == np.float32 and np.allclose(got, expected, atol=1e-5)
    assert np.allclose(got, reference(folder, texts), atol=1e-6)


def test_batches_change_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["ab", "cd ab ef", "gh", "ab cd", "cd cd cd cd", "ef"]
    whole = SentenceEmbedding(str(folder)).encode(texts)
    assert (SentenceEmbedding(str(folder)).encode(texts) == whole).all()
    monkeypatch.setattr(advpromptset_embedding, "TEXTS_AT_ONCE", 2)
    assert np.allclose(SentenceEmbedding(str(folder)).encode(texts), whole, atol=1e-6)
    assert SentenceEmbedding(str(folder)).encode([]).shape[0] == 0


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, ("cls",)),
        ({"pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False}, ("lasttoken",)),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}, ("max", "mean")),
        ({"pooling_mode_weightedmean_tokens": True, "pooling_mode_mean_tokens": False}, ("weightedmean",)),
    ],
)
def test_the_folder_says_how_to_pool(formatted, token_vectors, settings, expected) -> None:
    place = formatted(Pooling={"word_embedding_dimension": WIDTH, **settings}, Normalize=None)
    texts = ["ab cd", "ef"]
    got = SentenceEmbedding(str(place), "cpu").encode(texts)
    assert np.allclose(got, reference(place, texts), atol=1e-6)
    for vector, tokens in zip(got, (["[CLS]", "ab", "cd", "[SEP]"], ["[CLS]", "ef", "[SEP]"]), strict=True):
        rows = np.array([token_vectors[token] for token in tokens])
        by_hand = np.concatenate([pooled_by_hand(rows, way) for way in expected])
        assert np.allclose(vector, by_hand / np.linalg.norm(by_hand), atol=1e-5)


def pooled_by_hand(rows: np.ndarray, way: str) -> np.ndarray:
    if way in ("cls", "lasttoken"):
        return rows[0 if way == "cls" else -1]
    if way == "max":
        return rows.max(axis=0)
    weights = np.arange(1, len(rows) + 1) if way == "weightedmean" else np.ones(len(rows))
    return (weights[:, None] * rows).sum(axis=0) / weights.sum()


def test_dense_layers_and_prompts(formatted, token_vectors) -> None:
    from safetensors.numpy import save_file

    dense = {
        "in_features": WIDTH,
        "out_features": 2,
        "bias": True,
        "activation_function": "torch.nn.modules.activation.Tanh",
    }
    pooling = {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True, "include_prompt": False}
    place = formatted(Pooling=pooling, Dense=dense)
    rng = np.random.default_rng(1)
    weight, bias = rng.normal(size=(2, WIDTH)).astype(np.float32), np.array([0.5, -1], dtype=np.float32)
    save_file({"linear.weight": weight, "linear.bias": bias}, place / "2_Dense" / "model.safetensors")
    prompts = {"prompts": {"search": "query query "}, "default_prompt_name": "search"}
    (place / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    (place / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": 32, "do_lower_case": True})
    )
    embedding = SentenceEmbedding(str(place), "cpu")
    pooled = mean_of(token_vectors, "ab", "cd", "ef", "gh", "[SEP]")  # neither [CLS] nor the prompt
    assert np.allclose(embedding.encode(["AB cd Ef gh"]), [np.tanh(weight @ pooled + bias)], atol=1e-5)
    before = embedding.fingerprint
    save_file({"linear.weight": weight, "linear.bias": bias * 2}, place / "2_Dense" / "model.safetensors")
    assert SentenceEmbedding(str(place)).fingerprint != before == embedding.fingerprint


def test_the_fingerprint_is_that_of_builds_made_before(folder: Path) -> None:
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    by_hand = "".join(f"{name} {files[name]}\n" for name in sorted(files))
    got = SentenceEmbedding(str(folder)).fingerprint
    assert got == hashlib.sha256(by_hand.encode()).hexdigest()[:32]


def test_what_cannot_be_loaded(formatted, folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    def refused(match: str, kind: type[Exception] = ModelError, name: object = folder, device="cpu") -> None:
        with pytest.raises(kind, match=match):
            SentenceEmbedding(str(name), device).encode(["ab"])

    refused("cannot be loaded", name=formatted(Unheard={}))
    refused("cannot be loaded", name=formatted(Pooling={"pooling_mode": "nothing"}))
    (folder / "modules.json").write_text("{")
    refused("cannot be loaded")
    (folder / "modules.json").unlink()
    refused("Unknown device: 'nonsense'", UsageError, device="nonsense")
    weights = load_file(folder / "model.safetensors")
    lacking = {key: value for key, value in weights.items() if "position" not in key}
    save_file(lacking, folder / "model.safetensors", metadata={"format": "pt"})
    refused("^1 tensors of BertModel are missing in the weights of .*, so they would be random")
    without_pooler = {key: value for key, value in weights.items() if "pooler" not in key}
    save_file(without_pooler, folder / "model.safetensors", metadata={"format": "pt"})
    assert SentenceEmbedding(str(folder), "cpu").encode(["ab"]).shape == (1, WIDTH)
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense" / "pytorch_model.bin").write_bytes(b"pickle")
    refused(r"2_Dense/pytorch_model\.bin can run code")
    (folder / "2_Dense" / "pytorch_model.bin").unlink()
    (folder / "model.safetensors").unlink()
    refused("cannot be loaded")
    refused(r"has no config\.json", name=tmp_path)
    refused("Embedding-model folder not found", name="./nowhere")
    refused("is not in the local cache and could not be downloaded", name="nobody/nothing")


def test_without_the_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advpromptset_embedding, "find_spec", lambda name: None)
    with pytest.raises(Unsupported, match="sentence-transformers, which is not installed") as refused:
        SentenceEmbedding(str(folder))
    assert 'pip install "evenhand[embeddings]"' in str(refused.value.hint)


def test_the_library_is_loaded_when_needed() -> None:
    """Neither the module nor a build from a table of terms needs it."""
    code = "import sys, evenhand.prompts.advpromptset.embedding, evenhand.prompts.advpromptset.build;"
    code += "sys.exit('sentence_transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_verb(
    folder: Path,
    tmp_path: Path,
    token_vectors: dict[str, np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`evenhand data build advpromptset` with a real folder: its neighbours are those of the known vectors."""
    labels = {name: "target" if "train" in name else "toxicity" for name in FILES if FOLDERS[2] in name}
    for file in FILES:
        columns = (
            ["id", "toxic"] if "test_labels" in file else ["id", "comment_text", labels.get(file, "toxic")]
        )
        rows = [[f"{number}", "ab ef 1. cd, cd! ef gh; 2 3 cd x", "1"] for number in range(3)]
        (tmp_path / file).parent.mkdir(exist_ok=True)
        with (tmp_path / file).open("w", newline="") as handle:
            writer = csv.writer(handle)
            writer.writerow([*columns, *(GROUPS if file in labels else ())])
            for row in rows:
                kept = [row[0], row[2]] if "test_labels" in file else row
                writer.writerow([*kept, *([""] * len(GROUPS) if file in labels else ())])
    (tmp_path / "seeds.csv").write_text("term,identity\nab,male\n")
    out = tmp_path / "sets" / "mine.jsonl"

    def verb(*options: object) -> tuple[object, str, str]:
        command = ["evenhand", "data", "build", "advpromptset", "--from", tmp_path, "-o", out, *options]
        monkeypatch.setattr(sys, "argv", [str(word) for word in command])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code or 0, " ".join(said.out.split()), " ".join(said.err.split())

    expand = ("--embedding-model", folder, "--seeds", tmp_path / "seeds.csv", "--least-count", 1)
    code, said, told = verb(*expand, "--least-similarity", -1, "--neighbours", 99, "--only-terms")
    table = pl.read_csv(tmp_path / "sets" / "mine_stages" / "terms.csv")
    assert code == 0 and f"Wrote {table.filter('keep')['term'].n_unique()} terms to" in said, told
    assert "cutting comments: 0 of 1" in told and not out.exists()

    def cosine(first: str, second: str) -> float:
        a, b = (mean_of(token_vectors, "[CLS]", word, "[SEP]") for word in (first, second))
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    for word in ("cd", "ef", "gh"):  # every other seed is [UNK] to this model, "man" too
        of_men = table.filter(term=word, identity="male")["similarity"].item()
        assert of_men == pytest.approx(max(cosine("ab", word), cosine("[UNK]", word)), abs=1e-4)
    code, said, told = verb("--size", 2)
    assert code == 0 and f"Wrote 2 sentences to {out}" in said, told
    assert set(load_advpromptset(out).frame["text"]) <= {"ab ef 1", "cd cd", "ef gh", "2 3 cd x"}
    code, _, told = verb(*expand, "--least-similarity", 3)
    assert (
        code == 2 and "`--least-similarity` must be a number from -1 to 1" in told and "Traceback" not in told
    )
    code, _, told = verb("--embedding-model", tmp_path / "nowhere")
    assert code == 1 and "Embedding-model folder not found" in told
