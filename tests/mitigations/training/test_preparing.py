"""Adapters: what is trained, what stays, and what they are merged into."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from evenhand.mitigations.training import (
    LanguageModelling,
    logits_behind,
    merge_adapters,
    prepared_model,
    preparing,
    train,
)
from evenhand.schema import ModelError, UsageError
from tests.mitigations.training.tiny import (
    OPTIONS,
    random_examples,
    random_replies,
    tiny_blenderbot,
    tiny_model,
)

LORA = replace(OPTIONS, lora_rank=2)


def test_adapters_are_trained_and_merged_and_the_base_stays(tmp_path: Path) -> None:
    base, model = tiny_model().eval(), prepared_model(tiny_model(), LORA)
    ids = torch.arange(1, 9)[None]
    with torch.no_grad():
        assert torch.equal(model.eval()(ids).logits, base(ids).logits)  # fresh adapters add nothing
    train(model, random_examples(), LanguageModelling(), LORA, tmp_path, device="cpu")
    with torch.no_grad():
        behind = model(ids).logits
        assert (behind - base(ids).logits).abs().max() > 1e-2
        with model.disable_adapter():
            assert torch.equal(model(ids).logits, base(ids).logits)
        plain = merge_adapters(model)
        assert type(plain) is type(base)
        assert torch.allclose(plain(ids).logits, behind, atol=1e-5)


def test_an_encoder_and_a_decoder_take_adapters_and_lose_all_dropout(tmp_path: Path) -> None:
    model = prepared_model(tiny_blenderbot(layerdrop=0.5), replace(LORA, dropout=False)).train()
    batch = random_replies().batch([0, 1, 2], 0)
    before = logits_behind(model, batch)
    assert torch.equal(before, logits_behind(model, batch))
    done = train(model, random_replies(), LanguageModelling(), LORA, tmp_path, device="cpu").curves
    losses = done.filter(name="lm")["value"]
    assert losses[-1] < losses[0]
    behind = logits_behind(model, batch)
    assert torch.allclose(logits_behind(merge_adapters(model), batch), behind, atol=1e-5)
    assert not torch.allclose(before, behind, atol=1e-3)


def test_adapters_of_chosen_layers_only() -> None:
    model = prepared_model(tiny_model(), replace(LORA, lora_layers=("c_attn",)))
    trained = {
        name.split(".lora_")[0].rsplit(".", 1)[-1] for name, p in model.named_parameters() if p.requires_grad
    }
    assert trained == {"c_attn"}
    with pytest.raises(UsageError, match="GPT2LMHeadModel has no linear layer named q_proj") as error:
        prepared_model(tiny_model(), replace(LORA, lora_layers=("q_proj",)))
    assert "c_proj" in str(error.value)


def test_layers_that_peft_takes_no_adapters_on_are_left_out_or_named() -> None:
    from transformers import MambaConfig, MambaForCausalLM

    small = MambaConfig(vocab_size=40, hidden_size=16, num_hidden_layers=1, state_size=4, time_step_rank=4)
    model = prepared_model(MambaForCausalLM(small), LORA)
    trained = {
        name.split(".lora_")[0].rsplit(".", 1)[-1] for name, p in model.named_parameters() if p.requires_grad
    }
    assert "in_proj" in trained and not trained & {"out_proj", "conv1d", "lm_head"}
    with pytest.raises(UsageError, match="MambaForCausalLM does not support adapters on out_proj: ") as error:
        prepared_model(MambaForCausalLM(small), replace(LORA, lora_layers=("out_proj",)))
    assert "lora_layers=dt_proj,in_proj" in str(error.value)


def test_a_missing_package_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", absent)
    with pytest.raises(ModelError, match="peft") as error:
        preparing.import_package("peft")
    assert "evenhand[training]" in str(error.value)
