"""The Ray cluster that `--on` names: a temporary one on this machine, or an existing one."""

import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evenhand.schema import UsageError

LOCAL, BELONGS, CLIENT = "ray", "auto", "ray://"
"""Value of `--on`: a temporary cluster on this machine, the cluster that it belongs to, or the URL of a cluster."""
OBJECTS = 200_000_000
"""Bytes that a temporary cluster reserves for objects that are sent between its processes."""
LONGEST = 40
"""Maximum length of its folder's path. Ray adds names of sockets, and systems allow 107 characters in all."""
REACHED_IN = 10.0
"""Seconds within which a machine must accept a connection."""
REASON = 500
"""Number of characters of Ray's own message that are shown."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # send no usage data
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # no warning about changes in later versions
    "RAY_DEDUP_LOGS": "0",
}


@contextmanager
def ray_cluster(on: str) -> Iterator[Any]:
    """Connect to a Ray cluster while the block runs; a context manager that yields the package `ray`.

    `on` is "ray" (a temporary cluster on this machine, without a dashboard, in a private folder), "auto" (the
    cluster of this machine, by $RAY_ADDRESS or this user's `ray start`), or ray://HOST:PORT. An existing
    connection is used. What was started for the block ends with it. Raises UsageError if Ray is not
    installed, no cluster responds, or only another user's file names one.
    """
    os.environ.update({name: value for name, value in QUIET.items() if name not in os.environ})
    if on != LOCAL and _token_given(on):
        os.environ.setdefault("RAY_AUTH_MODE", "token")  # Ray reads it only once, when it is imported
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            f"`--on {on}` requires Ray, which is not installed.", "Install it: pip install 'evenhand[ray]'"
        ) from error
    if ray.is_initialized():
        yield ray
        return
    folder = _folder() if on == LOCAL else None
    try:
        with _restore_signal_handlers():
            _connect(ray, on, folder)
        yield ray
    finally:
        with _restore_signal_handlers():
            ray.shutdown()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _folder() -> str:
    """Return a new folder that only this user may enter, because its files give access to the cluster."""
    if len(tempfile.gettempdir()) <= LONGEST - len("/ray-12345678/r"):
        return tempfile.mkdtemp(prefix="ray-")
    return tempfile.mkdtemp(prefix="ray-", dir="/tmp")


def _token_given(on: str) -> bool:
    """Return whether a token is sent to the cluster.

    It is sent if the user named one. For a cluster of this user, the token in its file is sent. A cluster at
    a URL receives the stored token only with RAY_AUTH_MODE=token, because it may belong to another person.
    """
    if os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH"):
        return True
    return (
        on == BELONGS and "RAY_ADDRESS" not in os.environ and Path("~/.ray/auth_token").expanduser().exists()
    )


def _connect(ray: Any, on: str, folder: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    if folder is not None:
        within = f"{folder}/r"  # Ray opens this folder to all users, but not its parent
        settings = {"include_dashboard": False, "object_store_memory": OBJECTS, "_temp_dir": within}
        ray.init(address="local", **settings, **quiet)
        return
    address = _own_address() if on == BELONGS else on
    _check_listens(on, address)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the messages about a connection are also in the error
            ray.init(address=address, **quiet)
    # Ray raises many kinds of errors here: its own, those of grpc, and built-in ones
    except Exception as error:
        why = " ".join(str(error).split())[:REASON].rstrip(".") or type(error).__name__
        if "ray[client]" in why:
            raise UsageError(
                f"`--on {on}` requires the Ray client, which is not installed.",
                "Install it: pip install 'evenhand[ray]'",
            ) from error
        if "ersion mismatch" in why:
            raise UsageError(
                f"--on {on}: {why}.",
                "Install the same versions of Ray and Python on this machine and on every machine of the cluster.",
            ) from error
        raise UsageError(
            f"`--on {on}`: cannot join the cluster at {address}: {why}.",
            "Check the port (HEAD:6379 for RAY_ADDRESS, HEAD:10001 for ray://). A cluster may use tokens (Ray 2.59 "
            "or later, unless RAY_AUTH_MODE=disabled). This process then needs the token, too: in "
            "RAY_AUTH_TOKEN_PATH=FILE or RAY_AUTH_TOKEN, or in ~/.ray/auth_token with RAY_AUTH_MODE=token.",
        ) from error


def _check_listens(on: str, address: str) -> None:
    """Raise an error at once if nothing listens at an address.

    Ray itself would try for half a minute or longer.
    """
    host, _, port = address.removeprefix(CLIENT).partition("/")[0].rpartition(":")
    if not (host and port.isdigit()):
        return  # a URL scheme of Ray, or of a service that extends it
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACHED_IN).close()
    except OSError as error:
        raise _make_no_cluster_error(on, f"cannot connect to {address} ({error})") from error


def _own_address() -> str:
    """Return the address of the cluster to which this machine belongs.

    Ray itself would use any cluster that is named in a shared folder, or any process that looks like one of a
    cluster. The owner of such a cluster could run programs in this process.
    """
    if named := os.environ.get("RAY_ADDRESS"):
        return named
    file = Path(os.environ.get("RAY_TMPDIR") or "/tmp", "ray", "ray_current_cluster")
    try:
        with open(os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), encoding="utf-8") as stream:
            owner, address = os.fstat(stream.fileno()).st_uid, stream.read().strip()
    except (OSError, UnicodeError) as error:
        raise _make_no_cluster_error(
            BELONGS, "$RAY_ADDRESS is not set, and `ray start` was not run here"
        ) from error
    if sys.platform != "win32" and owner != os.getuid():
        raise _make_no_cluster_error(
            BELONGS, f"the cluster of {file} was not started by you (set RAY_ADDRESS to join it)"
        )
    return address


def _make_no_cluster_error(on: str, why: str) -> UsageError:
    what = "this machine belongs to no Ray cluster" if on == BELONGS else "no Ray cluster answers there"
    return UsageError(
        f"--on {on}: {what}: {why}",
        "Start a cluster (ray start --head; on other machines ray start --address=HEAD:6379) and give this "
        "process its token, or use --on ray.",
    )


@contextmanager
def _restore_signal_handlers() -> Iterator[None]:
    """Restore the signal handlers at the end of the block; a context manager.

    Ray handles SIGTERM itself when it starts. Here the caller handles signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
