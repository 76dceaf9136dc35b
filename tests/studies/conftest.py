"""Benchmarks of continuations whose answers are known, by name (tests are not a package)."""

import importlib.util
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[1] / "judged_house.py"


@pytest.fixture
def judged_house(monkeypatch):
    """The module tests/judged_house.py, its benchmarks, classifiers and model registered."""
    spec = importlib.util.spec_from_file_location("judged_house", HOUSE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "judged_house", module)
    spec.loader.exec_module(module)
    module.register(monkeypatch)
    return module
