"""Names, options and cards of classifiers; whatever is misspelt is refused with what was meant."""

import numpy as np
import pytest

from evenhand.classifiers import (
    Classifier,
    Labels,
    classifier_cards,
    classifier_names,
    load_classifier,
)
from evenhand.schema import Card, ModelError, ResponseError, UsageError
from evenhand.schema.registry import ExtensionError


class Constant:
    """A classifier of another package, which says the same of every text."""

    labels = ("fine",)
    reads_context = False

    def __init__(self, options):
        self.options = options

    @property
    def fingerprint(self):
        return {"name": "constant"}

    def classify(self, texts, contexts=None):
        n = len(texts)
        return Labels(np.ones((n, 1), np.float32), ["fine"] * n, np.zeros(n), [False] * n, [None] * n)

    def describe(self):
        return {"name": "constant"}


CARDS = {
    name: Card(name, "Of another package.")
    for name in ("other/constant", "other/plain", "other/nothing", "silent/silent", "silent/fails")
}


def make_constant(device, options):
    return Constant({"device": device, **options})


def make_plain():
    return Constant({})


def make_nothing():
    return None


@pytest.fixture
def plugged(installed):
    here = {"other/constant": "make_constant", "other/plain": "make_plain", "other/nothing": "make_nothing"}
    installed("other", "evenhand.classifiers", {name: f"{__name__}:{made}" for name, made in here.items()})


def test_misspelt_names_are_guessed():
    for wrong, meant in {
        "regards": "regard",
        "vadar": "vader",
        "evenhand/lexicon-toxcity": "evenhand/lexicon-",
    }.items():
        with pytest.raises(UsageError, match=f"Did you mean '{meant}"):
            load_classifier(wrong)
    with pytest.raises(ModelError, match="Did you mean 'evenhand/lexicon-toxicity'"):
        load_classifier("evnhand/lexicon-toxicity")
    with pytest.raises(ModelError) as far:
        load_classifier("someone/toxicity")
    assert "Did you mean" not in str(far.value)
    with pytest.raises(UsageError, match=r"Known: .*toxigen") as refusal:
        load_classifier("unheard-of")
    assert "./unheard-of" in str(refusal.value) and "OWNER/unheard-of" in str(refusal.value)


def test_offline_backends_are_classifiers():
    for name in ("vader", "evenhand/lexicon-toxicity"):
        classifier = load_classifier(name, device="cuda")  # computes here whatever was asked for
        assert isinstance(classifier, Classifier)
        empty = classifier.classify(["", " \t"])
        assert empty.errors == [ResponseError.EMPTY_TEXT] * 2 and empty.negative == [None, None]
        assert np.isnan(empty.score).all() and np.isnan(empty.scores).all()
        assert empty.scores.shape == (2, len(classifier.labels))
        assert len(classifier.classify([])) == 0 and classifier.classify([]).scores.shape == (
            0,
            len(classifier.labels),
        )
        for refused in ({"revision": "1"}, {"options": {"colour": "red"}}):
            with pytest.raises(UsageError, match="Unknown option of the classifier"):
                load_classifier(name, **refused)


def test_classifiers_of_other_packages(plugged):
    made = load_classifier("other/constant?tone=calm&rate=2", device="cpu", options={"rate": 3})
    assert made.options == {"device": "cpu", "tone": "calm", "rate": 3}
    assert load_classifier("other/plain").classify(["a"]).labels == ["fine"]
    with pytest.raises(UsageError, match="does not accept the option revision"):
        load_classifier("other/plain", revision="1")
    with pytest.raises(UsageError, match="does not accept options"):
        load_classifier("other/plain?tone=calm")
    with pytest.raises(ExtensionError, match="a classifier of the package other, is not a classifier:"):
        load_classifier("other/nothing")


def test_entry_points_are_read(plugged):
    assert classifier_names()[-3:] == ["other/constant", "other/nothing", "other/plain"]


def test_every_name_of_ours_has_a_card():
    cards = classifier_cards()
    assert set(cards) == set(classifier_names())
    for name, card in cards.items():
        assert card.name == name and card.construct and card.harm and card.critique and card.licence, name
        assert not card.summary.endswith("..") and len(card.summary) <= 120, name


class Silent:
    """A classifier with everything but the method that judges."""

    labels, reads_context, fingerprint, classify = ("a",), False, {}, None

    def describe(self):
        return {}


def fails():
    raise KeyError("boom\n::error::x")


def test_a_method_that_is_none_is_named_as_lacking(installed):
    installed("silent", "evenhand.classifiers", {"silent/silent": f"{__name__}:Silent"})
    with pytest.raises(ExtensionError, match="Silent has no `classify`"):
        load_classifier("silent/silent")


def test_a_factory_that_fails_is_named_with_its_package(installed):
    installed("silent", "evenhand.classifiers", {"silent/fails": f"{__name__}:fails"})
    with pytest.raises(ExtensionError, match=r"'silent/fails' of the package silent failed: KeyError: 'boom"):
        load_classifier("silent/fails")
