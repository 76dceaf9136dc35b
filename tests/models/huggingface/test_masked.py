"""Pseudo-log-likelihoods against one plain forward pass per masked token."""

import json
import types
from typing import Any

import numpy as np
import pytest
import torch

from evenhand.models.contract import LanguageModel, Texts
from evenhand.models.huggingface.masked import (
    MaskedModel,
    MaskedOptions,
    concatenate,
    masked_inputs,
    position_limit,
)
from evenhand.models.huggingface.pretrained import load_pretrained
from evenhand.schema import ModelError, ResponseError, UsageError

MASKED = ["bert", "roberta", "distilbert", "albert", "electra", "deberta_v2", "fnet"]


@pytest.fixture
def load(tiny_folder):
    def make(
        architecture: str = "bert", options: MaskedOptions | None = None, **overrides: Any
    ) -> MaskedModel:
        loaded = load_pretrained(str(tiny_folder(architecture, **overrides)), "masked", device="cpu")
        return MaskedModel(loaded.model, loaded.tokenizer, loaded.identity, options)

    return make


@torch.inference_mode()
def forward(model: MaskedModel, ids: list[int], position: int, token: int) -> float:
    logits = model.model(input_ids=torch.tensor([ids])).logits
    return float(logits[0, position].double().log_softmax(-1)[token])


def one_at_a_time(model: MaskedModel, text: str, context: str = "", word: bool = False) -> list[float]:
    encoded = model.tokenizer(context + text, return_offsets_mapping=True, return_special_tokens_mask=True)
    words = encoded.word_ids()
    values = []
    for position, token in enumerate(encoded.input_ids):
        if encoded.special_tokens_mask[position] or encoded.offset_mapping[position][1] <= len(context):
            continue
        hidden = list(encoded.input_ids)
        for other in range(position, len(hidden)):
            if other == position or (word and words[other] == words[position]):
                hidden[other] = model.tokenizer.mask_token_id
        values.append(forward(model, hidden, position, token))
    return values


@pytest.mark.parametrize("architecture", MASKED)
def test_token_masking_is_one_forward_pass_per_token(load, sentences, architecture):
    model = load(architecture)
    scored = model.log_likelihoods([*sentences, sentences[0]])
    for i, text in enumerate([*sentences, sentences[0]]):
        assert scored.row(i) == pytest.approx(one_at_a_time(model, text), abs=1e-4)
    assert scored.errors == [None] * (len(sentences) + 1)
    assert scored.sums[0] == pytest.approx(sum(one_at_a_time(model, sentences[0])), abs=1e-3)
    assert np.std(scored.log_probs) > 0.3, "a nearly uniform model would hide mistakes"


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_word_masking_hides_the_rest_of_the_word(load, sentences, architecture):
    model = load(architecture)
    scored = model.log_likelihoods(Texts(sentences, masking="word"))
    by_token = model.log_likelihoods(sentences)
    for i, text in enumerate(sentences):
        assert scored.row(i) == pytest.approx(one_at_a_time(model, text, word=True), abs=1e-4)
    assert np.abs(scored.log_probs - by_token.log_probs).max() > 0.01


@pytest.mark.parametrize("architecture", ["bert", "roberta", "fnet"])
def test_contexts_are_seen_and_not_scored(load, architecture):
    model = load(architecture)
    texts = ["I love old men.", "I love old men.", " My neighbour."]
    contexts = ["My neighbour is kind.", None, "Hi."]
    scored = model.log_likelihoods(Texts(texts, contexts, want_starts=True))
    assert scored.row(0) == pytest.approx(one_at_a_time(model, texts[0], "My neighbour is kind. "), abs=1e-4)
    assert scored.row(1) == pytest.approx(one_at_a_time(model, texts[1]), abs=1e-4)
    # White space that is already there is not doubled.
    assert scored.row(2) == pytest.approx(one_at_a_time(model, texts[2], "Hi."), abs=1e-4)
    assert scored.starts[0] == 0 and scored.starts[scored.offsets[1]] == 0


def test_spans_choose_tokens(load):
    model = load("roberta")
    text = "My neighbour is an unbelievable person."
    span = (text.index("unbelievable"), text.index("son."))
    whole = model.log_likelihoods(Texts([text], want_starts=True))
    part = model.log_likelihoods(Texts([text, text], spans=[span, None], want_starts=True))
    ends = np.append(whole.starts[1:], len(text))
    inside = (whole.starts < span[1]) & (ends > span[0])
    assert part.row(0) == pytest.approx(whole.row(0)[inside], abs=1e-5)
    assert part.row(1) == pytest.approx(whole.row(0), abs=1e-5)
    assert 1 < inside.sum() < len(inside)


def by_stereoset(model: MaskedModel, context: str, word: str) -> list[float]:
    """The published rule works on strings: what has been read so far, decoded, then one mask."""
    tokens = model.tokenizer.encode(word, add_special_tokens=False)
    values = []
    for k, token in enumerate(tokens):
        read = model.tokenizer.decode(tokens[:k]) if k else ""
        ids = model.tokenizer.encode(context.replace("BLANK", f"{read}{model.tokenizer.mask_token}"))
        values.append(forward(model, ids, ids.index(model.tokenizer.mask_token_id), token))
    return values


@pytest.mark.parametrize("architecture", ["bert", "roberta", "albert"])
def test_blank_is_filled_as_stereoset_does(load, architecture):
    model = load(architecture)
    contexts = ["My neighbour is an BLANK person.", "BLANK men love.", "I BLANK and BLANK.", "It is (BLANK)."]
    words = ["oldish", "unbelievable", "kindly", "wheelchairs"]
    scored = model.log_likelihoods(Texts(words, contexts, masking="blank", want_starts=True))
    for i, (context, word) in enumerate(zip(contexts, words, strict=True)):
        assert scored.row(i) == pytest.approx(by_stereoset(model, context, word), abs=1e-4)
        tokens = model.tokenizer(word, add_special_tokens=False, return_offsets_mapping=True)
        part = slice(*scored.offsets[i : i + 2])
        assert scored.token_ids[part].tolist() == tokens["input_ids"]
        assert scored.starts[part].tolist() == [start for start, _ in tokens["offset_mapping"]]
    assert scored.counts.min() > 1


def test_a_space_in_front_says_how_roberta_cuts_the_word_and_is_not_doubled(load):
    from tokenizers import AddedToken

    model, context, word = load("roberta"), "My neighbour is a BLANK person.", "wheelchairs"
    swallowing = AddedToken("<mask>", lstrip=True, special=True)  # RoBERTa's own takes in the space before it
    model.tokenizer.backend_tokenizer.add_special_tokens([swallowing])
    texts = Texts([word, f" {word}"], [context] * 2, masking="blank")
    scored = model.log_likelihoods(texts)
    spaced = model.tokenizer.encode(f" {word}", add_special_tokens=False)
    assert scored.token_ids[scored.offsets[1] :].tolist() == spaced
    assert scored.token_ids[: scored.offsets[1]].tolist() != spaced
    whole = model.tokenizer.encode(context.replace("BLANK", word))
    place = next(k for k in range(len(whole)) if whole[k : k + len(spaced)] == spaced)
    mask, behind = model.tokenizer.mask_token_id, whole[place + len(spaced) :]
    expected = [
        forward(model, [*whole[: place + k], mask, *behind], place + k, token)
        for k, token in enumerate(spaced)
    ]
    assert scored.row(1) == pytest.approx(expected, abs=1e-4), "the tokens are those of the sentence"
    assert scored.row(0) == pytest.approx(by_stereoset(model, context, word), abs=1e-4)
    assert np.abs(scored.row(0)[0] - scored.row(1)[0]) > 0.1


def test_a_space_in_front_changes_nothing_for_bert(load):
    texts, contexts = ["oldish", " oldish"], ["My neighbour is an BLANK person."] * 2
    model = load("bert")
    scored = model.log_likelihoods(Texts(texts, contexts, masking="blank"))
    assert np.array_equal(scored.row(0), scored.row(1)) and scored.counts[0] > 1
    plan = masked_inputs(model.tokenizer, Texts(texts, contexts, masking="blank"))
    assert len(plan.inputs) == scored.counts[0], "and is not asked again"


def test_blanks_that_cannot_be_filled(load):
    model = load("bert")
    contexts = ["An old person.", None, "A BLANK.", "BLANK " + "kind " * 80]
    scored = model.log_likelihoods(Texts(["kind", "kind", " ", "kind"], contexts, masking="blank"))
    lacking = ResponseError.NO_SCORED_TOKEN
    assert scored.errors == [lacking, lacking, ResponseError.EMPTY_TEXT, ResponseError.TOO_LONG]
    assert scored.details[0] == "its context has no BLANK to be filled"
    with pytest.raises(UsageError, match="works with whole texts, but spans were given"):
        model.log_likelihoods(Texts(["kind"], ["A BLANK."], [(0, 2)], masking="blank"))


def test_the_same_masked_input_is_run_once(load, tiny_tokenizer):
    texts = ["I love old men.", "I love kind men.", "I love kind men."]
    plan = masked_inputs(tiny_tokenizer("bert"), Texts(texts))
    brute = {
        tuple(np.where(np.arange(len(ids)) == p, 4, ids))
        for ids in (tiny_tokenizer("bert").encode(t) for t in texts)
        for p in range(1, len(ids) - 1)
    }
    assert {tuple(i.tolist()) for i in plan.inputs} == brute
    assert len(plan.inputs) == len(brute) < len(plan.target_inputs)


@pytest.mark.parametrize("architecture", ["bert", "fnet"])
def test_answers_do_not_depend_on_order_or_batches(load, sentences, architecture):
    texts = sentences * 2
    order = np.random.default_rng(3).permutation(len(texts))
    plain = load(architecture).log_likelihoods(texts)
    small = load(architecture, MaskedOptions(batch_tokens=40)).log_likelihoods([texts[i] for i in order])
    for place, i in enumerate(order):
        assert small.row(place) == pytest.approx(plain.row(i), abs=2e-5)


def test_bad_rows_are_error_rows(load):
    model = load("bert")
    long = "kind " * 80
    scored = model.log_likelihoods(
        Texts(["", "I love old men.", " \n", long], spans=[None, (200, 210), None, None])
    )
    assert scored.errors == [
        ResponseError.EMPTY_TEXT,
        ResponseError.NO_SCORED_TOKEN,
        ResponseError.EMPTY_TEXT,
        ResponseError.TOO_LONG,
    ]
    assert "at most 64" in scored.details[3]
    assert scored.counts.tolist() == [0, 0, 0, 0] and np.isnan(scored.sums).all()


@pytest.mark.parametrize(("architecture", "limit"), [("bert", 64), ("roberta", 64), ("distilbert", 64)])
def test_the_longest_text_fits_and_one_more_token_does_not(load, architecture, limit):
    model = load(architecture)
    word = next(w for w in ("a", "i", ".") if len(model.tokenizer.encode(w)) == 3)
    assert position_limit(model.model) == limit
    fits, over = word + f" {word}" * (limit - 3), word + f" {word}" * (limit - 2)
    while len(model.tokenizer.encode(fits)) > limit:  # byte-level BPE may need more than one token a word
        fits = fits[:-1]
    scored = model.log_likelihoods([fits, over])
    assert scored.errors[0] is None and np.isfinite(scored.sums[0])
    assert len(model.tokenizer.encode(over)) > limit and scored.errors[1] is ResponseError.TOO_LONG


def test_nan_reaches_only_its_own_rows(load):
    model = load("bert")
    good = model.log_likelihoods(["I love old men."])
    token = model.tokenizer.encode("woman", add_special_tokens=False)[0]
    with torch.no_grad():
        model.model.get_input_embeddings().weight[token] = float("nan")
        model.model.get_output_embeddings().weight = torch.nn.Parameter(
            model.model.get_output_embeddings().weight.nan_to_num().clone()
        )
    scored = model.log_likelihoods(["I'm a deaf woman.", "I love old men."])
    assert scored.errors == [ResponseError.NOT_FINITE, None]
    assert scored.counts[0] == 0 and scored.offsets[-1] == len(scored.log_probs)
    assert np.isfinite(scored.row(1)).all() and len(scored.row(1)) == len(good.row(0))


def with_memory_for(model: MaskedModel, tokens: int) -> MaskedModel:
    forward = model.model.forward

    def limited(self: Any, input_ids: torch.Tensor, **rest: Any) -> Any:
        if input_ids.numel() > tokens:
            raise torch.OutOfMemoryError("CUDA out of memory (as the test wants it)")
        return forward(input_ids=input_ids, **rest)

    model.model.forward = types.MethodType(limited, model.model)
    return model


def test_the_budget_halves_when_memory_runs_out(load, sentences):
    truth = load().log_likelihoods(sentences)
    model = with_memory_for(load(), 100)
    scored = model.log_likelihoods(sentences)
    assert scored.errors == [None] * len(sentences)
    assert scored.log_probs == pytest.approx(truth.log_probs, abs=2e-5)
    assert model.describe()["work"]["halvings"], "the history must say that the budget was halved"
    assert model.budget.tokens <= 100


def test_a_text_that_never_fits_is_an_error_row(load, sentences):
    model = with_memory_for(load(), 20)
    scored = model.log_likelihoods(sentences)
    lengths = [len(model.tokenizer.encode(text)) for text in sentences]
    expected = [ResponseError.OUT_OF_MEMORY if n > 20 else None for n in lengths]
    assert scored.errors == expected and len(set(expected)) == 2


def test_other_errors_of_the_model_are_not_swallowed(load):
    model = load()

    def broken(self: Any, **_: Any) -> Any:
        raise RuntimeError("expected scalar type Float but found Half")

    model.model.forward = types.MethodType(broken, model.model)
    with pytest.raises(RuntimeError, match="expected scalar type"):
        model.log_likelihoods(["Hi."])


def test_paths_are_chosen_by_trying(load):
    assert load("bert").describe()["scoring"] == "padded batches"
    fnet = load("fnet").describe()
    assert fnet["scoring"] == "equal-length batches"
    assert "padding changes this model's answers" in fnet["scoring_rejected"][0]


def test_unknown_heads_fall_back_to_all_logits(tiny_folder, sentences):
    loaded = load_pretrained(str(tiny_folder("bert")), "masked", device="cpu")
    truth = MaskedModel(loaded.model, loaded.tokenizer, {}).log_likelihoods(sentences)
    hidden = loaded.model.get_output_embeddings
    loaded.model.get_output_embeddings = lambda: None
    model = MaskedModel(loaded.model, loaded.tokenizer, {})
    assert (
        "masked positions only: the model names no output embeddings"
        in model.describe()["scoring_rejected"][0]
    )
    assert model.log_likelihoods(sentences).log_probs == pytest.approx(truth.log_probs, abs=1e-5)
    loaded.model.get_output_embeddings = lambda: loaded.model.bert.encoder.layer[0].output.dense
    model = MaskedModel(loaded.model, loaded.tokenizer, {})
    assert model.reason_for_all_positions is not None
    assert model.log_likelihoods(sentences).log_probs == pytest.approx(truth.log_probs, abs=1e-5)
    loaded.model.get_output_embeddings = hidden


def test_refusals(load, tiny_folder):
    loaded = load_pretrained(str(tiny_folder("bert")), "masked", device="cpu")
    with pytest.raises(UsageError, match=r"Did you mean 'word'"):
        load().log_likelihoods(Texts(["Hi."], masking="words"))
    loaded.tokenizer.mask_token = None
    with pytest.raises(ModelError, match="no mask token"):
        MaskedModel(loaded.model, loaded.tokenizer, {})


def test_identity(load):
    model = load("bert")
    assert isinstance(model, LanguageModel)
    assert json.loads(json.dumps(model.fingerprint)) == model.fingerprint
    assert {"weights", "tokenizer", "dtype", "architecture"} <= set(model.fingerprint)
    json.dumps(model.describe())
    assert model.fingerprint == load("bert", MaskedOptions(batch_tokens=64)).fingerprint
    assert model.fingerprint != load("distilbert").fingerprint


def test_no_texts(load):
    assert len(load().log_likelihoods([])) == 0
    assert concatenate([]).offsets.tolist() == [0]


def test_many_texts_are_the_same_as_few(load, sentences, monkeypatch):
    model = load()
    whole = model.log_likelihoods(Texts(sentences, sentences, want_starts=True))
    monkeypatch.setattr("evenhand.models.huggingface.masked.CHUNK", 2)
    pieces = model.log_likelihoods(Texts(sentences, sentences, want_starts=True))
    assert pieces.log_probs == pytest.approx(whole.log_probs, abs=2e-5)
    assert (pieces.offsets == whole.offsets).all() and (pieces.starts == whole.starts).all()
    assert (pieces.token_ids == whole.token_ids).all()
