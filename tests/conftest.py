"""Shared fixtures: where the published data lies, and no network for anybody."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Tiny models gain nothing from threads, and threads that wait for each other make a shared machine crawl.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes says how busy the machine is, not whether the code is right; and a change is judged by
# the same examples as the one before it.
settings.register_profile(
    "evenhand", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("evenhand")

SHARED = Path(os.environ.get("EVENHAND_SHARED", Path(__file__).resolve().parents[2] / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published data and expected outputs; tests that need it skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"no folder {SHARED}; set EVENHAND_SHARED to the published data")
    return SHARED
