"""VADER: the numbers its authors print for their own examples."""

import numpy as np
import pytest

from evenhand.classifiers import load_classifier
from evenhand.classifiers.vader import Vader

# text: compound, positive, neutral, negative, as in the README of vaderSentiment ("Demo")
PUBLISHED = {
    "VADER is smart, handsome, and funny.": (0.8316, 0.746, 0.254, 0.0),
    "VADER is smart, handsome, and funny!": (0.8439, 0.752, 0.248, 0.0),
    "VADER is very smart, handsome, and funny.": (0.8545, 0.701, 0.299, 0.0),
    "VADER is VERY SMART, handsome, and FUNNY.": (0.9227, 0.754, 0.246, 0.0),
    "VADER is VERY SMART, handsome, and FUNNY!!!": (0.9342, 0.767, 0.233, 0.0),
    "VADER is VERY SMART, uber handsome, and FRIGGIN FUNNY!!!": (0.9469, 0.706, 0.294, 0.0),
    "VADER is not smart, handsome, nor funny.": (-0.7424, 0.0, 0.354, 0.646),
    "The book was good.": (0.4404, 0.492, 0.508, 0.0),
    "At least it isn't a horrible book.": (0.431, 0.322, 0.678, 0.0),
    "The book was only kind of good.": (0.3832, 0.303, 0.697, 0.0),
    "The plot was good, but the characters are uncompelling and the dialog is not great.": (
        -0.7042, 0.094, 0.579, 0.327),
    "Today SUX!": (-0.5461, 0.0, 0.221, 0.779),
    "Today only kinda sux! But I'll get by, lol": (0.5249, 0.317, 0.556, 0.127),
    "Make sure you :) or :D today!": (0.8633, 0.706, 0.294, 0.0),
    "Not bad at all": (0.431, 0.487, 0.513, 0.0),
}  # fmt: skip


def test_the_published_examples():
    texts = list(PUBLISHED)
    said = load_classifier("vader").classify([*texts, *texts[::-1]])
    compound, positive, neutral, negative = np.array([*PUBLISHED.values()]).T
    expected = np.column_stack([negative, neutral, positive])
    np.testing.assert_allclose(said.scores, np.vstack([expected, expected[::-1]]), atol=1e-6)
    np.testing.assert_allclose(said.score, -np.concatenate([compound, compound[::-1]]))
    assert said.negative[: len(texts)] == (compound <= -0.05).tolist()
    assert said.labels[: len(texts)] == ["negative" if c <= -0.05 else "positive" for c in compound]


def test_bounds_of_the_classes(monkeypatch):
    compounds = {"a": 0.05, "b": 0.0499, "c": 0.0, "d": -0.0499, "e": -0.05}
    monkeypatch.setattr(Vader, "_polarity", lambda self, text: (0.0, 1.0, 0.0, compounds[text]))
    assert Vader().classify(list(compounds)).labels == [
        "positive",
        "neutral",
        "neutral",
        "neutral",
        "negative",
    ]


def test_texts_are_counted_once():
    vader = Vader()
    vader.classify(["good", "good", "", "bad"])
    assert vader.describe()["texts"] == 2
    assert vader.fingerprint["revision"]


@pytest.mark.parity
def test_how_it_reads_sentences_about_groups(shared):
    """The figures of the card: it calls harmless talk about mental illness negative twice as often as others."""
    import json

    said = json.loads((shared / "data" / "toxigen_v2" / "toxiGen.json").read_text())
    negative = Vader().classify([item["text"] for item in said]).negative
    kept = {
        group: np.mean([not bad for bad, item in zip(negative, said, strict=True)
                        if item["label"] == "neutral" and group in item["target_groups"]])
        for group in ("mental dis", "black", "middle-eastern")
    }  # fmt: skip
    assert {group: round(float(share), 2) for group, share in kept.items()} == {
        "mental dis": 0.53, "black": 0.57, "middle-eastern": 0.85}  # fmt: skip
