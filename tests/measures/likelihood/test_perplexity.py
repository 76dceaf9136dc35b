"""Perplexity against its definition, and missing values kept."""

import numpy as np
from hypothesis import given, strategies as st

from evenhand.measures import bits_per_character, inverse_perplexity, perplexity


def test_uniform_model_has_the_vocabulary_size_as_perplexity() -> None:
    tokens = np.array([1, 5, 40])
    assert np.allclose(perplexity(-tokens * np.log(50), tokens), 50)
    assert np.allclose(inverse_perplexity(-tokens * np.log(50), tokens), 1 / 50)


@given(st.floats(-500, -0.01), st.integers(1, 200))
def test_perplexity_and_inverse_are_reciprocal(log_likelihood: float, tokens: int) -> None:
    product = perplexity([log_likelihood], [tokens]) * inverse_perplexity([log_likelihood], [tokens])
    assert np.allclose(product, 1)


def test_missing_stays_missing() -> None:
    assert np.isnan(perplexity([np.nan, -1.0, -1.0], [2, 0, np.nan])).all()
    assert np.isnan(bits_per_character([np.nan, -1.0], [4, 0])).all()


def test_bits_per_character_does_not_depend_on_tokens() -> None:
    assert np.allclose(bits_per_character([-10 * np.log(2)], [5]), 2)
