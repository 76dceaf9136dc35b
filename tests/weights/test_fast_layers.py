"""Layers that compute faster must compute the same, also after the weights changed, and only while in use."""

from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from evenhand.weights import fast_layers
from evenhand.weights.fast_layers import FastLayers

IDS = torch.tensor([[5, 9, 2, 7, 1]])
PLENTY = 1 << 40
HAS_ONEDNN = bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]


def model(kind: str) -> Any:
    torch.manual_seed(3)
    if kind == "gpt2":
        config = GPT2Config(vocab_size=600, n_embd=128, n_layer=2, n_head=4, n_positions=32)
        return GPT2LMHeadModel(config).train(False)
    llama = LlamaConfig(
        vocab_size=600, hidden_size=128, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4
    )
    return LlamaForCausalLM(llama).train(False)


@pytest.mark.skipif(not HAS_ONEDNN, reason="this torch has no oneDNN")
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_answers_stay_and_the_model_is_left_as_it_was(kind: str) -> None:
    plain = model(kind)
    layers = FastLayers(plain, PLENTY)
    # GPT-2: three of the four matrices of a layer are 128 x 384 or more, but one is 128 x 128
    assert len(layers.packed) == {"gpt2": 2 * 2 + 1, "llama": 2 * 3 + 1}[kind]
    assert len(layers.activations) == {"gpt2": 2, "llama": 0}[kind]
    with torch.inference_mode():
        expected = plain(IDS).logits
        with layers.activate():
            torch.testing.assert_close(plain(IDS).logits, expected, atol=1e-4, rtol=1e-4)
            assert "forward" in vars(layers.packed[0].module)
        assert not any("forward" in vars(module) for module in plain.modules())
        assert torch.equal(plain(IDS).logits, expected)


@pytest.mark.skipif(not HAS_ONEDNN, reason="this torch has no oneDNN")
def test_weights_that_changed_are_copied_again() -> None:
    plain = model("gpt2")
    layers = FastLayers(plain, PLENTY)
    with torch.no_grad():
        plain.transformer.h[0].mlp.c_fc.weight.mul_(3)
        plain.lm_head.bias = torch.nn.Parameter(torch.randn(600))
    plain.transformer.h[1].mlp.c_proj.weight = torch.nn.Parameter(torch.randn(512, 128))
    with torch.inference_mode():
        expected = plain(IDS).logits
        with layers.activate():
            torch.testing.assert_close(plain(IDS).logits, expected, atol=1e-3, rtol=1e-4)


def test_nothing_is_replaced_where_it_should_not(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = model("gpt2")
    assert FastLayers(plain, 1 << 10).packed == [] and FastLayers(plain, None).packed == []
    assert FastLayers(model("llama").to(torch.bfloat16), PLENTY).packed == []

    def own(inputs: torch.Tensor) -> torch.Tensor:
        return inputs[..., :600] * 0

    plain.lm_head.forward = own
    layers = FastLayers(plain, PLENTY)
    assert all(layer.module is not plain.lm_head for layer in layers.packed)
    with layers.activate():
        assert plain.lm_head.forward is own
    assert plain.lm_head.forward is own

    def wrong(module: Any) -> Any:
        return fast_layers.PackedLayer(module, torch.zeros(1), (0, 0))

    monkeypatch.setattr(fast_layers, "_pack_layer", wrong)
    assert FastLayers(plain, PLENTY).packed == []
