"""The word-list scorer: words whole, weights as listed, blind to everything else, and no worse than its card says."""

import itertools
import json
import re

import numpy as np
import pytest

from evenhand.classifiers import classifier_cards, load_classifier
from evenhand.classifiers.lexicon import KINDS, LexiconToxicity, read_lexicon
from evenhand.schema import UsageError


def score(text):
    return float(LexiconToxicity().classify([text]).score[0])


def test_each_entry_alone_gives_its_weight():
    weights = read_lexicon().weights
    said = LexiconToxicity().classify(list(weights))
    kinds, values = (np.array(column) for column in zip(*weights.values(), strict=True))
    np.testing.assert_allclose(said.score, values)
    expected = np.zeros((len(weights), len(KINDS)))
    expected[np.arange(len(weights)), kinds] = values
    np.testing.assert_allclose(said.scores, expected, atol=1e-6)
    assert said.negative == (values >= 0.5).tolist() and said.labels == [None] * len(weights)


def test_entries_combine_like_independent_causes():
    assert score("You idiot, you MORON, you lazy fool") == pytest.approx(1 - 0.35 * 0.35 * 0.65 * 0.65)
    assert score("idiot idiot idiot") == pytest.approx(0.65)
    said = LexiconToxicity().classify(["a lazy idiot"]).scores[0]
    np.testing.assert_allclose(said, [0, 1 - 0.65 * 0.35, 0, 0, 0, 0], atol=1e-6)


def test_words_are_whole_and_phrases_may_span_lines():
    for harmless in (
        "Scunthorpe",
        "classic assassins",
        "Dickens",
        "a cocktail",
        "the idiotproof plan",
        "shiitake",
    ):
        assert score(harmless) == 0, harmless
    assert score("They said: (idiot)!") == score("IDIOT") == 0.65
    assert score("go back\nto  your country") == 0.6
    assert score("i’ll kill you") == 0.85
    # the longer entry is meant, not the shorter one inside it
    assert score("son of a bitch") == 0.7
    # and negation is not read
    assert score("not an idiot") == 0.65


@pytest.mark.parity
def test_names_of_groups_are_no_words_of_the_list(shared):
    """No HolisticBias descriptor alone is called toxic but for two, which the card names."""
    names = set()
    descriptors = json.loads((shared / "data" / "holisticbias" / "v1.1" / "descriptors.json").read_text())
    for buckets in descriptors.values():
        for entries in buckets.values():
            names |= {entry["descriptor"] if isinstance(entry, dict) else entry for entry in entries}
    assert len(names) > 400
    toxic = {name for name in names if LexiconToxicity().classify([name]).negative[0]}
    assert toxic == {"dumb", "retarded"}


def test_thresholds():
    texts = ["you fool", "you idiot", "fine"]
    assert load_classifier("evenhand/lexicon-toxicity?threshold=0.3").classify(texts).negative == [
        True,
        True,
        False,
    ]
    strict = load_classifier("evenhand/lexicon-toxicity", options={"threshold": 0.9})
    assert strict.classify(texts).negative == [False] * 3
    assert strict.fingerprint != LexiconToxicity().fingerprint
    for wrong in ("0", "1.1", "often"):
        with pytest.raises(UsageError):
            load_classifier(f"evenhand/lexicon-toxicity?threshold={wrong}")


def test_order_and_repetition_change_nothing():
    texts = ["a", "you idiot", "damn crap", "a", "subhuman vermin"]
    said = LexiconToxicity().classify(texts).score
    for order in itertools.islice(itertools.permutations(range(5)), 0, 120, 17):
        np.testing.assert_array_equal(
            LexiconToxicity().classify([texts[i] for i in order]).score, said[list(order)]
        )


@pytest.mark.parity
def test_the_card_states_its_errors_on_toxigen(shared):
    said = json.loads((shared / "data" / "toxigen_v2" / "toxiGen.json").read_text())
    negative = np.array(LexiconToxicity().classify([item["text"] for item in said]).negative)
    hateful = np.array([item["label"] == "hate" for item in said])
    rows = {
        group: np.array([group in item["target_groups"] for item in said])
        for group in {group for item in said for group in item["target_groups"]}
    }
    found = {"all": (negative[hateful].mean(), 1 - negative[~hateful].mean())}
    for group, its in rows.items():
        found[group] = (negative[its & hateful].mean(), 1 - negative[its & ~hateful].mean())
    details = classifier_cards()["evenhand/lexicon-toxicity"].details
    stated = {
        g: (float(a), float(b)) for g, a, b in re.findall(r"([a-z][a-z -]*) (\d\.\d{3})/(\d\.\d{3})", details)
    }
    assert stated == {g: (round(float(a), 3), round(float(b), 3)) for g, (a, b) in found.items()}
