"""Slowing down who guesses passwords: after a few failures each further try has to wait, twice as long each time."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

FREE = 5
"""Failures without a wait."""
FORGOTTEN = timedelta(hours=2)
"""After so long without a failure, failures are forgotten."""
MOST_REMEMBERED = 20_000
"""Names and addresses; beyond, those that failed longest ago are forgotten."""


@dataclass
class Failures:
    """How often something failed in a row, and when last."""

    count: int
    last: datetime


@dataclass
class Slowing:
    """Failures by account and by network, held in the memory of this process.

    Of an account the wait ends at one minute: whoever knows its name could else lock its owner out for long; that is
    some 60 tries an hour. Of a network (an address, or the /64 of IPv6) it ends at 15 minutes.
    """

    most: dict[str, float] = field(default_factory=lambda: {"account": 60.0, "network": 900.0})
    """Longest wait in seconds, by kind."""
    _failures: OrderedDict[tuple[str, str], Failures] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, account: str, network: str, now: datetime) -> float:
        """Count a try as failed before its password is looked at, so that many at once gain nothing.

        Returns the seconds to wait, in which case nothing is counted, or 0: the password may be looked at.
        """
        with self._lock:
            keys = _keys(account, network)
            wait = max(self._wait(kind, key, now) for kind, key in keys)
            if wait > 0:
                return wait
            for key in keys:
                before = self._failures.pop(key, None)
                fresh = before is None or now - before.last > FORGOTTEN
                self._failures[key] = Failures(1 if before is None or fresh else before.count + 1, now)
            while len(self._failures) > MOST_REMEMBERED:
                self._failures.popitem(last=False)
        return 0.0

    def succeeded(self, account: str, network: str) -> None:
        """The right password ends the waits of both."""
        with self._lock:
            for key in _keys(account, network):
                self._failures.pop(key, None)

    def _wait(self, kind: str, key: str, now: datetime) -> float:
        found = self._failures.get((kind, key))
        if found is None or found.count < FREE or now - found.last > FORGOTTEN:
            return 0.0
        wait = min(2.0 ** (found.count - FREE), self.most[kind])
        return max(0.0, wait - (now - found.last).total_seconds())


def _keys(account: str, network: str) -> list[tuple[str, str]]:
    return [("account", account[:100]), ("network", network[:100])]
