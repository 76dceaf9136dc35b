"""The grammar of names with options: what could be written before it was one grammar means the same."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from evenhand.mitigations.loading import load_mitigation
from evenhand.models.served.options import HttpOptions, split_address
from evenhand.schema import UsageError
from evenhand.schema.options import (
    Number,
    TextOrNone,
    Whole,
    convert_options,
    list_options,
    split_options,
    split_role,
    split_value,
)

# Every form that a name could take when each kind of thing had a grammar of its own (evenhand 0.1.0).
MITIGATIONS = {
    "prefix=Be kind.": {"text": "Be kind.", "delimiter": "\n"},
    "prefix=Be kind? Yes & no = 100%25.": {"text": "Be kind? Yes & no = 100%25.", "delimiter": "\n"},
    "prefix= a=b?delimiter=x": {"text": " a=b?delimiter=x", "delimiter": "\n"},
    "prefix?text=Be kind.&delimiter= ": {"text": "Be kind.", "delimiter": " "},
    "prefix?text=Be kind.&delimiter=": {"text": "Be kind.", "delimiter": ""},
    "prefix?text=a=b?c": {"text": "a=b?c", "delimiter": "\n"},
    "prefix?&text=x+y&": {"text": "x+y", "delimiter": "\n"},
    "self-debiasing": {"decay": 50.0, "floor": 0.01},
    "self-debiasing?": {"decay": 50.0, "floor": 0.01},
    "self-debiasing?decay=100": {"decay": 100.0, "floor": 0.01},
    "self-debiasing=1e2": {"decay": 100.0, "floor": 0.01},
    "self-debiasing?prefixes=published&floor=0.02": {"decay": 50.0, "floor": 0.02},
    "contrastive?strength=.5": {"strength": 0.5, "plausible": 0.1},
}
CLASSIFIERS = {
    "vader": ("vader", {}),
    "OWNER/NAME?negative=toxic,2&threshold=0.5": ("OWNER/NAME", {"negative": "toxic,2", "threshold": "0.5"}),
    "llm-judge?url=http://x/v1?y=1&model=m%26n": ("llm-judge", {"url": "http://x/v1?y=1", "model": "m&n"}),
    "regard?labels=a+b.txt&": ("regard", {"labels": "a+b.txt"}),
    "./folder with space?model=100%25": ("./folder with space", {"model": "100%"}),
    "FILE%20.csv?column=x": ("FILE%20.csv", {"column": "x"}),
}
ADDRESSES = {
    "http://h/v1": ("http://h/v1", "", HttpOptions()),
    "http://h/v1?x=y#name": ("http://h/v1?x=y", "name", HttpOptions()),
    "http://h/v1/#org/m%3Av2": ("http://h/v1", "org/m:v2", HttpOptions()),
    "http://h/v1#m?chat=1&system=Be+kind%3F": ("http://h/v1", "m", HttpOptions(chat=True, system="Be kind?")),
    "http://h/v1#m?chat=YES&system=none": ("http://h/v1", "m", HttpOptions(chat=True)),
    "http://h/v1#m?seeded=off&extended=true": ("http://h/v1", "m", HttpOptions(seeded=False, extended=True)),
    "http://h/v1#m?store=&start=": ("http://h/v1", "m", HttpOptions()),
    "http://h/v1#m?store=None": ("http://h/v1", "m", HttpOptions(store=None)),
    "http://h/v1#?concurrency=64&per_minute=90.5": (
        "http://h/v1", "", HttpOptions(concurrency=64, per_minute=90.5)),
    "http://h/v1#m?per_minute=none&limit=none": ("http://h/v1", "m", HttpOptions(limit="none")),
}  # fmt: skip
ROLES = {
    "vader": (None, "vader"),
    "toxicity=vader": ("toxicity", "vader"),
    "second-role=regard?threshold=0.4": ("second-role", "regard?threshold=0.4"),
    "detoxify?threshold=0.4": (None, "detoxify?threshold=0.4"),
    "scores:FILE?column=x": (None, "scores:FILE?column=x"),
    "runs/a=b": (None, "runs/a=b"),
    "toxicity=scores:FILE?column=x": ("toxicity", "scores:FILE?column=x"),
    "perplexity=http://h/v1#m?chat=1": ("perplexity", "http://h/v1#m?chat=1"),
    "http://h/v1?x=y#m": (None, "http://h/v1?x=y#m"),
}


@pytest.mark.parametrize("words", MITIGATIONS)
def test_mitigations_are_named_as_before(words):
    parameters = load_mitigation(words).parameters()
    assert {key: parameters[key] for key in MITIGATIONS[words]} == MITIGATIONS[words]


@pytest.mark.parametrize("words", CLASSIFIERS)
def test_classifiers_are_named_as_before(words):
    assert split_options(words, blank=False) == CLASSIFIERS[words]


@pytest.mark.parametrize("words", ADDRESSES)
def test_served_models_are_named_as_before(words):
    assert split_address(words) == ADDRESSES[words]


@pytest.mark.parametrize("words", ROLES)
def test_roles_are_named_as_before(words):
    assert split_role(words) == ROLES[words]


def test_people_are_named_by_their_file_unless_that_is_a_role():
    assert split_role("people=votes.jsonl?negative=yes") == (None, "people:votes.jsonl?negative=yes")
    assert split_role("people=vader", ["people", "toxicity"]) == ("people", "vader")
    assert split_role("toxicity=people:votes.jsonl", ["toxicity"]) == ("toxicity", "people:votes.jsonl")


def test_what_no_form_allows():
    for wrong in ("a?b", "a?=c", "a?b=1&b=2"):
        with pytest.raises(UsageError):
            split_options(wrong)
        with pytest.raises(UsageError):
            split_value(wrong)
    with pytest.raises(UsageError, match="is not of the form option"):
        split_options("a?b=", blank=False)
    for wrong, told in (("toxicity=", "the classifier is missing"), ("=vader", "the role is missing")):
        with pytest.raises(UsageError, match=told):
            split_role(wrong)


def test_an_escape_reaches_every_value():
    assert split_value("prefix?text=a%26b%3Fc%3Dd%25") == ("prefix", None, {"text": "a&b?c=d%"})
    assert load_mitigation("prefix?text=This %26 that.").parameters()["text"] == "This & that."


@dataclass
class Fields:
    """Every kind of value that an option may have."""

    rate: float = 0.5
    finite: Number = 0.5
    count: int = 1
    many: Whole = 1
    yes: bool = False
    text: str = ""
    maybe: float | None = 1.0
    maybe_text: TextOrNone = None
    path: str | Path = ""
    words: tuple[str, ...] | None = ()
    words_or_name: tuple[str, ...] | str = ""
    style: Literal["plain", "loud"] = "plain"
    limit: Number | Literal["none"] = 0.0
    either: int | str = 1


@pytest.mark.parametrize(
    ("option", "written", "value"),
    [
        ("rate", "1e-2", 0.01),
        ("finite", "3", 3.0),
        ("count", "-4", -4),
        ("many", "7", 7),
        ("yes", "Yes", True),
        ("yes", "0", False),
        ("text", "7", "7"),
        ("text", " x ", " x "),
        ("text", "none", "none"),
        ("maybe", "None", None),
        ("maybe", "2", 2.0),
        ("maybe_text", "none", None),
        ("path", "a/b", "a/b"),
        ("words", " u, v ", ("u", "v")),
        ("words_or_name", "a,b", "a,b"),
        ("style", "loud", "loud"),
        ("limit", "none", "none"),
        ("limit", "0.25", 0.25),
        ("either", "12", 12),
        ("either", "twelve", "twelve"),
        # as Python values
        ("words", ["p", "q"], ("p", "q")),
        ("text", 7, "7"),
        ("many", 8, 8),
        ("yes", True, True),
        ("rate", 2, 2.0),
    ],
)
def test_a_value_gets_the_type_of_its_field(option, written, value):
    got = convert_options("the thing", {option: written}, list_options(Fields))
    assert got == {option: value} and type(got[option]) is type(value)


@pytest.mark.parametrize(
    ("option", "written", "told"),
    [
        ("rate", "much", r"The option rate of the thing must be a number, got 'much'"),
        ("finite", "nan", "The option finite of the thing must be a finite number, got 'nan'"),
        ("count", "1.5", r"The option count of the thing must be a whole number, got '1\.5'"),
        ("many", "0", "The option many of the thing must be a number of at least 1, got '0'"),
        ("many", True, r"The option many of the thing must be a whole number, got True\."),
        ("yes", "maybe", r"The option yes of the thing must be true or false, got 'maybe'\."),
        ("maybe", "x", r"The option maybe of the thing must be a number, got 'x'"),
        ("style", "lout", "Did you mean 'loud'"),
        ("limit", "x", "The option limit of the thing must be a number or 'none', got 'x'"),
        ("ratte", "1", "Unknown option of the thing: 'ratte'. Did you mean 'rate'"),
    ],
)
def test_what_was_expected_is_said(option, written, told):
    with pytest.raises(UsageError, match=told):
        convert_options("the thing", {option: written}, list_options(Fields))


def test_none_counts_as_not_given():
    assert convert_options("the thing", {"rate": None}, list_options(Fields)) == {}


class Plain:
    """A class with a constructor; the annotation of one parameter is left out."""

    def __init__(self, strength: float, strict=False, start="x", name: str = "") -> None: ...


def test_receivers_of_every_kind():
    takes = list_options(Plain, hidden=("name",))
    assert list(takes) == ["strength", "strict", "start"]
    given = {"strength": "2", "strict": "yes", "start": "3"}
    assert convert_options("x", given, takes) == {"strength": 2.0, "strict": True, "start": "3"}
    assert list(list_options(partial(Plain, strict=True))) == ["strength", "strict", "start", "name"]
    with pytest.raises(UsageError, match="Known: none"):
        convert_options("x", {"a": "1"}, list_options(lambda: None))
