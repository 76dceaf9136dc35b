"""Shared fixtures: where the published data lies, what stands in for models and services, and no network."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.helpers import loopback_server

os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Tiny models gain nothing from threads, and threads that wait for each other make a shared machine crawl.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What is killed here is our processes, never the machine, so nothing has to reach the disk; in tests of small files,
# this takes a twelfth of the time.
os.fsync = lambda fd: None

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


@pytest.fixture(scope="session")
def loopback() -> ModuleType:
    """The module tests/helpers/loopback_server.py: a service on this machine that misbehaves on purpose."""
    return loopback_server


CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Headless Chromium, driven by playwright; tests that need it skip where either is absent."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"no browser at {CHROMIUM}")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def judged_house(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module tests/helpers/judged_house.py, its benchmarks, classifiers and model registered."""
    from tests.helpers import judged_house

    judged_house.register(monkeypatch)
    return judged_house


@pytest.fixture
def installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str, Mapping[str, str]], None]:
    """Installs a package, as far as its entry points go: call with its name, a group, and the points by name."""

    def install(package: str, group: str, points: Mapping[str, str]) -> None:
        info = tmp_path / f"site-{package}" / f"{package}-1.0.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {where}" for name, where in points.items()]
        with (info / "entry_points.txt").open("a") as file:
            file.write("\n".join([f"[{group}]", *lines, ""]))
        monkeypatch.syspath_prepend(info.parent)

    return install
