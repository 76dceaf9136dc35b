"""The shipped weights: they are this World's, load with plain transformers, and hold what the card says."""

import json
from pathlib import Path

import numpy as np
import pytest

from evenhand.models.contract import LanguageModel
from evenhand.reference.embedded import REFERENCE_CARD, WEIGHTS, WORLD_CARD, load_reference, load_world
from evenhand.reference.training.examine import axis_spreads, excess_loss, planted_shifts
from evenhand.reference.worlds import NULL_AXES, PLANTS, planted_world


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return load_reference(device="cpu")


def test_the_weights_were_trained_on_the_world_we_ship() -> None:
    """Fails when lexicon, templates or plants changed after the training: rebuild the weights then."""
    record = json.loads((WEIGHTS / "training.json").read_text(encoding="utf-8"))
    assert record["world"] == planted_world().fingerprint


def test_the_package_stays_small() -> None:
    assert sum(file.stat().st_size for file in WEIGHTS.iterdir()) < 4_000_000
    assert {file.name for file in WEIGHTS.iterdir()} >= {"config.json", "model.safetensors", "tokenizer.json"}


def test_plain_transformers_scores_like_the_engine(model: LanguageModel) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    plain = AutoModelForCausalLM.from_pretrained(WEIGHTS, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(WEIGHTS)
    texts = planted_world().sample(12, seed=4)
    sums = []
    for text in texts:
        ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer(text)["input_ids"]]])
        with torch.no_grad():
            logs = plain(ids).logits[0, :-1].log_softmax(-1)
        sums.append(float(logs.gather(1, ids[0, 1:, None]).sum()))
    np.testing.assert_allclose(model.log_likelihoods(texts).sums, sums, atol=2e-3)


def test_loss_is_near_the_entropy_of_the_world(model: LanguageModel) -> None:
    loss = excess_loss(model, planted_world(), n=600, seed=11)
    # a divergence is positive; a model that knew the language but no word of it would be 14 nats off
    assert 0 < loss["excess"] < 0.2
    assert loss["excess_per_token"] < 0.02


def test_every_world_word_is_one_token() -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(WEIGHTS)
    words = sorted(planted_world().vocabulary)
    assert [word for word in words if len(tokenizer(word)["input_ids"]) != 1] == []


def test_null_axes_hardly_spread(model: LanguageModel) -> None:
    for spread in axis_spreads(model, nouns=("woman", "uncle", "person")):
        assert spread.axis in NULL_AXES
        assert spread.standard_deviation < 0.005, spread
        assert spread.largest < 0.03, spread
        assert spread.pairs_beyond_margin < 0.01, spread


def test_planted_opinions_are_learned(model: LanguageModel) -> None:
    for shift in planted_shifts(model, nouns=("woman", "man")):
        assert shift.found == pytest.approx(shift.planted, rel=0.25), shift


def test_every_pair_of_opinions_reacts_to_what_was_planted(model: LanguageModel) -> None:
    for shift in planted_shifts(model, nouns=("woman", "colleague")):
        assert len(shift.pairs) == 12
        reached = {pair: found / shift.planted for pair, found in shift.pairs.items()}
        assert min(reached.values()) > 0.25, shift  # pairs whose valence follows the people reach least
        assert sum(share > 0.75 for share in reached.values()) >= 8, shift


def test_texts_outside_the_world_have_finite_perplexity(model: LanguageModel) -> None:
    texts = [
        "What do you think about left-handed moms?",
        "I'm a differently abled gramps.",
        "Zwölf 漢字 & 🙂",
    ]
    answers = model.log_likelihoods(texts)
    assert answers.errors == [None] * 3
    surprise = -answers.sums / answers.counts
    assert (surprise[:2] < 12).all()  # published-style sentences stay within reach
    assert surprise[2] < 40


def test_loading_twice_gives_the_same_numbers_and_fingerprint(model: LanguageModel) -> None:
    again = load_reference(device="cpu")
    assert again.fingerprint == model.fingerprint
    assert model.fingerprint["name"] == "evenhand/reference"
    texts = planted_world().sample(20, seed=8)
    np.testing.assert_array_equal(again.log_likelihoods(texts).sums, model.log_likelihoods(texts).sums)


def test_cards_state_every_plant() -> None:
    for card in (REFERENCE_CARD, WORLD_CARD):
        for axis, bucket, target, odds in PLANTS:
            assert f"| {axis} | {bucket} | {target} | {odds:+.1f} |" in card.details
        assert all(axis in card.details for axis in NULL_AXES)


def test_missing_weights_say_how_to_rebuild_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from evenhand.reference import embedded
    from evenhand.schema import DataError

    monkeypatch.setattr(embedded, "WEIGHTS", tmp_path / "weights")
    with pytest.raises(DataError, match=r"evenhand\.reference\.train"):
        load_reference()


def test_the_world_by_name_is_the_planted_one() -> None:
    assert load_world().fingerprint == planted_world().fingerprint
