"""Sentence embeddings from folders of the sentence-transformers format, on a BERT whose vectors are known."""

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evenhand.cli.app import main
from evenhand.prompts.advpromptset import FILES, FOLDERS, GROUPS
from evenhand.prompts.advpromptset_embedding import SentenceEmbedding
from evenhand.prompts.advpromptset_loading import load_advpromptset
from evenhand.prompts.advpromptset_modules import POOLINGS, pool, read_modules
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
        rows = [{"type": "sentence_transformers.models.Transformer", "path": ""}]
        for number, (kind, settings) in enumerate(modules.items(), 1):
            path = f"{number}_{kind}"
            rows.append({"type": f"sentence_transformers.models.{kind}", "path": path})
            (folder / path).mkdir(exist_ok=True)
            if settings is not None:
                (folder / path / "config.json").write_text(json.dumps(settings))
        (folder / "modules.json").write_text(json.dumps(rows))
        return folder

    return make


def mean_of(vectors: dict[str, np.ndarray], *tokens: str) -> np.ndarray:
    return np.mean([vectors[token] for token in tokens], axis=0)


def test_a_plain_folder_is_pooled_by_the_mean(folder: Path, token_vectors: dict[str, np.ndarray]) -> None:
    told: list[tuple[int, int]] = []
    got = SentenceEmbedding(str(folder), "cpu").encode(
        ["ab", "cd ab ef", "", "ab cd ef gh ab", "what"], lambda *done: told.append(done)
    )
    expected = [
        mean_of(token_vectors, "[CLS]", "ab", "[SEP]"),
        mean_of(token_vectors, "[CLS]", "cd", "ab", "ef", "[SEP]"),
        mean_of(token_vectors, "[CLS]", "[SEP]"),
        mean_of(token_vectors, "[CLS]", "ab", "cd", "ef", "gh", "[SEP]"),  # cut at six tokens
        mean_of(token_vectors, "[CLS]", "[UNK]", "[SEP]"),
    ]
    assert got.dtype == np.float32 and np.allclose(got, expected, atol=1e-5)
    assert told == [(5, 5)]


def test_batches_change_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evenhand.prompts import advpromptset_embedding

    texts = ["ab", "cd ab ef", "gh", "ab cd", "cd cd cd cd", "ef"]
    whole = SentenceEmbedding(str(folder)).encode(texts)
    monkeypatch.setattr(advpromptset_embedding, "TOKENS_AT_ONCE", 7)
    assert np.allclose(SentenceEmbedding(str(folder)).encode(texts), whole, atol=1e-6)
    assert SentenceEmbedding(str(folder)).encode([]).shape[0] == 0


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, ("cls",)),
        ({"pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False}, ("lasttoken",)),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}, ("max", "mean")),
        ({"pooling_mode": "weightedmean"}, ("weightedmean",)),
        ({"word_embedding_dimension": WIDTH}, ("mean",)),
    ],
)
def test_the_folder_says_how_to_pool(formatted, token_vectors, settings, expected) -> None:
    place = formatted(Pooling=settings, Normalize=None)
    assert read_modules(place).poolings == expected
    got = SentenceEmbedding(str(place), "cpu").encode(["ab cd", "ef"])
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
    over = np.sqrt(len(rows)) if way == "mean_sqrt_len_tokens" else weights.sum()
    return (weights[:, None] * rows).sum(axis=0) / over


@pytest.mark.parametrize("padding", ["left", "right"])
@pytest.mark.parametrize("way", POOLINGS.values())
def test_pooling_against_loops(way: str, padding: str) -> None:
    import torch

    rng = np.random.default_rng(7)
    hidden, attended = rng.normal(size=(4, 5, 3)), np.zeros((4, 5), dtype=np.int64)
    for row, length in enumerate((5, 3, 1, 4)):
        attended[row, slice(None, length) if padding == "right" else slice(5 - length, None)] = 1
    got = pool(torch.tensor(hidden), torch.tensor(attended), [way]).numpy()
    expected = [pooled_by_hand(rows[there == 1], way) for rows, there in zip(hidden, attended, strict=True)]
    assert np.allclose(got, expected)


def test_dense_layers_and_prompts(formatted, token_vectors) -> None:
    from safetensors.numpy import save_file

    dense = {
        "in_features": WIDTH,
        "out_features": 2,
        "bias": True,
        "activation_function": "torch.nn.modules.activation.Tanh",
    }
    place = formatted(Pooling={"pooling_mode_mean_tokens": True, "include_prompt": False}, Dense=dense)
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


def test_what_cannot_be_loaded(formatted, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="a module LSTM"):
        SentenceEmbedding(str(formatted(LSTM={})))
    with pytest.raises(Unsupported, match="pools by nothing"):
        SentenceEmbedding(str(formatted(Pooling={"pooling_mode_mean_tokens": False})))
    with pytest.raises(ModelError, match=r"1_Pooling has no config\.json"):
        (folder / "1_Pooling" / "config.json").unlink()
        SentenceEmbedding(str(formatted(Pooling=None)))
    (folder / "modules.json").write_text("{")
    with pytest.raises(ModelError, match=r"modules\.json is not valid JSON"):
        SentenceEmbedding(str(folder))
    (folder / "modules.json").unlink()
    with pytest.raises(UsageError, match="no device called 'nonsense'"):
        SentenceEmbedding(str(folder), "nonsense").encode(["ab"])
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="cannot be loaded"):
        SentenceEmbedding(str(folder)).encode(["ab"])
    with pytest.raises(ModelError, match=r"has no config\.json"):
        SentenceEmbedding(str(tmp_path))
    with pytest.raises(ModelError, match="no embedding-model folder"):
        SentenceEmbedding("./nowhere")
    with pytest.raises(ModelError, match="not on this machine and could not be fetched"):
        SentenceEmbedding("nobody/nothing")


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
    assert code == 0 and f"{table.filter('keep')['term'].n_unique()} terms written to" in said, told
    assert "cutting comments: 0 of 1" in told and not out.exists()

    def cosine(first: str, second: str) -> float:
        a, b = (mean_of(token_vectors, "[CLS]", word, "[SEP]") for word in (first, second))
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    for word in ("cd", "ef", "gh"):  # every other seed is [UNK] to this model, "man" too
        of_men = table.filter(term=word, identity="male")["similarity"].item()
        assert of_men == pytest.approx(max(cosine("ab", word), cosine("[UNK]", word)), abs=1e-4)
    code, said, told = verb("--size", 2)
    assert code == 0 and f"2 sentences written to {out}" in said, told
    assert set(load_advpromptset(out).frame["text"]) <= {"ab ef 1", "cd cd", "ef gh", "2 3 cd x"}
    code, _, told = verb(*expand, "--least-similarity", 3)
    assert code == 2 and "a cosine was expected" in told and "Traceback" not in told
    code, _, told = verb("--embedding-model", tmp_path / "nowhere")
    assert code == 1 and "no embedding-model folder" in told
