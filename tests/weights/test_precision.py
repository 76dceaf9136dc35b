"""Running 16-bit models in 32 bits, against a copy that was converted as a whole."""

import copy

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from evenhand.weights import in_float32


def tiny(dtype: torch.dtype) -> GPT2LMHeadModel:
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=32)
    return GPT2LMHeadModel(config).eval().to(dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_it_computes_as_a_converted_copy_and_leaves_every_bit_in_place(dtype: torch.dtype) -> None:
    model, ids = tiny(dtype), torch.arange(12)[None]
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    converted = copy.deepcopy(model).float()
    with torch.inference_mode():
        with in_float32(model):
            found = model(ids).logits
        assert torch.equal(found, converted(ids).logits)
        assert not torch.equal(model(ids).logits.float(), found)  # in its own precision it rounds
    after = model.state_dict()
    assert all(
        torch.equal(tensor, after[name]) and after[name].dtype == dtype for name, tensor in before.items()
    )
    assert model.lm_head.weight is model.transformer.wte.weight  # still tied


def test_an_error_inside_a_layer_leaves_every_bit_in_place() -> None:
    model = tiny(torch.bfloat16)
    before = model.transformer.h[1].mlp.c_fc.weight.clone()
    model.transformer.h[1].mlp.c_proj.register_forward_pre_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError), in_float32(model):
        model(torch.arange(5)[None])
    weight = model.transformer.h[1].mlp.c_fc.weight
    assert weight.dtype == torch.bfloat16 and torch.equal(weight, before)


def test_a_32_bit_model_is_left_alone() -> None:
    model = tiny(torch.float32)
    held = model.lm_head.weight.data_ptr()
    with in_float32(model):
        assert model.lm_head.weight.data_ptr() == held
