"""Likelihoods with faster layers against plain forward passes in 64 bits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenhand.models import load_model
from evenhand.models.scoring.scorer import Scorer
from evenhand.weights.fast_layers import FastLayers, PackedLayer

HAS_ONEDNN = bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]
TEXTS = [
    "I love old men.",
    "I love older men and their unbelievable stories.",
    "Hi.",
    "My neighbour is kind.",
]
WIDE = {
    "gpt2": {"n_embd": 128},
    "llama": {"hidden_size": 128, "intermediate_size": 512},
    "bloom": {"hidden_size": 128},
    "bert": {"hidden_size": 128, "intermediate_size": 512},
    "bart": {"d_model": 128, "encoder_ffn_dim": 512, "decoder_ffn_dim": 512},
}


@pytest.fixture
def packed_calls(monkeypatch: pytest.MonkeyPatch) -> list[PackedLayer]:
    """Every call of a packed layer."""
    calls: list[PackedLayer] = []
    compute = PackedLayer.__call__

    def counted(self: PackedLayer, inputs: torch.Tensor) -> torch.Tensor:
        calls.append(self)
        return compute(self, inputs)

    monkeypatch.setattr(PackedLayer, "__call__", counted)
    return calls


def wide_model(folder: Callable[..., Path], architecture: str, dtype: str = "float32") -> Any:
    """A model with matrices large enough to be packed, and weights small enough to compare sums to 1e-5 nats."""
    model: Any = load_model(str(folder(architecture, **WIDE[architecture])), device="cpu", dtype=dtype)
    with torch.no_grad():
        for parameter in model.model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(0.1)
    return model


@pytest.mark.skipif(not HAS_ONEDNN, reason="this torch has no oneDNN")
@pytest.mark.parametrize("architecture", ["gpt2", "llama", "bloom"])
def test_sentences_agree_to_a_hundred_thousandth(
    tiny_folder: Callable[..., Path], architecture: str, packed_calls: list[PackedLayer]
) -> None:
    model = wide_model(tiny_folder, architecture)
    packed_calls.clear()
    sums = model.log_likelihoods(TEXTS).sums
    assert {layer.module for layer in packed_calls} == {layer.module for layer in model.scorer.layers.packed}
    assert model.describe()["packed_layers"] >= 4
    assert not any("forward" in vars(module) for module in model.model.modules())
    exact = model.model.double()
    for text, found in zip(TEXTS, sums, strict=True):
        ids = [*model.start, *model.tokenizer(text, add_special_tokens=False)["input_ids"]]
        with torch.inference_mode():
            log_probs = exact(torch.tensor([ids])).logits[0].log_softmax(-1)
        expected = sum(float(log_probs[k, token]) for k, token in enumerate(ids[1:]))
        assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.skipif(not HAS_ONEDNN, reason="this torch has no oneDNN")
@pytest.mark.parametrize("architecture", ["bert", "bart"])
def test_models_with_an_encoder_use_them_too(
    tiny_folder: Callable[..., Path], architecture: str, packed_calls: list[PackedLayer]
) -> None:
    model = wide_model(tiny_folder, architecture)
    found = model.log_likelihoods(TEXTS)
    assert (
        {layer.module for layer in packed_calls} >= {layer.module for layer in model.layers.packed} != set()
    )
    model.layers = FastLayers(model.model, None)
    packed_calls.clear()
    np.testing.assert_allclose(found.log_probs, model.log_likelihoods(TEXTS).log_probs, atol=1e-5)
    assert packed_calls == []


def test_other_dtypes_are_computed_as_before(
    tiny_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = wide_model(tiny_folder, "gpt2", "bfloat16")
    assert model.scorer.layers.packed == [] and model.scorer.layers.activations != []

    def refused(_: Any) -> None:
        raise AssertionError("nothing is to be put in the place of a layer")

    monkeypatch.setattr(FastLayers, "activate", refused)
    assert np.isfinite(model.log_likelihoods(TEXTS).sums).all()


def test_scoring_and_writing_share_one_copy(tiny_folder: Callable[..., Path]) -> None:
    model = wide_model(tiny_folder, "gpt2")
    assert model.writer.layers is model.scorer.layers


def test_nothing_is_copied_where_memory_is_short(
    tiny_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = wide_model(tiny_folder, "gpt2")
    monkeypatch.setattr("evenhand.models.scoring.scorer.available_memory", lambda _: 1 << 10)
    scorer = Scorer(model.model, 2048)
    assert scorer.layers.packed == [] and scorer.layers.activations != []
