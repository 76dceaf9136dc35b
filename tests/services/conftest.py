"""The misbehaving server, as a fixture (tests are not a package)."""

import importlib.util
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[1] / "loopback_server.py"
spec = importlib.util.spec_from_file_location("evenhand_loopback_server", SERVER)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


@pytest.fixture(scope="session")
def loopback():
    """The module tests/loopback_server.py."""
    return module
