"""What numpy writes against the engine in torch: the same texts, likelihoods and ends, drawn by the same numbers."""

from typing import Any

import numpy as np
import pytest
import torch

from evenhand.models import Decoding
from evenhand.models.writing.sampling import filter_logits as filtered_in_torch
from evenhand.reference.embedded import WEIGHTS, load_reference
from evenhand.reference.in_numpy import NumpyModel
from evenhand.reference.in_numpy.writing import filter_logits
from evenhand.reference.worlds import planted_world

PROMPTS = [text[: 6 + i % 20] for i, text in enumerate(planted_world().sample(30, seed=5))] + ["", "x" * 900]
RULES = {
    "greedy": {},
    "drawn": {"temperature": 1.0, "samples": 3, "seed": 4},
    "top-k": {"temperature": 0.7, "top_k": 40, "samples": 2},
    "top-p": {"temperature": 1.0, "top_p": 0.9, "samples": 2},
    "all": {"temperature": 1.3, "top_k": 9, "top_p": 0.8, "min_new_tokens": 6, "no_repeat_ngram_size": 2},
    "stops": {"temperature": 1.0, "stop": (".", " is")},
}


@pytest.fixture(scope="module")
def torch_model() -> Any:
    return load_reference(device="cpu")


@pytest.fixture(scope="module")
def model() -> NumpyModel:
    return NumpyModel(WEIGHTS, "evenhand/reference")


@pytest.mark.parametrize("rule", RULES)
def test_texts_are_those_of_torch(rule: str, model: NumpyModel, torch_model: Any) -> None:
    decoding = Decoding(max_new_tokens=12, **RULES[rule])
    truth, found = torch_model.generate(PROMPTS, decoding), model.generate(PROMPTS, decoding)
    assert found.texts == truth.texts
    assert (found.finish, found.errors, found.details) == (truth.finish, truth.errors, truth.details)
    for name in ("prompt", "sample", "offsets", "token_ids"):
        np.testing.assert_array_equal(getattr(found, name), getattr(truth, name))
    np.testing.assert_allclose(found.log_likelihood, truth.log_likelihood, rtol=1e-5, atol=1e-4)


def test_a_prompt_is_continued_alike_alone_and_among_others(model: NumpyModel) -> None:
    decoding = Decoding(max_new_tokens=12, temperature=1.0, samples=2)
    together = model.generate(PROMPTS[:30], decoding).texts
    assert model.generate(PROMPTS[7:8], decoding).texts == together[14:16]


@pytest.mark.parametrize(
    "rule",
    [{"top_k": 1}, {"top_k": 3}, {"top_k": 500}, {"top_p": 0.3}, {"top_p": 0.99}, {"top_k": 7, "top_p": 0.6}],
)
def test_filters_keep_the_tokens_that_torch_keeps(rule: dict[str, float]) -> None:
    decoding = Decoding(max_new_tokens=1, temperature=0.8, **rule)  # type: ignore[arg-type]
    scores = np.random.default_rng(0).normal(0, 3, (20, 60)).astype(np.float32).round(1)  # rounded: with ties
    truth = filtered_in_torch(torch.from_numpy(scores), decoding).numpy()
    np.testing.assert_array_equal(np.isinf(filter_logits(scores, decoding)).sum(1), np.isinf(truth).sum(1))
