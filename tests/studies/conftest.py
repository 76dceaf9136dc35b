"""Real audits that tests of several studies read."""

import pytest

from tests.helpers.written_factory import audited


@pytest.fixture(scope="session")
def written_runs(tmp_path_factory):
    """Two real audits of continuations by name: `rude` about Black people, refusing gay ones, and `calm`."""
    folder = tmp_path_factory.mktemp("written")
    return {name: audited(name, folder / name) for name in ("rude", "calm")}
