"""BlenderBot 90M's tokenizer asked as a fast one: transformers' own tokens, each with its place in the text."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.models import Texts, load_model
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue import History, dialogue_model
from evenhand.weights import load_tokenizer
from evenhand.weights.pieces import locate_pieces
from tests.models.dialogue import tokenizers


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from transformers import BlenderbotSmallConfig, BlenderbotSmallForConditionalGeneration

    place = tmp_path_factory.mktemp("small")
    tokenizer = tokenizers.blenderbot_small(place)
    sizes = dict(d_model=32, encoder_layers=1, decoder_layers=1, max_position_embeddings=64)
    heads = dict(encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32)
    ids = dict(
        bos_token_id=1, eos_token_id=2, pad_token_id=0, decoder_start_token_id=1, forced_eos_token_id=2
    )
    torch.manual_seed(0)
    config = BlenderbotSmallConfig(vocab_size=len(tokenizer), **sizes, **heads, **ids)
    model = BlenderbotSmallForConditionalGeneration(config)
    for parameter in model.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@settings(max_examples=40)
@given(text=st.text(st.sampled_from("hi martha! I,.?'\n:-ÉİŌ_@")))
def test_tokens_are_the_slow_tokenizers(folder: Path, text: str) -> None:
    tokenizer = KEPT.setdefault(folder, load_tokenizer(folder))
    found = tokenizer.backend_tokenizer.encode(text)
    assert found.ids == tokenizer(text)["input_ids"]
    assert len(found.offsets) == len(found.ids) == len(found.special_tokens_mask)
    firsts = [first for first, _ in found.offsets]
    assert firsts == sorted(firsts) and all(0 <= a <= b <= len(text) for a, b in found.offsets)


KEPT: dict[Path, Any] = {}


def test_a_place_holds_its_piece() -> None:
    text = "Hi, Martha!\nHello. I like TEA"
    pieces = ["hi", ",", "mar@@", "tha", "!", "__newln__", "hello", ".", "i", "like", "tea"]
    shown = [text[a:b] for a, b in locate_pieces(pieces, text)]
    assert shown == ["Hi", ",", "Mar", "tha", "!", "\n", "Hello", ".", "I", "like", "TEA"]


def test_the_model_scores_writes_and_converses(folder: Path) -> None:
    import torch

    model: Any = load_model(str(folder))
    scores = model.log_likelihoods(Texts(["I like tea."], ["Hi!"], spans=[(2, 6)]))
    assert scores.errors == [None] and scores.counts.tolist() == [1]
    rows = dialogue_model(model).reply([History(("i like tea.",), ("Hi!",))], Decoding(max_new_tokens=9))
    ids = torch.tensor([[13, 14, 10, 5, 6, 7, 8, 4, 15, 9]])
    told = model.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=9, do_sample=False)
    assert rows.row(0).tolist() == told[0, 1:].tolist()
    assert dialogue_model(model).facts["format"] == "blenderbot-small"
    assert load_model(str(folder)).fingerprint == model.fingerprint
