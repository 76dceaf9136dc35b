"""The forward pass in numpy against transformers' own, whole and in steps."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from evenhand.reference.embedded import WEIGHTS
from evenhand.reference.in_numpy.network import Network, gelu, log_normaliser
from evenhand.schema import DataError

CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GPT-2 of another shape than the embedded one, with large weights, as transformers saves it."""
    torch.manual_seed(7)
    config = GPT2Config(vocab_size=50, n_positions=24, n_embd=48, n_layer=2, n_head=3, initializer_range=0.3)
    folder = tmp_path_factory.mktemp("network")
    GPT2LMHeadModel(config).half().save_pretrained(folder)
    return folder


def causal(rows: int, columns: int) -> np.ndarray:
    return np.broadcast_to(np.tril(np.ones((columns, columns), dtype=bool)), (rows, columns, columns))


@pytest.mark.parametrize("name", ["embedded", "other"])
def test_log_probabilities_are_those_of_transformers(name: str, other: Path) -> None:
    folder = WEIGHTS if name == "embedded" else other
    network = Network.load(folder)
    plain = GPT2LMHeadModel.from_pretrained(folder, dtype=torch.float32).eval()
    columns = min(20, network.positions)
    tokens = np.random.default_rng(0).integers(0, network.vocabulary, (5, columns))
    with torch.inference_mode():
        truth = plain(torch.from_numpy(tokens)).logits.log_softmax(-1).numpy()
    places = np.broadcast_to(np.arange(columns), tokens.shape)
    hidden, _ = network.hidden(tokens, places, causal(*tokens.shape))
    logits = network.logits(hidden.reshape(-1, hidden.shape[-1]))
    found = (logits - log_normaliser(logits)[:, None]).reshape(truth.shape)
    np.testing.assert_allclose(found, truth, **CLOSE)
    assert network.parameters == sum(parameter.numel() for parameter in plain.parameters())


def test_a_text_read_in_steps_behind_padding_is_the_text_read_at_once(other: Path) -> None:
    network = Network.load(other)
    tokens = np.random.default_rng(1).integers(0, 50, (1, 9))
    places = np.arange(9)[None]
    whole, _ = network.hidden(tokens, places, causal(1, 9))
    padded = np.concatenate([np.zeros((1, 3), dtype=np.int64), tokens], axis=1)
    sees = causal(1, 12)[:, :8, :8] & (np.arange(8) >= 3)
    first, past = network.hidden(padded[:, :8], np.maximum(np.arange(8) - 3, 0)[None], sees)
    steps = [first[:, 3:]]
    for column in range(8, 12):
        seen = (np.arange(column + 1) >= 3)[None, None]
        one, past = network.hidden(padded[:, column : column + 1], np.array([[column - 3]]), seen, past)
        steps.append(one)
    np.testing.assert_allclose(np.concatenate(steps, axis=1), whole, **CLOSE)


def test_gelu_is_torch_s() -> None:
    values = np.linspace(-6, 6, 101, dtype=np.float32)
    truth = torch.nn.functional.gelu(torch.from_numpy(values.copy()), approximate="tanh").numpy()
    np.testing.assert_allclose(gelu(values), truth, rtol=1e-5, atol=1e-6)


def test_a_network_that_would_be_computed_wrongly_is_refused(other: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(other, tmp_path / "relu")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(
        json.dumps({**config, "activation_function": "relu"}), encoding="utf-8"
    )
    with pytest.raises(DataError, match=r"activation_function='relu'.*\n.*evenhand\[hf\]"):
        Network.load(folder)
