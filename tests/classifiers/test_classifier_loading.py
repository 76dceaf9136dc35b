"""Names, options and cards of classifiers; whatever is misspelt is refused with what was meant."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from evenhand.classifiers import (
    Classifier,
    Judgements,
    classifier_cards,
    classifier_names,
    load_classifier,
    registry,
)
from evenhand.classifiers.options import Options, split_name
from evenhand.schema import ResponseError, UsageError


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
        return Judgements(np.ones((n, 1), np.float32), ["fine"] * n, np.zeros(n), [False] * n, [None] * n)

    def describe(self):
        return {"name": "constant"}


def make_constant(device, options):
    return Constant({"device": device, **options})


def make_plain():
    return Constant({})


def make_nothing():
    return None


@pytest.fixture
def plugged(monkeypatch):
    here = {"other/constant": make_constant, "other/plain": make_plain, "other/nothing": make_nothing}

    class Point:
        def __init__(self, make):
            self.load = lambda: make

    points = {name: Point(make) for name, make in here.items()}
    monkeypatch.setattr("evenhand.classifiers.loading.registered_classifiers", lambda: points)


def test_misspelt_names_are_guessed():
    for wrong, meant in {
        "regards": "regard",
        "vadar": "vader",
        "evenhand/lexicon-toxcity": "evenhand/lexicon-",
    }.items():
        with pytest.raises(UsageError, match=f"Did you mean '{meant}"):
            load_classifier(wrong)
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
            with pytest.raises(UsageError, match="no option of the classifier"):
                load_classifier(name, **refused)


def test_classifiers_of_other_packages(plugged):
    made = load_classifier("other/constant?tone=calm&rate=2", device="cpu", options={"rate": 3})
    assert made.options == {"device": "cpu", "tone": "calm", "rate": 3}
    assert load_classifier("other/plain").classify(["a"]).labels == ["fine"]
    with pytest.raises(UsageError, match="takes no revision"):
        load_classifier("other/plain", revision="1")
    with pytest.raises(UsageError, match="takes no options"):
        load_classifier("other/plain?tone=calm")
    with pytest.raises(TypeError, match="registered as a classifier"):
        load_classifier("other/nothing")


def test_entry_points_are_read(monkeypatch):
    point = EntryPoint("other/plain", f"{__name__}:make_plain", registry.GROUP)
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [point] if group == "evenhand.classifiers" else []
    )
    assert classifier_names()[-1] == "other/plain"
    assert registry.registered_classifiers() == {"other/plain": point}


def test_every_name_of_ours_has_a_card():
    cards = classifier_cards()
    assert set(cards) == set(classifier_names()) - set(registry.registered_classifiers())
    for name, card in cards.items():
        assert card.name == name and card.construct and card.harm and card.critique and card.licence, name
        assert not card.summary.endswith("..") and len(card.summary) <= 120, name


def test_names_are_split():
    assert split_name("a/b") == ("a/b", {})
    assert split_name("llm-judge?url=http://x/v1?y=1&model=m%26n") == (
        "llm-judge", {"url": "http://x/v1?y=1", "model": "m&n"})  # fmt: skip
    for wrong in ("a?b", "a?b=", "a?=c", "a?b=1&b=2"):
        with pytest.raises(UsageError):
            split_name(wrong)


def test_options_are_read_and_checked():
    options = Options("x", {"a": "1e-2", "b": " u, v ", "c": "Yes", "d": 7, "e": ["p", "q"]})
    assert options.number("a") == 0.01 and options.words("b") == ("u", "v") and options.flag("c") is True
    assert options.whole("d", 1) == 7 and options.words("e") == ("p", "q") and options.whole("f") is None
    options.finish()
    for method, value in (
        ("number", "nan"),
        ("number", "x"),
        ("whole", "0"),
        ("whole", "1.5"),
        ("flag", "maybe"),
    ):
        with pytest.raises(UsageError, match="expected"):
            getattr(Options("x", {"k": value}), method)("k")
    left = Options("x", {"treshold": "1"})
    left.number("threshold")
    with pytest.raises(UsageError, match="Did you mean 'threshold'"):
        left.finish()
