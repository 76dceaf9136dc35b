"""The first token behind the start token, all others without it: against two plain forward passes a text."""

from typing import Any

import numpy as np
import pytest
import torch

from evenhand.models.contract import Texts, reads_start_apart
from evenhand.models.huggingface.causal import CausalModel, CausalOptions
from evenhand.models.huggingface.pretrained import load_pretrained
from evenhand.models.puppets import load_puppet
from evenhand.models.scoring.scorer import ScoringPath
from evenhand.schema import ResponseError, Unsupported


@pytest.fixture
def load(tiny_folder):
    def make(
        architecture: str = "gpt2", *, tokens: dict[str, Any] | None = None, **options: Any
    ) -> CausalModel:
        loaded = load_pretrained(str(tiny_folder(architecture)), "causal", device="cpu")
        for role, token in (tokens or {}).items():
            setattr(loaded.tokenizer, role, token)
        return CausalModel(loaded.model, loaded.tokenizer, loaded.identity, CausalOptions(**options))

    return make


@torch.inference_mode()
def by_the_rule(model: CausalModel, start: int, text: str) -> list[float]:
    """As the official programs compute it, one text at a time."""
    ids = model.tokenizer.encode(text, add_special_tokens=False)
    first = model.model(torch.tensor([[start]])).logits[0, -1].double().log_softmax(-1)
    later = model.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return [float(first[ids[0]]), *(float(later[i - 1, ids[i]]) for i in range(1, len(ids)))]


TOKENS = {
    "one token begins and ends, as GPT-2's": ({}, "<|endoftext|>"),
    "no token begins": ({"bos_token": None}, "<|endoftext|>"),
    "another token begins": ({"bos_token": "."}, "."),
}


@pytest.mark.parametrize("tokens", TOKENS)
def test_two_passes_are_the_official_rule(load, sentences, tokens):
    given, start = TOKENS[tokens]
    model = load(tokens=given)
    assert reads_start_apart(model) and model.path is ScoringPath.PREFIX_TREE
    texts = [*sentences, "I", "a", sentences[0]]  # single tokens, and one text twice
    assert len(model.tokenizer.encode("a")) == 1
    scored = model.log_likelihoods(Texts(texts, start_token="first", want_starts=True))
    usual = model.log_likelihoods(Texts(texts, want_starts=True))
    number = model.tokenizer.convert_tokens_to_ids(start)
    for i, text in enumerate(texts):
        assert scored.row(i) == pytest.approx(by_the_rule(model, number, text), abs=1e-4)
    assert scored.errors == [None] * len(texts)
    assert np.array_equal(scored.offsets, usual.offsets) and np.array_equal(scored.token_ids, usual.token_ids)
    assert np.array_equal(scored.starts, usual.starts)
    firsts = scored.offsets[:-1]
    assert scored.log_probs[firsts] == pytest.approx(usual.log_probs[firsts], abs=1e-4)
    assert np.abs(scored.log_probs - usual.log_probs).max() > 0.1, "the rule makes a difference"


@pytest.mark.parametrize("architecture", ["llama", "opt", "bloom", "gpt_neo", "mistral"])
def test_the_rule_on_every_path_and_with_tokenizers_that_begin_texts_themselves(
    load, sentences, architecture
):
    model = load(architecture)
    scored = model.log_likelihoods(Texts(sentences, start_token="first"))
    for i, text in enumerate(sentences):
        assert scored.row(i) == pytest.approx(by_the_rule(model, model.start[0], text), abs=1e-4)


@torch.inference_mode()
def test_behind_a_context_there_is_no_start_token(load):
    model = load()
    texts, contexts = ["I love old men.", "I love old men."], ["Hi.", None]
    scored = model.log_likelihoods(Texts(texts, contexts, start_token="first"))
    ids = model.tokenizer.encode("Hi. I love old men.")
    log_probs = model.model(torch.tensor([ids])).logits[0].log_softmax(-1)
    before = len(ids) - len(model.tokenizer.encode(texts[0]))
    expected = [float(log_probs[j - 1, ids[j]]) for j in range(before, len(ids))]
    assert scored.row(0) == pytest.approx(expected, abs=1e-4)
    assert scored.row(1) == pytest.approx(by_the_rule(model, model.start[0], texts[1]), abs=1e-4)


def test_what_fits_is_counted_without_the_start_token(load):
    model = load(end=True)
    room = model.longest
    fits, too_long = " kind" * room, " kind" * (room + 1)
    while len(model.tokenizer.encode(fits)) > room:
        fits = fits[: -len(" kind")]
    just = fits + "s" * (room - len(model.tokenizer.encode(fits)))
    scored = model.log_likelihoods(Texts([just, "", too_long], start_token="first"))
    assert scored.errors == [None, ResponseError.EMPTY_TEXT, ResponseError.TOO_LONG]
    assert scored.counts[0] == room == len(model.tokenizer.encode(just)), "and no end token is scored"
    assert model.log_likelihoods([just]).errors == [ResponseError.TOO_LONG]


def test_who_cannot_be_read_twice_says_so(load, tiny_folder):
    bare = load(start="none")
    assert not reads_start_apart(bare)
    alone = bare.log_likelihoods(Texts(["I love old men.", "a"], start_token="first"))
    assert alone.errors == [None, ResponseError.NO_SCORED_TOKEN], "without a start token there is one pass"
    assert reads_start_apart(load_puppet("random"))
    masked = load_pretrained(str(tiny_folder("bert")), "masked", device="cpu")
    from evenhand.models.huggingface.masked import MaskedModel

    model = MaskedModel(masked.model, masked.tokenizer, masked.identity)
    assert not reads_start_apart(model)
    with pytest.raises(Unsupported, match="start token"):
        model.log_likelihoods(Texts(["I love old men."], start_token="first"))


@torch.inference_mode()
@pytest.mark.parametrize(("architecture", "front"), [("gpt2", []), ("llama", [1])])
def test_what_the_tokenizer_puts_in_front(load, architecture, front):
    model = load(architecture, end=True)
    scored = model.log_likelihoods(Texts([" old men."], ["I love"], start_token="tokenizer"))
    ids = model.tokenizer.encode("I love old men.")
    assert ids[: len(front)] == front
    log_probs = model.model(torch.tensor([ids])).logits[0].log_softmax(-1)
    before = len(model.tokenizer.encode("I love"))
    expected = [float(log_probs[j - 1, ids[j]]) for j in range(before, len(ids))]
    assert scored.row(0) == pytest.approx(expected, abs=1e-4)
