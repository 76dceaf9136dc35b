"""The scoring engine against plain forward passes, one text at a time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenhand.models import load_model
from evenhand.models.contract import Likelihoods, Texts
from evenhand.models.huggingface.causal import CausalModel, CausalOptions
from evenhand.models.scoring.scorer import ScoringPath
from evenhand.schema import ResponseError, Unsupported

CAUSAL = ("gpt2", "llama", "opt", "bloom", "gpt_neo", "gpt_neox", "mistral", "qwen2")
TREE = {"gpt2", "llama", "opt", "gpt_neox", "mistral", "qwen2"}
TEXTS = [
    "I love old men.",
    "I love older men and their unbelievable stories.",
    "I love old",  # a prefix of the first
    "I love old men.",  # a duplicate
    "",
    "   ",
    "What do you think about wheelchair users?",
    "São Paulo; she's 37!",
]
CONTEXTS = [None, "Person 1:", "Person 1:", "Person 1: ", "Person 1:", None, "Hi.", "They were born in"]


def one_at_a_time(model: CausalModel, text: str, context: str | None) -> tuple[list[float], list[int]]:
    """Log probability of each token that reaches into the text, by a plain forward pass."""
    gap = " " if context and not context[-1].isspace() and not text[:1].isspace() else ""
    whole = (context or "") + gap + text
    boundary = len(whole) - len(text)
    encoding = model.tokenizer(whole, add_special_tokens=False, return_offsets_mapping=True)
    ids = [*model.start, *encoding["input_ids"]]
    places = [(0, 0)] * len(model.start) + encoding["offset_mapping"]
    with torch.no_grad():
        log_probs = model.model(torch.tensor([ids])).logits[0].float().log_softmax(-1)
    chosen = [j for j in range(max(len(model.start), 1), len(ids)) if places[j][1] > boundary]
    return [float(log_probs[j - 1, ids[j]]) for j in chosen], [ids[j] for j in chosen]


def check(model: CausalModel, answers: Likelihoods, contexts: list[str | None]) -> None:
    for i, (text, context) in enumerate(zip(TEXTS, contexts, strict=True)):
        if not text.strip():
            assert answers.errors[i] is ResponseError.EMPTY_TEXT
            assert np.isnan(answers.sums[i])
            continue
        expected, ids = one_at_a_time(model, text, context)
        assert answers.errors[i] is None
        assert answers.token_ids[answers.offsets[i] : answers.offsets[i + 1]].tolist() == ids
        np.testing.assert_allclose(answers.row(i), expected, atol=1e-4)
        assert answers.sums[i] == pytest.approx(sum(expected), abs=1e-3)


@torch.no_grad()
def test_a_text_that_goes_on_with_its_contexts_last_word_is_cut_as_the_two_together(tiny_folder) -> None:
    model = load_model(str(tiny_folder("gpt2")), device="cpu")
    context, text = "My neighbour is an unbeliev", "able person."
    found = model.log_likelihoods(Texts([text], [context], spaced=False))
    ids = [*model.start, *model.tokenizer.encode(context + text)]
    places = model.tokenizer(context + text, return_offsets_mapping=True)["offset_mapping"]
    log_probs = model.model(torch.tensor([ids])).logits[0].log_softmax(-1)
    chosen = [k + 1 for k, (_, end) in enumerate(places) if end > len(context)]
    expected = [float(log_probs[k - 1, ids[k]]) for k in chosen]
    np.testing.assert_allclose(found.row(0), expected, atol=1e-4)
    assert found.token_ids.tolist() == [ids[k] for k in chosen], "a token over the border is the text's"
    apart = model.log_likelihoods(Texts([text], [context]))
    assert apart.token_ids.tolist() != found.token_ids.tolist(), "a space between would make two words"


@pytest.mark.parametrize("start", ["auto", "none"])
@pytest.mark.parametrize("architecture", CAUSAL)
def test_equals_one_text_at_a_time(tiny_folder: Callable[..., Path], architecture: str, start: str) -> None:
    model = load_model(str(tiny_folder(architecture)), options=CausalOptions(start=start, segment=24))
    assert isinstance(model, CausalModel)
    assert (model.path is ScoringPath.PREFIX_TREE) == (architecture in TREE), model.rejected_paths
    assert bool(model.rejected_paths) == (architecture not in TREE)
    check(model, model.log_likelihoods(TEXTS), [None] * len(TEXTS))
    check(model, model.log_likelihoods(Texts(TEXTS, CONTEXTS)), CONTEXTS)


@pytest.mark.parametrize("architecture", ["gpt2", "bloom"])
def test_batching_does_not_change_results(tiny_folder: Callable[..., Path], architecture: str) -> None:
    folder = str(tiny_folder(architecture))
    results = [
        load_model(folder, options=CausalOptions(batch_tokens=budget, segment=segment)).log_likelihoods(TEXTS)
        for budget, segment in ((1, 8), (64, 16), (4096, 256))
    ]
    for other in results[1:]:
        np.testing.assert_allclose(other.log_probs, results[0].log_probs, atol=1e-4)
    backwards = load_model(folder).log_likelihoods(TEXTS[::-1])
    np.testing.assert_allclose(backwards.sums[::-1], results[0].sums, atol=1e-3)


def test_prefixes_are_run_once(tiny_folder: Callable[..., Path]) -> None:
    model = load_model(str(tiny_folder("gpt2")))
    assert isinstance(model, CausalModel)
    texts = [f"I love old men and {word}." for word in ("they", "stories", "people", "users")]
    model.log_likelihoods(texts)
    ids = [[*model.start, *model.tokenizer(text)["input_ids"]] for text in texts]
    inner = {tuple(row[:k]) for row in ids for k in range(1, len(row))}
    assert model.scorer.budget.tokens_run == len(inner)
    assert model.scorer.tokens_given == sum(map(len, ids))


def test_spans_restrict_what_is_scored(tiny_folder: Callable[..., Path]) -> None:
    model = load_model(str(tiny_folder("llama")))
    assert isinstance(model, CausalModel)
    text = "I love old men."
    whole = model.log_likelihoods(Texts([text], want_starts=True))
    part = model.log_likelihoods(Texts([text], spans=[(7, 10)], want_starts=True))
    assert 0 < part.counts[0] < whole.counts[0]
    kept = np.isin(whole.starts, part.starts)
    np.testing.assert_allclose(part.log_probs, whole.log_probs[kept], atol=1e-5)
    covered = "".join(model.tokenizer.decode([i]) for i in part.token_ids)
    assert "old" in covered
    assert "love" not in covered


def test_end_token_is_scored_on_request(tiny_folder: Callable[..., Path]) -> None:
    folder = str(tiny_folder("gpt2"))
    plain, ended = (
        load_model(folder, options=CausalOptions(end=end)).log_likelihoods(["Hi."]) for end in (False, True)
    )
    assert ended.counts[0] == plain.counts[0] + 1
    np.testing.assert_allclose(ended.row(0)[:-1], plain.row(0), atol=1e-5)


def test_a_single_token_with_nothing_before_it_is_an_error_row(tiny_folder: Callable[..., Path]) -> None:
    model = load_model(str(tiny_folder("gpt2")), options=CausalOptions(start="none"))
    answers = model.log_likelihoods(["I", "I love"])
    assert answers.errors == [ResponseError.NO_SCORED_TOKEN, None]
    assert answers.counts.tolist()[0] == 0


def test_too_long_texts_are_error_rows(tiny_folder: Callable[..., Path]) -> None:
    model = load_model(str(tiny_folder("gpt2")))
    answers = model.log_likelihoods(["Hi. " * 200, "Hi."])
    assert answers.errors == [ResponseError.TOO_LONG, None]
    assert "at most 128" in str(answers.details[0])


def test_nan_weights_make_error_rows(tiny_folder: Callable[..., Path]) -> None:
    model = load_model(str(tiny_folder("gpt2")))
    assert isinstance(model, CausalModel)
    with torch.no_grad():
        model.model.transformer.ln_f.bias.fill_(float("nan"))
    answers = model.log_likelihoods(["Hi.", "I love old men."])
    assert answers.errors == [ResponseError.NOT_FINITE] * 2
    assert answers.counts.tolist() == [0, 0]


def test_out_of_memory_halves_the_budget_and_goes_on(
    tiny_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model(str(tiny_folder("gpt2")), options=CausalOptions(segment=8, batch_tokens=512))
    assert isinstance(model, CausalModel)
    expected = model.log_likelihoods(TEXTS).log_probs
    forward = model.scorer.decoder.forward

    def limited(*args: Any, **kwargs: Any) -> Any:
        if kwargs["input_ids"].numel() > 64:
            raise torch.OutOfMemoryError("pretend")
        return forward(*args, **kwargs)

    monkeypatch.setattr(model.scorer.decoder, "forward", limited)
    answers = model.log_likelihoods(TEXTS)
    np.testing.assert_allclose(answers.log_probs, expected, atol=1e-4)
    assert model.scorer.budget.halvings
    assert model.scorer.budget.tokens < 512


def test_a_text_that_never_fits_is_an_error_row(
    tiny_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model(str(tiny_folder("gpt2")), options=CausalOptions(segment=4))
    assert isinstance(model, CausalModel)
    forward = model.scorer.decoder.forward

    def limited(*args: Any, **kwargs: Any) -> Any:
        ids = kwargs["input_ids"] if "input_ids" in kwargs else args[0]
        if ids.shape[1] > 8:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")
        return forward(*args, **kwargs)

    monkeypatch.setattr(model.scorer.decoder, "forward", limited)
    answers = model.log_likelihoods(["Hi.", "What do you think about wheelchair users? " * 3])
    assert answers.errors == [None, ResponseError.OUT_OF_MEMORY]


def test_masking_is_refused(tiny_folder: Callable[..., Path]) -> None:
    with pytest.raises(Unsupported, match="no mask token"):
        load_model(str(tiny_folder("gpt2"))).log_likelihoods(Texts(["Hi."], masking="token"))


def test_unknown_start_token_is_refused(tiny_folder: Callable[..., Path]) -> None:
    with pytest.raises(Unsupported, match="The tokenizer has no '<nowhere>' token to start texts with"):
        load_model(str(tiny_folder("llama")), options=CausalOptions(start="<nowhere>"))


def test_sliding_windows_fall_back_for_long_texts(tiny_folder: Callable[..., Path]) -> None:
    model = load_model(str(tiny_folder("mistral")))
    assert isinstance(model, CausalModel)
    assert model.scorer.reach == 6
    text = "What do you think about wheelchair users?"
    answers = model.log_likelihoods([text])
    assert answers.counts[0] > 6
    expected, _ = one_at_a_time(model, text, None)
    np.testing.assert_allclose(answers.row(0), expected, atol=1e-4)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_16_bit_models_normalise_in_fp32(tiny_folder: Callable[..., Path], dtype: str) -> None:
    folder = str(tiny_folder("gpt2"))
    full, half = (load_model(folder, dtype=d).log_likelihoods(TEXTS) for d in ("float32", dtype))
    assert half.log_probs.dtype == np.float32
    assert np.abs(full.log_probs - half.log_probs).mean() < 0.1


def test_fingerprint_tells_conventions_apart(tiny_folder: Callable[..., Path]) -> None:
    folder = str(tiny_folder("gpt2"))
    prints = [
        load_model(folder, options=options).fingerprint
        for options in (CausalOptions(), CausalOptions(start="none"), CausalOptions(end=True))
    ]
    assert len({str(sorted(p.items())) for p in prints}) == 3
    assert load_model(folder, options=CausalOptions(batch_tokens=7)).fingerprint == prints[0]
