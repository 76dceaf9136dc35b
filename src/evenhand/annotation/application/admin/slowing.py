"""Slow down guessing of passwords: after a few failures, each further attempt must wait twice as long."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import IPv4Network, ip_network

FREE = 5
"""Number of failures without a wait."""
CLEAN = 3
"""Number of attempts of a neighbourhood that are allowed although the account must wait."""
FORGOTTEN = timedelta(hours=2)
"""Time without a failure after which failures are forgotten."""
MOST_REMEMBERED = 100_000
"""Maximum number of counters of each kind; the oldest failures are dropped first."""
RESERVE, REFILL = 20.0, 120.0
"""Attempts from other neighbourhoods that an account allows while it must wait, and how many it regains per hour."""
LONGEST = {"account": 60.0, "network": 900.0, "device": 60.0}
"""Longest wait in seconds, by kind of counter."""


@dataclass(slots=True)
class Failures:
    """Number of consecutive failures, and time of the last one."""

    count: int
    last: datetime


@dataclass(slots=True)
class Reserve:
    """Remaining attempts for clean neighbourhoods, and the time of the last change."""

    left: float
    since: datetime


@dataclass
class Slowing:
    """Count failed logins by account, network, neighbourhood and known browser, in the memory of this process.

    A browser that has logged in to the account before has a separate counter, so failures elsewhere do not delay it.
    From all other browsers, a network (an IPv4 address or an IPv6 /64) waits up to 15 minutes and an account up to one
    minute: about 70 tries per hour.

    These delays would let an attacker who knows an account's name lock out its owner. Therefore a neighbourhood (an
    IPv4 /16 or IPv6 /32) with fewer than 3 tries is let through while the account's reserve lasts: at most 20 tries,
    and 120 per hour. All limits together allow fewer than 250 tries per hour, from any number of networks.
    """

    _failures: dict[str, OrderedDict[str, Failures]] = field(default_factory=dict)
    _reserves: OrderedDict[str, Reserve] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, account: str, network: str, now: datetime, *, device: str | None = None) -> float:
        """Count a try as failed before its password is checked, so that parallel tries gain nothing.

        device: identifier of a known browser of this account. Returns 0 if the password may be checked; otherwise
        the seconds to wait, and the try is not counted.
        """
        with self._lock:
            if device is not None:
                wait = self._wait("device", device, now)
                if wait == 0:
                    self._count("device", device, now)
                return wait
            account, network = account[:100], network[:100]
            if (wait := self._wait("network", network, now)) > 0:
                return wait
            if (wait := self._wait("account", account, now)) > 0:
                if not (self._is_clean(network, now) and self._use_reserve(account, now)):
                    return wait
            else:
                self._count("account", account, now)
            self._count("network", network, now)
            self._count("neighbourhood", neighbourhood(network), now)
        return 0.0

    def record_success(self, account: str, network: str, *, device: str | None = None) -> None:
        """Reset the waits of the browser or network after a correct password; the account's counter
        is reduced by one.
        """
        with self._lock:
            if device is not None:
                self._get_counters("device").pop(device, None)
                return
            self._get_counters("network").pop(network[:100], None)
            for kind, key in (("account", account[:100]), ("neighbourhood", neighbourhood(network[:100]))):
                if (found := self._get_counters(kind).get(key)) is not None:
                    found.count -= 1

    def _get_counters(self, kind: str) -> OrderedDict[str, Failures]:
        return self._failures.setdefault(kind, OrderedDict())

    def _find_failures(self, kind: str, key: str, now: datetime) -> Failures | None:
        found = self._get_counters(kind).get(key)
        if found is None or now - found.last > FORGOTTEN:
            return None
        found.last = min(found.last, now)  # clocks are set back
        return found

    def _wait(self, kind: str, key: str, now: datetime) -> float:
        found = self._find_failures(kind, key, now)
        if found is None or found.count < FREE:
            return 0.0
        wait = min(2.0 ** min(found.count - FREE, 20), LONGEST[kind])
        return max(0.0, wait - (now - found.last).total_seconds())

    def _count(self, kind: str, key: str, now: datetime) -> None:
        before = self._find_failures(kind, key, now)
        counts = self._get_counters(kind)
        counts.pop(key, None)  # keep the order of the last failures
        counts[key] = Failures(1 if before is None else before.count + 1, now)
        while len(counts) > MOST_REMEMBERED:
            counts.popitem(last=False)

    def _is_clean(self, network: str, now: datetime) -> bool:
        found = self._find_failures("neighbourhood", neighbourhood(network), now)
        return found is None or found.count < CLEAN

    def _use_reserve(self, account: str, now: datetime) -> bool:
        """Use one attempt of the account's reserve, and return whether there was one."""
        reserve = self._reserves.pop(account, None) or Reserve(RESERVE, now)
        gained = max(0.0, (now - reserve.since).total_seconds()) * REFILL / 3600
        left = min(RESERVE, reserve.left + gained)
        self._reserves[account] = Reserve(left - 1 if left >= 1 else left, now)
        while len(self._reserves) > MOST_REMEMBERED:
            self._reserves.popitem(last=False)
        return left >= 1


def neighbourhood(network: str) -> str:
    """Return the range of addresses that one owner of many networks typically has: an IPv4 /16 or IPv6 /32.

    >>> neighbourhood("192.0.2.7"), neighbourhood("2001:db8:5:6::/64"), neighbourhood("unknown")
    ('192.0.0.0/16', '2001:db8::/32', 'unknown')
    """
    try:
        known = ip_network(network)
    except ValueError:
        return network
    return str(known.supernet(new_prefix=16 if isinstance(known, IPv4Network) else 32))
