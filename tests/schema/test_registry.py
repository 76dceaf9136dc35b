"""Things by name: what is ours, what other packages add, and what cannot be used."""

import sys
from types import ModuleType

import pytest

from evenhand.schema import Card, EvenhandError, UsageError
from evenhand.schema.registry import ExtensionError, Registry, stated_card

GROUP = "evenhand.things_of_this_test"


class Thing:
    """Something that can be registered."""

    def __init__(self, name: str, card: Card | None = None) -> None:
        self.name, self.card = name, card


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("module_of_things")
    made.OURS = Thing("ours", Card("ours", "Of this package."))
    made.THEIRS = Thing("theirs", Card("theirs", "Of another."))
    made.BARE = Thing("bare")
    made.NUMBER = 3
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


@pytest.fixture
def things(module: ModuleType) -> Registry[Thing]:
    return Registry(
        "thing", GROUP, {"ours": "module_of_things:OURS"}, "a Thing", lambda found: isinstance(found, Thing)
    )


def test_ours_come_first_and_are_imported_when_asked_for(things, installed):
    lazy = Registry("thing", GROUP, {"z": "no.such.module:X", "a": "module_of_things:OURS"})
    installed("other", GROUP, {"theirs": "module_of_things:THEIRS", "early": "no.such.module:X"})
    assert lazy.names() == ["z", "a", "early", "theirs"]
    assert "z" in lazy and "theirs" in lazy and "b" not in lazy
    assert things.load("ours").name == "ours" and things.load("theirs").name == "theirs"
    assert things.package("ours") == "evenhand" and things.package("theirs") == "other"
    assert things.card("theirs").summary == "Of another."


def test_a_misspelt_name_is_guessed(things, installed):
    installed("other", GROUP, {"theirs": "module_of_things:THEIRS"})
    with pytest.raises(UsageError, match=r"Unknown thing: 'thiers'. Did you mean 'theirs'"):
        things.load("thiers")


def test_without_card_there_is_no_entry(things, installed, module):
    installed("other", GROUP, {"bare": "module_of_things:BARE"})
    with pytest.raises(ExtensionError, match="'bare' of the package other has no card"):
        things.load("bare")
    module.BARE.card = Card("bare", "Has one now.")
    assert things.load("bare").card.name == "bare"


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("module_of_things:NUMBER", "is of type int, but a Thing is expected"),
        ("module_of_things:GONE", "cannot be loaded from 'module_of_things:GONE': AttributeError"),
        ("no_such_module_at_all:X", "cannot be loaded .* ModuleNotFoundError: No module named"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_package(things, installed, where, told):
    installed("careless", GROUP, {"broken": where})
    assert "broken" in things.names()  # whoever does not ask for it is not disturbed
    assert things.load("ours").name == "ours"
    with pytest.raises(ExtensionError, match=f"The thing 'broken' of the package careless {told}") as refusal:
        things.load("broken")
    assert "careless" in refusal.value.hint and isinstance(refusal.value, EvenhandError)


def test_a_module_that_fails_while_it_is_imported(things, installed, tmp_path, monkeypatch):
    (tmp_path / "module_that_divides.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    installed("careless", GROUP, {"broken": "module_that_divides:X"})
    with pytest.raises(ExtensionError, match=r"package careless .* ZeroDivisionError: division by zero"):
        things.load("broken")


def test_a_name_that_two_packages_claim_is_refused_with_both(things, installed):
    installed("first", GROUP, {"theirs": "module_of_things:THEIRS"})
    installed("second", GROUP, {"theirs": "module_of_things:OURS"})
    assert things.names() == ["ours", "theirs"]
    with pytest.raises(
        ExtensionError, match=r"contain a thing named 'theirs': (first, second|second, first)"
    ):
        things.load("theirs")


def test_a_name_of_ours_cannot_be_taken(things, installed):
    installed("greedy", GROUP, {"ours": "module_of_things:THEIRS"})
    with pytest.raises(ExtensionError, match=r"2 packages contain a thing named 'ours': evenhand, greedy\."):
        things.load("ours")


def test_one_package_found_twice_is_one(things, installed, tmp_path, monkeypatch):
    installed("other", GROUP, {"theirs": "module_of_things:THEIRS"})
    again = tmp_path / "again" / "other-1.0.dist-info"
    again.mkdir(parents=True)
    for name in ("METADATA", "entry_points.txt"):
        (again / name).write_text((tmp_path / "site-other" / "other-1.0.dist-info" / name).read_text())
    monkeypatch.syspath_prepend(again.parent)
    assert things.load("theirs").name == "theirs"


def test_a_card_stands_on_the_object_or_in_its_module(module):
    card, other = Card("x", "One."), Card("y", "Two.")
    holder = type("Holder", (), {"CARD": card, "__module__": module.__name__})
    plain = type("Plain", (), {"__module__": module.__name__})
    assert stated_card(holder, "x") is card
    assert stated_card(plain, "x") is None
    module.CARD = other
    assert stated_card(plain, "y") is other and stated_card(plain, "x") is None  # the card of something else
    module.CARDS = {"x": card, "y": other}
    assert stated_card(plain, "x") is card


@pytest.mark.parametrize(
    "statement", ["import sys; sys.exit(0)", "class Odd(BaseException): ...\nraise Odd('no')"]
)
def test_a_module_that_ends_the_program_while_it_is_imported(
    things, installed, tmp_path, monkeypatch, statement
):
    (tmp_path / "leaving_module.py").write_text(statement)
    monkeypatch.syspath_prepend(tmp_path)
    installed("leaving", GROUP, {"leaves": "leaving_module:X"})
    with pytest.raises(ExtensionError, match="'leaves' of the package leaving cannot be loaded"):
        things.load("leaves")


def test_an_object_that_fails_as_it_is_asked(module, installed):
    class Prickly:
        def __getattr__(self, name: str) -> object:
            raise RuntimeError("do not touch")

    module.PRICKLY = Prickly()
    installed("prickly", GROUP, {"prickly": "module_of_things:PRICKLY"})
    assert stated_card(module.PRICKLY, "prickly") is None
    anything = Registry("thing", GROUP, accepts=lambda _: True)
    with pytest.raises(ExtensionError, match="'prickly' of the package prickly has no card"):
        anything.load("prickly")
    picky = Registry("thing", GROUP, accepts=lambda thing: bool(thing.ready))
    with pytest.raises(
        ExtensionError, match="The thing 'prickly' of the package prickly is of type Prickly,"
    ):
        picky.load("prickly")
