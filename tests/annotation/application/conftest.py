"""Stores of studies, each in a file of its own."""

import pytest

from evenhand.annotation.store import begin_study


@pytest.fixture
def stored(tmp_path):
    """A store with a study in it; closed at the end."""
    stores = []

    def begin(study):
        stores.append(begin_study(tmp_path / f"{study.name}-{len(stores)}.sqlite", study))
        return stores[-1]

    yield begin
    for store in stores:
        store.close()
