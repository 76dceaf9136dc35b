"""Decoding rules, filters and draws against Hugging Face's own and exact distributions."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from evenhand.models.decoding import Decoding, decoding_preset
from evenhand.models.writing.rows import SeenNgrams, row_uniforms
from evenhand.models.writing.sampling import draw, filter_logits, sample_tokens
from evenhand.schema import UsageError


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens must be a whole number of at least 1, got 0"),
        ({"max_new_tokens": 2.5}, "whole number"),
        (
            {"max_new_tokens": 3, "min_new_tokens": 4},
            r"`--min-new-tokens` \(4\) is larger than `--max-new-tokens` \(3\)",
        ),
        ({"temperature": 0.0}, "temperature=None"),
        ({"temperature": float("nan")}, "temperature must be greater than 0, got nan"),
        ({"temperature": 1.0, "top_p": 0.0}, r"top_p must be above 0 and at most 1, got 0\.0"),
        ({"temperature": 1.0, "top_p": 1.5}, "at most 1"),
        ({"temperature": 1.0, "top_k": 0}, "top_k must be a whole number of at least 1, got 0"),
        ({"top_k": 40}, "without a temperature"),
        ({"top_k": 4, "top_p": 0.5}, "top_k and top_p"),
        ({"samples": 4}, "samples=4 has no effect: greedy decoding writes the same text"),
        ({"temperature": 1.0, "samples": 70000}, "65,535"),
        ({"stop": "."}, "tuple"),
        ({"stop": ("",)}, r"stop must be a tuple of non-empty strings, got \('',\)"),
        ({"no_repeat_ngram_size": 0}, "at least 1"),
    ],
)
def test_contradictions_are_refused_with_the_way_out(values: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Decoding(**{"max_new_tokens": 10, **values})


def test_presets_are_the_published_ones() -> None:
    found = {
        family: (rule.temperature, rule.top_k, rule.top_p)
        for family in ("gpt2", "bloom", "opt", "bb3", "llama")
        for rule in [decoding_preset(family, max_new_tokens=30)]
    }
    assert found == {
        "gpt2": (0.7, 40, None),
        "bloom": (0.7, 40, None),
        "opt": (1.0, None, 0.9),
        "bb3": (1.0, None, 0.9),
        "llama": (1.0, None, 0.9),
    }
    with pytest.raises(UsageError, match="gpt2"):
        decoding_preset("gpt-2", max_new_tokens=30)


def test_parameters_tell_rules_apart_and_rebuild_them() -> None:
    rule = decoding_preset("opt", max_new_tokens=30, samples=4, seed=2)
    stored = json.loads(json.dumps(rule.parameters()))
    assert Decoding(**{**stored, "stop": tuple(stored["stop"])}) == rule
    assert rule.parameters() != decoding_preset("opt", max_new_tokens=30, samples=4, seed=3).parameters()


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    temperature=st.floats(0.2, 3),
    top_k=st.none() | st.integers(1, 60),
    top_p=st.none() | st.floats(0.05, 0.99),
)
def test_filters_equal_hugging_faces(
    seed: int, temperature: float, top_k: int | None, top_p: float | None
) -> None:
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    logits = torch.randn(5, 50, generator=torch.Generator().manual_seed(seed)) * 3
    logits[0] = logits[0].round()  # ties
    ids = torch.zeros(5, 1, dtype=torch.long)
    expected = TemperatureLogitsWarper(temperature)(ids, logits)
    if top_k is not None:
        expected = TopKLogitsWarper(top_k)(ids, expected)
    if top_p is not None:
        expected = TopPLogitsWarper(top_p)(ids, expected)
    rule = Decoding(max_new_tokens=1, temperature=temperature, top_k=top_k, top_p=top_p)
    assert torch.equal(filter_logits(logits, rule), expected)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    scale=st.sampled_from([0.1, 2.0, 6.0]),
    temperature=st.floats(0.3, 2),
    top_k=st.none() | st.integers(1, 60),
    top_p=st.none() | st.floats(0.05, 0.99),
)
def test_the_short_way_draws_what_the_long_way_draws(
    seed: int, scale: float, temperature: float, top_k: int | None, top_p: float | None
) -> None:
    random = torch.Generator().manual_seed(seed)
    logits = torch.randn(8, 3000, generator=random) * scale  # flat ones have nuclei beyond the short way
    logits[0] = logits[0].round()  # ties
    uniforms = torch.rand(8, generator=random, dtype=torch.float64)
    rule = Decoding(max_new_tokens=1, temperature=temperature, top_k=top_k, top_p=top_p)
    found, expected = sample_tokens(logits, rule, uniforms), draw(filter_logits(logits, rule), uniforms)
    # where top-p cuts, rounding of the sum may fall to either side of a token and shift the draw by one
    assert (found == expected).sum() >= (8 if top_p is None else 7)


def test_draw_inverts_the_distribution_function() -> None:
    probabilities = torch.tensor([0.0, 0.25, 0.0, 0.5, 0.25, 0.0])
    grid = (torch.arange(1000).double() + 0.5) / 1000
    tokens = draw(probabilities.log().expand(1000, 6), grid)
    assert np.bincount(tokens, minlength=6).tolist() == [0, 250, 0, 500, 250, 0]
    edges = torch.tensor([0.0, 1.0]).double()
    assert draw(probabilities.log().expand(2, 6), edges).tolist() == [1, 4]  # never one without mass


def test_uniforms_are_uniform_and_independent_between_rows() -> None:
    from scipy.stats import kstest

    table = np.stack([row_uniforms(3, f"prompt {i}", s, 40) for i in range(50) for s in range(4)])
    assert kstest(table.ravel(), "uniform").pvalue > 1e-3
    between = np.corrcoef(table)
    assert np.abs(between[np.triu_indices(200, 1)]).mean() < 1.5 / np.sqrt(40)
    assert len(np.unique(table)) == table.size


@given(tokens=st.lists(st.integers(0, 3), max_size=30), size=st.integers(1, 4))
def test_blocked_tokens_are_those_that_would_repeat_an_ngram(tokens: list[int], size: int) -> None:
    seen = {tuple(tokens[k : k + size]) for k in range(len(tokens) - size + 1)}
    expected = {t for t in range(4) if tuple([*tokens, t][-size:]) in seen and len(tokens) + 1 >= size}
    assert set(SeenNgrams(tokens, size).blocked_tokens()) == expected
