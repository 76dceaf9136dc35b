"""Every measure states what it is; the cards are complete and name their functions."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType

import pytest

import evenhand.measures as measures
from evenhand.benchmarks import benchmark_names, load_benchmark
from evenhand.measures import MEASURES, MeasureInfo
from evenhand.measures.registry import MODULES
from evenhand.schema import Card

NEEDED = ("summary", "construct", "groups", "direction", "null", "critique", "source")


@pytest.mark.parametrize("name", MEASURES)
def test_cards_are_complete(name: str) -> None:
    info = MEASURES[name]
    assert info.name == info.card.name == name and info.unit
    for field in NEEDED:
        assert getattr(info.card, field).strip(), f"{name} has no {field}"
    if name != "perplexity":
        assert info.card.harm and info.card.citation and info.card.ideal
    assert len(info.card.summary) <= 110 and "\n" not in info.card.summary


@pytest.mark.parametrize("name", benchmark_names())
def test_what_a_benchmark_calls_harmful_is_a_measure_that_has_a_card(name: str) -> None:
    assert set(load_benchmark(name).harmful) <= set(MEASURES)


def test_the_registry_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        MEASURES["x"] = MEASURES["perplexity"]  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        MEASURES["perplexity"].unit = "x"  # type: ignore[misc]


def test_a_card_of_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match="'a': the name of its card must be the same, got 'b'"):
        MeasureInfo("a", Card("b", "summary"), "unit")


def _entries(thing: object) -> Iterator[MeasureInfo]:
    if isinstance(thing, MeasureInfo):
        yield thing
    elif isinstance(thing, dict):
        yield from _entries(list(thing.values()))
    elif isinstance(thing, list | tuple | set | frozenset):
        for part in thing:
            yield from _entries(part)


def test_every_card_of_any_module_is_registered_once_and_every_name_has_one() -> None:
    modules = [m.name for m in walk_packages(measures.__path__, f"{measures.__name__}.")]
    found = {
        id(entry): entry
        for module in modules
        for value in vars(import_module(module)).values()
        for entry in _entries(value)
    }
    assert sorted(entry.name for entry in found.values()) == sorted(MEASURES)
    assert all(found[id(MEASURES[name])].name == name for name in MEASURES)
    assert set(MODULES.values()) <= set(modules)


def test_names_cost_no_measure_and_a_card_only_its_own_module() -> None:
    program = """
import sys, types
package = types.ModuleType("evenhand.measures")
package.__path__ = [sys.argv[1]]
sys.modules["evenhand.measures"] = package
from evenhand.measures.registry import MEASURES, MODULES
names = list(MEASURES), len(MEASURES), "bias_score" in MEASURES, MEASURES.get("none")
assert not set(MODULES.values()) & set(sys.modules)
MEASURES["perplexity"]
assert set(MODULES.values()) & set(sys.modules) == {MODULES["perplexity"]}
"""
    subprocess.run([sys.executable, "-c", program, str(Path(measures.__file__).parent)], check=True)


def test_the_stub_names_what_the_package_gives() -> None:
    stub = ast.parse(Path(measures.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    named = {}
    for statement in stub.body:
        if isinstance(statement, ast.ImportFrom):
            assert statement.level == 1, "lazy_loader reads relative imports only"
            for alias in statement.names:
                assert alias.asname == alias.name, f"{alias.name} is not re-exported"
                named[alias.name] = import_module(f"{measures.__name__}.{statement.module}")
    given = {name for name in dir(measures) if not isinstance(getattr(measures, name), ModuleType)}
    assert set(named) == {name for name in given if not name.startswith("_")}
    for name, module in named.items():
        assert getattr(measures, name) is getattr(module, name)


def test_public_functions_are_functions_not_modules() -> None:
    for name in (
        "likelihood_spread",
        "perplexity",
        "crows_pairs",
        "stereoset",
        "valence_shift",
        "agreement",
        "parroting",
    ):
        assert callable(getattr(measures, name))
