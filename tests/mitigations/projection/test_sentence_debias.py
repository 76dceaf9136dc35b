"""SentenceDebias against a plain decomposition, and the sentences and states that both projections learn from."""

import numpy as np
import pytest
import torch

from evenhand.mitigations.projection import find_directions, grouped_sentences, mean_states
from evenhand.mitigations.training import Encoding, Material, Preference
from evenhand.models import load_model
from evenhand.models.huggingface import CausalModel
from evenhand.schema import DataError


def test_components_are_those_of_numpy_and_a_planted_direction_is_the_first() -> None:
    random = np.random.default_rng(0)
    common, planted = random.normal(size=(300, 16)), np.linalg.qr(random.normal(size=(16, 1)))[0][:, 0]
    sides = [common + random.normal(0, 0.05, (300, 16)) + shift * planted for shift in (-1.0, 0.0, 1.0)]
    states = np.concatenate(sides)
    tuples = np.arange(900).reshape(3, 300).T
    found, shares = find_directions(states, tuples, 2)
    unit = states / np.linalg.norm(states, axis=1)[:, None]
    centred = []
    for rows in tuples:
        mean = unit[rows].sum(0) / 3
        centred += [unit[row] - mean for row in rows]
    values, vectors = np.linalg.eigh(np.cov(np.array(centred).T))
    for number in range(2):
        assert abs(found[number] @ vectors[:, -1 - number]) == pytest.approx(1, abs=1e-8)
    assert shares[:16] == pytest.approx(values[::-1] / values.sum(), abs=1e-8)
    assert abs(found[0] @ planted) > 0.95


def test_states_of_groups_that_do_not_differ_are_refused() -> None:
    with pytest.raises(DataError, match="no direction to remove"):
        find_directions(np.ones((4, 3)), np.array([[0, 1], [2, 3]]), 1)


def sentences_material(frames: int = 10) -> Material:
    """Three descriptors of two groups in each frame."""
    pairs = tuple(
        Preference("", f"I like {who} {frame}.", f"I hate {who} {frame}.", f"frame {frame}", group)
        for frame in range(frames)
        for who, group in (("x", "first"), ("y", "first"), ("z", "second"))
    )
    return Material(bias="a", groups=("a", "a"), pairs=(), attributes=(), texts=(), preferences=pairs)


def test_sentences_are_kept_apart_by_frame_and_tuples_hold_every_group() -> None:
    found = grouped_sentences(sentences_material(), "words", 0)
    assert len(found.texts) == 60 and found.names == ("first", "second")
    held_out = found.held_out(0.25, 0)
    assert held_out.sum() == 15 and not set(found.frames[held_out]) & set(found.frames[~held_out])
    tuples = found.tuples(0)
    assert (found.groups[tuples] == [0, 1]).all() and set(tuples.ravel().tolist()) == set(range(60))
    assert (found.frames[tuples[:, 0]] == found.frames[tuples[:, 1]]).all()


def test_material_without_groups_or_with_little_is_refused() -> None:
    with pytest.raises(DataError, match="at least 8"):
        grouped_sentences(sentences_material(2), "words", 0)
    plain = Material(
        bias="b",
        groups=("chosen", "rejected"),
        pairs=(),
        attributes=(),
        texts=("It rains.",),
        preferences=(Preference("", "a", "b"),),
    )
    with pytest.raises(DataError, match="--method dpo"):
        grouped_sentences(plain, "words", 0)


def test_states_are_means_over_the_tokens_of_a_sentence() -> None:
    base = load_model("evenhand/reference", device="cpu")
    assert isinstance(base, CausalModel)
    texts = ["I admire you.", "They talk about old men at the bus stop."]
    found = mean_states(base.model, base.tokenizer, texts, Encoding(20, tuple(base.start)))
    for text, mean in zip(texts, found, strict=True):
        ids = torch.tensor([[*base.start, *base.tokenizer(text)["input_ids"]]])
        with torch.no_grad():
            states = base.model.transformer(ids).last_hidden_state[0, len(base.start) :]
        assert mean == pytest.approx(states.mean(0).numpy(), abs=1e-5)
