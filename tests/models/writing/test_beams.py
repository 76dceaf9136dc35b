"""Beam search against Hugging Face's, token for token, and what it must not depend on."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenhand.models import load_model
from evenhand.models.decoding import Decoding
from evenhand.schema import ResponseError, UsageError

PROMPTS = [
    "I love old",
    "My neighbour is a kind person who is",
    "Hi.",
    "What do you think about wheelchair users and their unbelievable stories?",
    "I love older men and",
]
RULES: list[dict[str, Any]] = [
    {"num_beams": 3},
    {"num_beams": 10, "min_new_tokens": 9, "no_repeat_ngram_size": 3, "early_stopping": True},
    {"num_beams": 4, "length_penalty": 2.0, "early_stopping": "never"},
    {"num_beams": 4, "length_penalty": -1.0},
    {"num_beams": 2, "length_penalty": 0.0, "early_stopping": "never"},
]


def model_that_ends(tiny_folder: Callable[..., Path], architecture: str, lift: float = 1.0) -> Any:
    """A tiny model whose end token is likely enough to end beams at different times."""
    model: Any = load_model(str(tiny_folder(architecture)))
    model.model.generation_config.forced_eos_token_id = None
    head, (end,) = model.model.get_output_embeddings(), model.writer.end_ids

    def lifted(_: Any, __: Any, logits: torch.Tensor) -> torch.Tensor:
        logits = logits.clone()
        logits[..., end] = logits.amax(-1) - lift
        return logits

    head.register_forward_hook(lifted)
    return model


def hugging_face(model: Any, prompt: str, rule: Decoding) -> list[int]:
    ids = torch.tensor([model.tokenizer(prompt)["input_ids"]])
    told = {key: getattr(rule, key) for key in ("num_beams", "length_penalty", "early_stopping")}
    with torch.inference_mode():
        written = model.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=rule.max_new_tokens,
            min_new_tokens=rule.min_new_tokens,
            no_repeat_ngram_size=rule.no_repeat_ngram_size or 0,
            **told,
        )[0]
    skip = 1 if model.architecture == "encoder-decoder" else ids.shape[1]
    tokens: list[int] = written[skip:].tolist()
    ends = [k for k, token in enumerate(tokens) if token in model.writer.end_ids]
    return tokens[: ends[0] + 1] if ends else tokens


def check(tiny_folder: Callable[..., Path], architecture: str, settings: dict[str, Any], lift: float) -> None:
    model = model_that_ends(tiny_folder, architecture, lift)
    rule = Decoding(max_new_tokens=14, **settings)
    answers = model.generate(PROMPTS, rule)
    for i, prompt in enumerate(PROMPTS):
        assert answers.row(i).tolist() == hugging_face(model, prompt, rule), (prompt, settings)
    assert model.writer.budget.batches == 1


@pytest.mark.parametrize(
    ("architecture", "settings"), [("gpt2", rule) for rule in RULES] + [("t5", rule) for rule in RULES[:2]]
)
def test_beams_are_hugging_faces_token_for_token(
    tiny_folder: Callable[..., Path], architecture: str, settings: dict[str, Any]
) -> None:
    check(tiny_folder, architecture, settings, lift=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("lift", [0.1, 0.5, 2.0, 8.0])
@pytest.mark.parametrize("settings", RULES)
@pytest.mark.parametrize(
    "architecture", ["gpt2", "llama", "opt", "bloom", "mistral", "t5", "bart", "blenderbot"]
)
def test_beams_are_hugging_faces_on_more_models(
    tiny_folder: Callable[..., Path], architecture: str, settings: dict[str, Any], lift: float
) -> None:
    check(tiny_folder, architecture, settings, lift)


def test_beams_do_not_depend_on_batches_and_likelihoods_are_the_models_own(
    tiny_folder: Callable[..., Path],
) -> None:
    model = model_that_ends(tiny_folder, "gpt2")
    rule = Decoding(max_new_tokens=12, num_beams=3, no_repeat_ngram_size=2)
    whole = model.generate(PROMPTS, rule)
    model.writer.budget.tokens = 70
    parts = model.generate(PROMPTS[::-1], rule)
    assert model.writer.budget.batches > 3
    for i in range(len(PROMPTS)):
        assert whole.row(i).tolist() == parts.row(len(PROMPTS) - 1 - i).tolist()
        before = model.tokenizer(PROMPTS[i])["input_ids"]
        ids = torch.tensor([before + whole.row(i).tolist()])
        with torch.inference_mode():
            log_probs = model.model(ids).logits[0].log_softmax(-1)
        own = log_probs[len(before) - 1 : -1].gather(1, ids[0, len(before) :, None]).sum()
        assert whole.log_likelihood[i] == pytest.approx(float(own), abs=1e-3)
    one = model.generate(PROMPTS, Decoding(max_new_tokens=12, num_beams=1))
    greedy = model.generate(PROMPTS, Decoding(max_new_tokens=12))
    assert one.token_ids.tolist() == greedy.token_ids.tolist()


def test_more_beams_find_likelier_texts(tiny_folder: Callable[..., Path]) -> None:
    model: Any = load_model(str(tiny_folder("gpt2")))

    def likelihoods(beams: int) -> Any:
        rule = Decoding(max_new_tokens=4, num_beams=beams, length_penalty=0.0 if beams > 1 else 1.0)
        return model.generate(PROMPTS, rule).log_likelihood

    greedy, wide = likelihoods(1), likelihoods(40)
    assert (wide >= greedy - 1e-4).all() and wide.sum() > greedy.sum() + 0.1


def test_prompts_may_be_repeated_where_only_the_continuation_is_blocked(
    tiny_folder: Callable[..., Path],
) -> None:
    model: Any = load_model(str(tiny_folder("gpt2")))
    free = model.generate(PROMPTS[:1], Decoding(max_new_tokens=10)).row(0).tolist()
    prompt = PROMPTS[0] + model.tokenizer.decode(free)
    if model.tokenizer(prompt)["input_ids"][-len(free) :] != free:
        pytest.skip("the continuation is tokenised differently as part of a prompt")
    for beams in (None, 3):
        for place in ("text", "continuation"):
            rule = Decoding(
                max_new_tokens=12, num_beams=beams, no_repeat_ngram_size=1, no_repeat_ngram_in=place
            )
            found = model.generate([prompt], rule).row(0).tolist()
            assert len(set(found)) == len(found)
            repeated = set(found) & set(model.tokenizer(prompt)["input_ids"])
            assert bool(repeated) == (place == "continuation")


def test_stop_strings_end_beams(tiny_folder: Callable[..., Path]) -> None:
    model: Any = load_model(str(tiny_folder("gpt2")))
    free = model.generate(PROMPTS, Decoding(max_new_tokens=10, num_beams=3)).texts
    stops = tuple({text[3:5] for text in free})
    cut = model.generate(PROMPTS, Decoding(max_new_tokens=10, num_beams=3, stop=stops))
    assert "stop" in cut.finish
    for text, finish in zip(cut.texts, cut.finish, strict=True):
        assert not any(stop in text for stop in stops) or finish != "stop"


def test_nan_is_an_error_row(tiny_folder: Callable[..., Path]) -> None:
    model: Any = load_model(str(tiny_folder("gpt2")))
    rule = Decoding(max_new_tokens=5, num_beams=3)
    good = model.generate(PROMPTS[:2], rule)
    plain = model.writer.state.join

    def broken(prompts: Any, branch: Any, places: Any) -> torch.Tensor:
        logits: torch.Tensor = plain(prompts, branch, places)
        logits[0] = torch.nan
        return logits

    model.writer.state.join = broken
    bad = model.generate(PROMPTS[:2], rule)
    assert bad.errors == [None, ResponseError.NOT_FINITE]  # the longer prompt goes first
    assert bad.row(0).tolist() == good.row(0).tolist()


def test_budget_halves_when_memory_runs_out(tiny_folder: Callable[..., Path]) -> None:
    model: Any = load_model(str(tiny_folder("gpt2")))
    rule = Decoding(max_new_tokens=5, num_beams=3)
    expected = model.generate(PROMPTS, rule)
    plain = model.writer.state.advance

    def limited(tokens: torch.Tensor) -> torch.Tensor:
        if len(tokens) > 6:
            raise torch.OutOfMemoryError("CUDA out of memory")
        found: torch.Tensor = plain(tokens)
        return found

    model.writer.state.advance = limited
    assert model.generate(PROMPTS, rule).token_ids.tolist() == expected.token_ids.tolist()
    assert model.writer.budget.halvings


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"num_beams": 3, "temperature": 1.0},
            r"num_beams=3 and temperature=1\.0 cannot be combined: beam search",
        ),
        ({"num_beams": 0}, "at least 1"),
        ({"num_beams": 3, "samples": 2}, "samples=2 has no effect: beam search writes the same text each"),
        ({"length_penalty": 2.0}, "length_penalty and early_stopping have no effect without beam"),
        (
            {"early_stopping": True, "num_beams": 1},
            "length_penalty and early_stopping have no effect without beam",
        ),
        ({"num_beams": 3, "early_stopping": "always"}, "never"),
        ({"num_beams": 3, "length_penalty": float("nan")}, "finite"),
        ({"no_repeat_ngram_in": "continuation"}, "no_repeat_ngram_size"),
        ({"no_repeat_ngram_size": 3, "no_repeat_ngram_in": "prompt"}, "continuation"),
    ],
)
def test_contradictions_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Decoding(**{"max_new_tokens": 10, **values})


def test_beams_enter_the_parameters_only_where_they_are_used() -> None:
    plain = Decoding(max_new_tokens=10)
    assert Decoding(max_new_tokens=10, num_beams=1).parameters() == plain.parameters()
    assert not {"num_beams", "length_penalty", "early_stopping", "no_repeat_ngram_in"} & set(
        plain.parameters()
    )
    found = [Decoding(max_new_tokens=10, num_beams=n, length_penalty=p) for n in (2, 3) for p in (1.0, 0.5)]
    assert len({str(rule.parameters()) for rule in found}) == 4
    ngrams = Decoding(max_new_tokens=10, no_repeat_ngram_size=3, no_repeat_ngram_in="continuation")
    assert ngrams.parameters()["no_repeat_ngram_in"] == "continuation"
    context = replace(ngrams, no_repeat_ngram_in="context")
    assert context.parameters()["no_repeat_ngram_in"] == "context"
    assert np.all([Decoding(**{**r.parameters(), "stop": ()}) == r for r in [*found, ngrams, context]])


def published(model: Any, ids: list[int], rule: Decoding) -> list[int]:
    """What `generate` writes where neither its own text nor the encoder's is repeated."""
    size = rule.no_repeat_ngram_size
    with torch.inference_mode():
        written: list[int] = model.model.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones((1, len(ids)), dtype=torch.long),
            do_sample=False,
            num_beams=rule.num_beams or 1,
            max_new_tokens=rule.max_new_tokens,
            min_new_tokens=rule.min_new_tokens,
            no_repeat_ngram_size=size,
            encoder_no_repeat_ngram_size=size,
            length_penalty=rule.length_penalty,
        )[0].tolist()[1:]
    ends = [k for k, token in enumerate(written) if token in model.writer.end_ids]
    return written[: ends[0] + 1] if ends else written


@pytest.mark.parametrize(
    ("architecture", "size"), [("blenderbot", 1), ("blenderbot", 3), ("blenderbot_small", 2)]
)
def test_the_context_is_not_repeated_as_by_hugging_face(
    tiny_folder: Callable[..., Path], architecture: str, size: int
) -> None:
    model = model_that_ends(tiny_folder, architecture)
    beams = {"num_beams": 10, "min_new_tokens": 8, "length_penalty": 0.65}
    changed = 0
    for settings in ({"num_beams": None}, {"num_beams": 4}, beams):
        rule = Decoding(
            max_new_tokens=14, no_repeat_ngram_size=size, no_repeat_ngram_in="context", **settings
        )
        own = replace(rule, no_repeat_ngram_in="continuation")
        free = model.generate(PROMPTS, own)
        # an encoder that has read what the model would write: each of its n-grams is in the way
        prompts = [
            [*model.tokenizer(prompt)["input_ids"][:-1], *free.row(i).tolist()]
            for i, prompt in enumerate(PROMPTS)
        ]
        found, before = (model.generate_ids(prompts, PROMPTS, one) for one in (rule, own))
        for i, ids in enumerate(prompts):
            assert found.row(i).tolist() == published(model, ids, rule), (PROMPTS[i], settings)
            changed += found.row(i).tolist() != before.row(i).tolist()
    assert changed


def test_context_is_text_where_both_are_one_sequence(tiny_folder: Callable[..., Path]) -> None:
    model: Any = load_model(str(tiny_folder("gpt2")))
    for beams in (None, 3):
        text = Decoding(max_new_tokens=12, num_beams=beams, no_repeat_ngram_size=2)
        found = [model.generate(PROMPTS, replace(text, no_repeat_ngram_in=at)) for at in ("text", "context")]
        assert found[0].token_ids.tolist() == found[1].token_ids.tolist()
