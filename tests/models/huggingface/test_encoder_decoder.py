"""Encoder-decoder likelihoods against the plain Hugging Face forward pass, one pair at a time."""

import json
import types
from typing import Any

import numpy as np
import pytest
import torch

from evenhand.models.contract import LanguageModel, Texts
from evenhand.models.huggingface.encoder_decoder import EncoderDecoderModel, EncoderDecoderOptions
from evenhand.models.huggingface.pretrained import load_pretrained
from evenhand.schema import ModelError, ResponseError, Unsupported

ARCHITECTURES = ["blenderbot", "bart", "t5"]
# Special tokens the tokenizer puts in front of a target, which are conditioned on and not scored.
IN_FRONT = {"blenderbot": 0, "bart": 1, "t5": 0}


@pytest.fixture
def load(tiny_folder):
    def make(
        architecture: str, options: EncoderDecoderOptions | None = None, **overrides: Any
    ) -> EncoderDecoderModel:
        folder = str(tiny_folder(architecture, **overrides))
        loaded = load_pretrained(folder, "encoder-decoder", device="cpu")
        return EncoderDecoderModel(loaded.model, loaded.tokenizer, loaded.identity, options)

    return make


@torch.inference_mode()
def one_at_a_time(model: EncoderDecoderModel, text: str, context: str, architecture: str) -> np.ndarray:
    """As transformers trains: labels are the encoded text, decoder inputs are made by the model itself."""
    labels = model.tokenizer(text, return_tensors="pt").input_ids
    logits = model.model(
        input_ids=model.tokenizer(context, return_tensors="pt").input_ids, labels=labels
    ).logits
    log_probs = logits[0].double().log_softmax(-1).gather(1, labels[0][:, None])[:, 0]
    return log_probs.numpy()[IN_FRONT[architecture] :]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_equals_one_forward_pass_per_pair(load, sentences, architecture):
    model = load(architecture)
    texts = [*sentences, *sentences[:4], sentences[0]]
    contexts = [*sentences[::-1], "Hi.", "Hi.", None, "What do you think?", sentences[-1]]
    scored = model.log_likelihoods(Texts(texts, contexts))
    for i, (text, context) in enumerate(zip(texts, contexts, strict=True)):
        expected = one_at_a_time(model, text, context or "", architecture)
        assert scored.row(i) == pytest.approx(expected, abs=1e-4)
        # The end token is scored, as in ParlAI's perplexity.
        assert scored.token_ids[scored.offsets[i + 1] - 1] == model.tokenizer.eos_token_id
    assert np.std(scored.log_probs) > 0.3
    assert model.describe()["scoring"] == "padded batches"
    # A repeated pair is run once.
    assert len(set(zip(texts, contexts, strict=True))) == len(texts) - 1
    assert scored.row(len(texts) - 1).tolist() == scored.row(0).tolist()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_contexts_change_the_answer_and_silence_stands_in_for_none(load, architecture):
    silent = load(architecture, EncoderDecoderOptions(silence="__SILENCE__"))
    plain = load(architecture)
    text = "I love old men."
    assert silent.log_likelihoods([text]).row(0) == pytest.approx(
        one_at_a_time(plain, text, "__SILENCE__", architecture), abs=1e-4
    )
    assert plain.log_likelihoods([text]).row(0) == pytest.approx(
        one_at_a_time(plain, text, "", architecture), abs=1e-4
    )
    assert np.abs(silent.log_likelihoods([text]).row(0) - plain.log_likelihoods([text]).row(0)).max() > 0.01
    assert silent.fingerprint != plain.fingerprint


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_end_token_and_spans(load, architecture):
    text = "My neighbour is kind."
    full = load(architecture).log_likelihoods(Texts([text], want_starts=True))
    without = load(architecture, EncoderDecoderOptions(end=False)).log_likelihoods(
        Texts([text], want_starts=True)
    )
    assert without.row(0) == pytest.approx(full.row(0)[:-1], abs=1e-5)
    assert full.starts[-1] == len(text) and without.counts[0] == full.counts[0] - 1
    span = (text.index("kind"), len(text))
    part = load(architecture).log_likelihoods(Texts([text, text], spans=[span, None], want_starts=True))
    assert part.row(1) == pytest.approx(full.row(0), abs=1e-5)
    ends = np.append(full.starts[1:-1], len(text))
    inside = (full.starts[:-1] < span[1]) & (ends > span[0])
    assert part.row(0) == pytest.approx(full.row(0)[:-1][inside], abs=1e-5)
    assert 0 < inside.sum() < len(inside)


def test_a_bias_behind_the_projection_counts(tiny_folder):
    loaded = load_pretrained(str(tiny_folder("blenderbot")), "encoder-decoder", device="cpu")
    before = EncoderDecoderModel(loaded.model, loaded.tokenizer, {}).log_likelihoods(["Hi."])
    loaded.model.final_logits_bias += torch.randn(
        loaded.model.final_logits_bias.shape, generator=torch.Generator().manual_seed(0)
    )
    model = EncoderDecoderModel(loaded.model, loaded.tokenizer, {})
    after = model.log_likelihoods(["Hi."])
    assert after.row(0) == pytest.approx(one_at_a_time(model, "Hi.", "", "blenderbot"), abs=1e-4)
    assert np.abs(after.row(0) - before.row(0)).max() > 0.1


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_answers_do_not_depend_on_order_or_batches(load, sentences, architecture):
    texts, contexts = sentences * 2, [*sentences, *sentences[::-1]]
    order = np.random.default_rng(3).permutation(len(texts))
    plain = load(architecture).log_likelihoods(Texts(texts, contexts))
    small = load(architecture, EncoderDecoderOptions(batch_tokens=30)).log_likelihoods(
        Texts([texts[i] for i in order], [contexts[i] for i in order])
    )
    for place, i in enumerate(order):
        assert small.row(place) == pytest.approx(plain.row(i), abs=2e-5)


def test_bad_rows_are_error_rows(load):
    model = load("bart")
    long = "kind " * 80
    texts = ["", "I love old men.", "Hi.", long, "Hi."]
    contexts = ["Hi.", None, long, None, None]
    spans = [None, (200, 210), None, None, None]
    scored = model.log_likelihoods(Texts(texts, contexts, spans=spans))
    assert scored.errors == [
        ResponseError.EMPTY_TEXT,
        ResponseError.NO_SCORED_TOKEN,
        ResponseError.TOO_LONG,
        ResponseError.TOO_LONG,
        None,
    ]
    assert scored.counts.tolist() == [0, 0, 0, 0, len(scored.log_probs)]
    assert scored.row(4) == pytest.approx(one_at_a_time(model, "Hi.", "", "bart"), abs=1e-4)


def test_relative_positions_have_no_limit(load):
    text = "kind person " * 100
    scored = load("t5").log_likelihoods([text])
    assert scored.errors == [None] and scored.counts[0] > 200


def test_nan_is_an_error_row(load):
    model = load("t5")
    token = model.tokenizer.encode("woman", add_special_tokens=False)[-1]
    head = model.model.get_output_embeddings()
    head.weight = torch.nn.Parameter(head.weight.clone())
    with torch.no_grad():
        model.model.get_input_embeddings().weight[token] = float("nan")
    scored = model.log_likelihoods(Texts(["Hi.", "Hi."], ["woman", "I love old men."]))
    assert scored.errors == [ResponseError.NOT_FINITE, None]
    assert scored.counts[0] == 0


def test_memory(load, sentences):
    truth = load("blenderbot").log_likelihoods(Texts(sentences, sentences))
    model = load("blenderbot")
    forward = model.model.forward

    def limited(self: Any, decoder_input_ids: torch.Tensor, **rest: Any) -> Any:
        if decoder_input_ids.numel() > 50:
            raise RuntimeError(
                "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried (the test)"
            )
        return forward(decoder_input_ids=decoder_input_ids, **rest)

    model.model.forward = types.MethodType(limited, model.model)
    scored = model.log_likelihoods(Texts(sentences, sentences))
    assert scored.errors == [None] * len(sentences)
    assert scored.log_probs == pytest.approx(truth.log_probs, abs=2e-5)
    assert model.budget.halvings


def test_unknown_heads_fall_back_to_all_logits(tiny_folder, sentences):
    loaded = load_pretrained(str(tiny_folder("t5")), "encoder-decoder", device="cpu")
    truth = EncoderDecoderModel(loaded.model, loaded.tokenizer, {}).log_likelihoods(sentences)
    loaded.model.get_output_embeddings = lambda: None
    model = EncoderDecoderModel(loaded.model, loaded.tokenizer, {})
    assert "all logits" in model.describe()["scoring"]
    assert model.log_likelihoods(sentences).log_probs == pytest.approx(truth.log_probs, abs=1e-5)


def test_refusals_and_identity(load):
    model = load("t5")
    with pytest.raises(Unsupported, match="fills no masks"):
        model.log_likelihoods(Texts(["Hi."], masking="token"))
    assert isinstance(model, LanguageModel)
    assert json.loads(json.dumps(model.fingerprint)) == model.fingerprint
    json.dumps(model.describe())
    model.model.generation_config.decoder_start_token_id = None
    model.model.config.decoder_start_token_id = None
    with pytest.raises(ModelError, match="has no start token for decoding"):
        EncoderDecoderModel(model.model, model.tokenizer, {})
    assert len(load("t5").log_likelihoods([])) == 0
