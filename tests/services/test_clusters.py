"""Which Ray cluster is joined, by what it is begun, and what is said where there is none. Ray itself is not started."""

import os
import socket
import stat
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from evenhand.schema import UsageError
from evenhand.services import ray_cluster
from evenhand.services.clusters import LONGEST


class FakeRay(SimpleNamespace):
    """Keeps what it was begun with."""

    def __init__(self, error: Exception | None = None):
        super().__init__(asked=[], ended=0, error=error)

    def is_initialized(self) -> bool:
        return len(self.asked) > self.ended

    def init(self, **settings: object) -> None:
        folder = settings.get("_temp_dir")
        if isinstance(folder, str):
            Path(folder).mkdir()
            Path(folder).chmod(0o777)  # as Ray does
            settings["mode"] = stat.S_IMODE(Path(folder).parent.stat().st_mode)
        self.asked.append(settings)
        if self.error is not None:
            raise self.error

    def shutdown(self) -> None:
        self.ended = len(self.asked)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRay:
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.setattr(socket, "create_connection", lambda address, timeout: SimpleNamespace(close=int))
    return ray


def file_of_ray_start(folder: Path) -> Path:
    (folder / "ray").mkdir()
    file = folder / "ray/ray_current_cluster"
    file.write_text("10.0.0.1:6379\n")
    return file


def test_a_cluster_of_ones_own_is_private_quiet_and_ends(begun, monkeypatch, tmp_path: Path) -> None:
    long = tmp_path / ("folder" * 20)
    long.mkdir()
    for place in (tempfile.gettempdir(), str(long)):
        monkeypatch.setattr(tempfile, "tempdir", place)
        with ray_cluster("ray") as ray, ray_cluster("ray") as again:
            assert ray is again is begun
        asked = begun.asked.pop()
        begun.ended = 0
        assert not begun.asked and not Path(asked["_temp_dir"]).parent.exists()
        assert asked["address"] == "local" and asked["include_dashboard"] is False
        assert asked["mode"] == 0o700 and len(asked["_temp_dir"]) <= LONGEST
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_the_cluster_this_machine_belongs_to_is_the_one_its_user_named(begun, monkeypatch, tmp_path) -> None:
    file_of_ray_start(tmp_path)
    with ray_cluster("auto"):
        assert begun.asked[-1]["address"] == "10.0.0.1:6379"
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.2:6379")
    with ray_cluster("auto"):
        assert begun.asked[-1]["address"] == "10.0.0.2:6379"


def test_a_file_of_somebody_elses_names_no_cluster(begun, monkeypatch, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="belongs to no Ray cluster"), ray_cluster("auto"):
        raise AssertionError("nothing is entered")
    file = file_of_ray_start(tmp_path)
    with monkeypatch.context() as another:
        another.setattr(os, "getuid", lambda: -1)
        with pytest.raises(UsageError, match="was not started by you"), ray_cluster("auto"):
            raise AssertionError("nothing is entered")
    file.rename(tmp_path / "another")
    file.symlink_to(tmp_path / "another")
    with pytest.raises(UsageError, match="belongs to no Ray cluster"), ray_cluster("auto"):
        raise AssertionError("nothing is entered")
    assert begun.asked == []


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (
            ConnectionError("timed\nout."),
            "cannot join the cluster at .*: timed out",
            "RAY_AUTH_TOKEN_PATH=FILE",
        ),
        (ArithmeticError(), "cannot join the cluster at .*: ArithmeticError", "RAY_AUTH_MODE=token"),
        (
            RuntimeError("Version mismatch: Ray: 1"),
            "Version mismatch: Ray: 1",
            "Install the same versions of Ray and Python on this",
        ),
        (
            ValueError("install ray[client]"),
            "requires the Ray client, which is not installed",
            "pip install 'evenhand[ray]'",
        ),
    ],
)
def test_a_cluster_that_does_not_answer_is_said(begun, error: Exception, message: str, hint: str) -> None:
    begun.error = error
    with pytest.raises(UsageError) as told, ray_cluster("ray://head:10001"):
        raise AssertionError("nothing is entered")
    told.match(message)
    assert hint in told.value.hint and begun.asked[-1]["address"] == "ray://head:10001"


def test_a_token_is_shown_where_it_was_named_or_the_cluster_is_ones_own(begun, monkeypatch, tmp_path) -> None:
    modes = [
        ("ray://head:10001", {"RAY_AUTH_TOKEN": "secret"}, "token"),
        ("auto", {"RAY_AUTH_TOKEN_PATH": "file", "RAY_ADDRESS": "head:6379"}, "token"),
        ("auto", {}, "token"),
        ("auto", {"RAY_ADDRESS": "head:6379"}, None),
        ("ray://head:10001", {}, None),
        ("ray", {"RAY_AUTH_TOKEN": "secret"}, None),
        ("auto", {"RAY_AUTH_MODE": "disabled", "RAY_AUTH_TOKEN": "secret"}, "disabled"),
    ]
    file_of_ray_start(tmp_path)
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray/auth_token").write_text("kept")
    for on, named, mode in modes:
        environment = {"HOME": str(tmp_path), "RAY_TMPDIR": str(tmp_path), **named}
        monkeypatch.setattr(os, "environ", environment)
        with ray_cluster(on):
            assert environment.get("RAY_AUTH_MODE") == mode, (on, named)


def test_an_address_where_nothing_listens_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        for on, message in (
            ("auto", f"belongs to no Ray cluster.*cannot connect to {address}"),
            (f"ray://{address}", f"no Ray cluster answers.*cannot connect to ray://{address}"),
        ):
            with pytest.raises(UsageError, match=message), ray_cluster(on):
                raise AssertionError("nothing is entered")
    assert ray.asked == []


def test_without_ray_one_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match="not installed") as told, ray_cluster("ray"):
        raise AssertionError("nothing is entered")
    assert told.value.hint == "Install it: pip install 'evenhand[ray]'"
