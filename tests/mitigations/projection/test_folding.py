"""A projection folded into the output matrix is the projection of the states, also behind saving and loading."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from evenhand.mitigations.projection import fold
from evenhand.schema import Unsupported

SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=50)
DECODER = dict(SMALL, num_key_value_heads=2, max_position_embeddings=32)
OPT = dict(
    vocab_size=50,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    ffn_dim=64,
    max_position_embeddings=32,
)
MODELS: dict[str, tuple[str, dict[str, Any], int]] = {
    "shared matrix": ("GPT2", dict(n_embd=32, n_layer=2, n_head=4, n_positions=32, vocab_size=50), 32),
    "two matrices": ("Llama", dict(DECODER, tie_word_embeddings=False), 32),
    "output bias": (
        "GPTJ",
        dict(n_embd=32, n_layer=2, n_head=4, n_positions=32, rotary_dim=4, vocab_size=50),
        32,
    ),
    "capped logits": ("Gemma2", dict(DECODER, head_dim=8, final_logit_softcapping=0.5), 32),
    "scaled logits": ("Cohere", dict(DECODER, logit_scale=0.25), 32),
    "projection in front of the head": ("OPT", dict(OPT, word_embed_proj_dim=16), 16),
    "bias shared as well": ("BertLMHeadModel", dict(SMALL, is_decoder=True, max_position_embeddings=32), 32),
}


def model_of(kind: str, values: dict[str, Any]) -> Any:
    import transformers

    name = kind if kind.endswith("Model") else f"{kind}{'LMHeadModel' if kind == 'GPT2' else 'ForCausalLM'}"
    torch.manual_seed(0)
    model = getattr(transformers, name)(
        getattr(transformers, f"{kind.removesuffix('LMHeadModel')}Config")(**values)
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.3)
    return model.eval()


def directions_of(size: int, k: int = 3) -> NDArray[np.float64]:
    return np.linalg.qr(np.random.default_rng(0).normal(size=(size, k)))[0].T


@pytest.mark.parametrize("described", MODELS)
def test_folded_is_projected_and_stays_so_in_a_folder(described: str, tmp_path: Path) -> None:
    kind, values, size = MODELS[described]
    model, directions = model_of(kind, values), directions_of(size)
    ids = torch.randint(0, 50, (5, 12), generator=torch.Generator().manual_seed(1))
    away = torch.eye(size) - torch.from_numpy(directions.T @ directions).float()
    handle = model.get_output_embeddings().register_forward_pre_hook(lambda _, given: (given[0] @ away,))
    with torch.no_grad():
        expected, read = model(ids).logits, model.get_input_embeddings().weight.clone()
        handle.remove()
        plain = model(ids).logits
        fold(model, directions)
        found = model(ids).logits
        model.save_pretrained(tmp_path)
        loaded = type(model).from_pretrained(tmp_path).eval()
        again = loaded(ids).logits
    assert (expected - plain).abs().max() > 1e-3
    tolerance = 1e-5 * max(1, expected.abs().max())
    assert (found - expected).abs().max() < tolerance and (again - expected).abs().max() < tolerance
    assert torch.equal(loaded.get_input_embeddings().weight, read)
    assert (loaded.get_output_embeddings().weight @ torch.from_numpy(directions.T).float()).abs().max() < 1e-5


def test_a_model_whose_head_is_no_linear_layer_or_is_not_all_is_refused() -> None:
    kind, values, size = MODELS["shared matrix"]
    model = model_of(kind, values)
    model.lm_head = torch.nn.Sequential(torch.nn.Linear(32, 50))
    with pytest.raises(Unsupported, match="output layer Sequential") as error:
        fold(model, directions_of(size))
    assert "--method dpo" in str(error.value)

    class Doubled(type(model_of(kind, values))):  # type: ignore[misc]
        """Its head reads once more than the layer says."""

        def forward(self, input_ids: Any = None, **given: Any) -> Any:
            output = super().forward(input_ids, **given)
            weight = self.get_output_embeddings().weight
            output.logits = output.logits + torch.nn.functional.linear(torch.ones(32), weight.square())
            return output

    torch.manual_seed(0)
    twice = Doubled(model.config).eval()
    with pytest.raises(Unsupported, match="do not depend on its output matrix alone"):
        fold(twice, directions_of(size))


def test_a_model_that_always_shares_its_matrix_is_refused() -> None:
    kind, values, size = MODELS["shared matrix"]

    class Shared(type(model_of(kind, values))):  # type: ignore[misc]
        """Shares its matrix whatever its configuration says."""

        def tie_weights(self, *given: Any, **named: Any) -> None:
            self.lm_head.weight = self.transformer.wte.weight

    shared = Shared(model_of(kind, values).config).eval()
    with pytest.raises(Unsupported, match="always uses one matrix for input and output, so a"):
        fold(shared, directions_of(size))
