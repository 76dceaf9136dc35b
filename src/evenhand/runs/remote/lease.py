"""One driver at a time in a run on a store: an object names the driver and the end of its lease, and is renewed
meanwhile.

A store drops no lock when its holder dies. The object is therefore valid for LEASE seconds and is rewritten every BEAT;
a driver that was killed is followed at once by one with the same working copy, and after LEASE by any other.
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

from evenhand.runs.remote.store import Store
from evenhand.schema import EvenhandError, UsageError, WriteError, parse_json

NAME = ".driver.json"
LEASE, BEAT = 120.0, 30.0
LAST = 2.5e11
"""The latest time that there is a date for."""
SETTLED = 2.0
"""Seconds until it is known which of several drivers replaced a dead one: the lease then holds its token."""


class Lease:
    """The right to write into a folder on a store; taken by `take`, given back by `release`."""

    def __init__(self, store: Store):
        self.token = token_hex(16)
        self._store, self._ended = store, threading.Event()
        self._since = _now(time.time())
        self._beats = threading.Thread(target=self._renew, name="evenhand-lease", daemon=True)

    def take(self, left_by: str | None = None) -> None:
        """Take it. left_by: the token of a driver that is known to be dead. Raises UsageError where one is at work."""
        if not self._store.create(NAME, self._content()):
            holder = _parsed(self._store.read(NAME))
            if holder.get("token") != left_by or left_by is None:
                if _until(holder) > time.time():
                    raise self._in_use(holder)
                self._store.overwrite(NAME, self._content())
                time.sleep(SETTLED)
            else:
                self._store.overwrite(NAME, self._content())
        holder = _parsed(self._store.read(NAME))
        if holder.get("token") != self.token:
            raise self._in_use(holder)
        self._beats.start()

    def check(self) -> None:
        """Raise WriteError unless the folder is still this driver's."""
        holder = _parsed(self._store.read(NAME))
        if holder.get("token") != self.token:
            raise WriteError(
                f"This process can no longer write to {self._store.address}: {_told(holder)} took it over.",
                f"This process was inactive for more than {LEASE:.0f} s, or {NAME} was deleted. Results that it "
                "had not uploaded are kept on this machine. Let only one process resume the run.",
            )

    def release(self) -> None:
        """Give it back; where the store cannot be reached it runs out by itself."""
        self._ended.set()
        if self._beats.ident is not None:
            self._beats.join(timeout=BEAT)
        with suppress(EvenhandError):
            if _parsed(self._store.read(NAME)).get("token") == self.token:
                self._store.remove(NAME)

    def _renew(self) -> None:
        while not self._ended.wait(BEAT):
            with suppress(EvenhandError):  # the next beat, or the next file that is put, says more
                if _parsed(self._store.read(NAME)).get("token") != self.token:
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
        until = _until(holder)
        file = f"{self._store.address}/{NAME}"
        after = f"another process may resume after {_now(until)}, or when {file} is deleted"
        if until > time.time() + LEASE:  # no driver says so, but one whose clock is wrong
            after = (
                f"delete {file}, which is locked for longer than any process locks it, or check the clock of "
                "its machine"
            )
        return UsageError(
            f"The run {self._store.address} is already in use by {_told(holder)}.",
            f"Wait until it ends, or stop it. If it has crashed, {after}.",
        )


def _parsed(content: bytes | None) -> dict[str, Any]:
    with suppress(ValueError):
        if isinstance(found := parse_json(content or b"{}"), dict):
            return found
    return {}


def _until(holder: dict[str, Any]) -> float:
    """Until when a driver said that it works (seconds since 1970); 0 where the file says none that a driver would."""
    until = holder.get("until")
    if isinstance(until, bool) or not isinstance(until, int | float):
        return 0.0
    return float(until) if 0 <= until < LAST else 0.0


def _told(holder: dict[str, Any]) -> str:
    if not {"pid", "host", "since"} <= holder.keys():
        return "another process"
    return f"process {holder['pid']} on {holder['host']} since {holder['since']}"


def _now(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat("T", "seconds")
