"""Lets the tests of this folder import its factories (pytest's importlib mode leaves sys.path alone)."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def written_runs(tmp_path_factory):
    """Two real audits of continuations by name: `rude` about Black people, refusing gay ones, and `calm`."""
    from written_factory import audited

    folder = tmp_path_factory.mktemp("written")
    return {name: audited(name, folder / name) for name in ("rude", "calm")}
