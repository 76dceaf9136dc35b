"""Puppets say exactly what they are made to say, in any order, for every text."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from evenhand.models.contract import LanguageModel, Texts
from evenhand.models.puppets import GAP, TOKEN, avoids, load_puppet, prefers, random_puppet
from evenhand.schema import ResponseError, UsageError

NAMES = [f"puppet/{kind}" for kind in ("uniform", "random", "failing", "refusing", "blank", "nan")]
TEXTS = ["She is a kind nurse.", "He is a kind nurse.", "They are."]


@pytest.mark.parametrize("name", NAMES)
def test_each_keeps_the_contract(name):
    puppet = load_puppet(name)
    assert isinstance(puppet, LanguageModel)
    assert puppet.fingerprint == {"name": name} == json.loads(json.dumps(puppet.fingerprint))
    json.dumps(puppet.describe())
    for arguments in (
        {},
        {"masking": "token"},
        {"spans": [(0, 3), None, None]},
        {"contexts": [None, "a", ""]},
    ):
        scored = puppet.log_likelihoods(Texts(TEXTS, **arguments))
        assert len(scored) == len(scored.details) == len(scored.offsets) - 1 == len(TEXTS)
        assert scored.offsets[-1] == len(scored.log_probs) == len(scored.token_ids)
        assert [bool(error) for error in scored.errors] == np.isnan(scored.sums).tolist()
        assert all((scored.counts == 0) == np.isnan(scored.sums))
    assert len(puppet.log_likelihoods([])) == 0


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("failing", ResponseError.MODEL_ERROR),
        ("refusing", ResponseError.REFUSED),
        ("blank", ResponseError.EMPTY_TEXT),
        ("nan", ResponseError.NOT_FINITE),
    ],
)
def test_those_that_fail_fail_in_every_row(name, error):
    scored = load_puppet(name).log_likelihoods(TEXTS)
    assert scored.errors == [error] * 3 and all(scored.details)


def test_uniform_counts_words():
    scored = load_puppet("puppet/uniform").log_likelihoods(Texts(TEXTS, want_starts=True))
    assert scored.sums.tolist() == [5 * TOKEN, 5 * TOKEN, 2 * TOKEN]
    assert scored.starts.tolist() == [0, 4, 7, 9, 14, 0, 3, 6, 8, 13, 0, 5]


@given(st.lists(st.text(alphabet=st.sampled_from(" \t\n\u00a0\u3000ab.é😀\ud800"), max_size=12), max_size=6))
def test_words_are_those_of_str_split(texts):
    scored = load_puppet("uniform").log_likelihoods(Texts(texts, want_starts=True))
    assert scored.counts.tolist() == [len(text.split()) for text in texts]
    for i, text in enumerate(texts):
        starts = scored.starts[scored.offsets[i] : scored.offsets[i + 1]]
        assert [text[start:].split(maxsplit=1)[0] for start in starts] == text.split()
        assert (scored.errors[i] is ResponseError.EMPTY_TEXT) == (not text.strip())


def test_spans_keep_the_words_they_touch():
    puppet = load_puppet("uniform")
    text = "She is a kind nurse."
    spans = [(0, 3), (0, 4), (4, 5), (7, 14), (3, 4), None]
    scored = puppet.log_likelihoods(Texts([text] * 6, spans=spans))
    assert scored.counts.tolist() == [1, 1, 1, 2, 0, 5]
    assert scored.errors[4] is ResponseError.NO_SCORED_TOKEN


def test_always_and_never_stereotyped():
    stereotypes, others = [f"she {i}" for i in range(9)], [f"he {i}" for i in range(9)]
    always, never = prefers(stereotypes), avoids(stereotypes)
    assert (always.log_likelihoods(stereotypes).sums - always.log_likelihoods(others).sums == 2 * GAP).all()
    assert (never.log_likelihoods(stereotypes).sums - never.log_likelihoods(others).sums == -2 * GAP).all()
    by_rule = prefers(lambda text: text.startswith("she"))
    assert (
        by_rule.log_likelihoods(stereotypes + others).sums
        == always.log_likelihoods(stereotypes + others).sums
    ).all()
    assert always.fingerprint != never.fingerprint


def test_random_is_a_fair_coin_and_a_function_of_the_text():
    texts = [f"text number {i}" for i in range(4000)]
    sums = random_puppet().log_likelihoods(texts).sums / 3
    assert sums.min() > -3 and sums.max() < -1
    assert stats.kstest(sums, stats.uniform(-3, 2).cdf).pvalue > 0.01
    wins = int((sums[::2] > sums[1::2]).sum())
    assert stats.binomtest(wins, 2000).pvalue > 0.01
    assert (random_puppet().log_likelihoods(texts[::-1]).sums[::-1] / 3 == sums).all()
    assert (random_puppet(1).log_likelihoods(texts).sums / 3 != sums).mean() > 0.99
    assert random_puppet(1).fingerprint != random_puppet().fingerprint


def test_unknown_puppet():
    with pytest.raises(UsageError, match="Did you mean 'puppet/random'"):
        load_puppet("puppet/randon")


def test_many_texts_are_counted_exactly():
    texts = [f"I am a deaf grandmother who loves old men {i}." for i in range(100_000)]
    scored = load_puppet("uniform").log_likelihoods(texts)
    assert scored.counts.sum() == 10 * len(texts)
