"""Allow one driver at a time in a run in object storage, with an object that names the driver and the end of its lease.

Object storage does not release a lock when its holder ends. The object is therefore valid for LEASE seconds, and is
renewed every BEAT seconds. After a driver was killed, one with the same working copy can start at once, and any other
after LEASE.
"""

import json
import os
import platform
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any

from evenhand.runs.remote.store import ObjectStore
from evenhand.schema import EvenhandError, UsageError, WriteError, parse_json

NAME = ".driver.json"
LEASE, BEAT = 120.0, 30.0
LAST = 2.5e11
"""Latest time that can be represented as a date."""
SETTLED = 2.0
"""Seconds to wait until it is clear which of several drivers replaced a dead one: the one
whose token the lease contains.
"""


class Lease:
    """The right to write into a folder in object storage; `take` acquires it, and `release` returns it."""

    def __init__(self, store: ObjectStore):
        self.token = token_hex(16)
        self._store, self._ended = store, threading.Event()
        self._since = _format_time(time.time())
        self._beats = threading.Thread(target=self._renew, name="evenhand-lease", daemon=True)

    def take(self, left_by: str | None = None) -> None:
        """Acquire the lease. left_by: token of a driver that is known to have ended. Raise
        UsageError if another one is active.
        """
        if not self._store.create(NAME, self._content()):
            holder = _parse_record(self._store.read(NAME))
            if holder.get("token") != left_by or left_by is None:
                if _read_expiry(holder) > time.time():
                    raise self._in_use(holder)
                self._store.overwrite(NAME, self._content())
                time.sleep(SETTLED)
            else:
                self._store.overwrite(NAME, self._content())
        holder = _parse_record(self._store.read(NAME))
        if holder.get("token") != self.token:
            raise self._in_use(holder)
        self._beats.start()

    def check(self) -> None:
        """Raise WriteError unless this driver still has the lease."""
        holder = _parse_record(self._store.read(NAME))
        if holder.get("token") != self.token:
            raise WriteError(
                f"This process can no longer write to {self._store.address}: {_describe_holder(holder)} took it over.",
                f"This process was inactive for more than {LEASE:.0f} s, or {NAME} was deleted. Results that it "
                "had not uploaded are kept on this machine. Let only one process resume the run.",
            )

    def release(self) -> None:
        """Return the lease. If the storage cannot be reached, the lease expires."""
        self._ended.set()
        if self._beats.ident is not None:
            self._beats.join(timeout=BEAT)
        with suppress(EvenhandError):
            if _parse_record(self._store.read(NAME)).get("token") == self.token:
                self._store.remove(NAME)

    def _renew(self) -> None:
        while not self._ended.wait(BEAT):
            with suppress(EvenhandError):  # the next renewal, or the next upload, reports the error
                if _parse_record(self._store.read(NAME)).get("token") != self.token:
                    return
                self._store.overwrite(NAME, self._content())

    def _content(self) -> bytes:
        me = {
            "token": self.token,
            "pid": os.getpid(),
            "host": platform.node(),
            "since": self._since,
            "until": time.time() + LEASE,
        }
        return json.dumps(me).encode()

    def _in_use(self, holder: dict[str, Any]) -> UsageError:
        until = _read_expiry(holder)
        file = f"{self._store.address}/{NAME}"
        after = f"another process may resume after {_format_time(until)}, or when {file} is deleted"
        if until > time.time() + LEASE:  # only a driver with a wrong clock would write such a time
            after = (
                f"delete {file}: it reserves the run for longer than evenhand ever does, because the clock of that "
                "machine is wrong"
            )
        return UsageError(
            f"The run {self._store.address} is already in use by {_describe_holder(holder)}.",
            f"Wait until it ends, or stop it. If it has crashed, {after}.",
        )


def _parse_record(content: bytes | None) -> dict[str, Any]:
    with suppress(ValueError):
        if isinstance(found := parse_json(content or b"{}"), dict):
            return found
    return {}


def _read_expiry(holder: dict[str, Any]) -> float:
    """Return the end of a driver's lease (seconds since 1970); 0 if the file has no valid time."""
    until = holder.get("until")
    if isinstance(until, bool) or not isinstance(until, int | float):
        return 0.0
    return float(until) if 0 <= until < LAST else 0.0


def _describe_holder(holder: dict[str, Any]) -> str:
    if not {"pid", "host", "since"} <= holder.keys():
        return "another process"
    return f"process {holder['pid']} on {holder['host']} since {holder['since']}"


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat("T", "seconds")
