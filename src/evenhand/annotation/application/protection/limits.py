"""How often somebody may try: token buckets in memory, gone with the process."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, IPv6Network, ip_address
from threading import Lock


@dataclass(frozen=True)
class Rate:
    """So many at once, and so many a second in the long run."""

    at_once: int
    per_second: float


@dataclass(frozen=True)
class Limits:
    """The rates of one application. A whole class behind one address is let in; a thousand guesses are not."""

    wrong_invites: Rate = Rate(20, 1 / 15)
    """Links that nobody here has signed, per address; one that was signed is never refused because of them."""
    spent_invites: Rate = Rate(60, 1.0)
    """One link that has ended, was taken back or used up, per address."""
    arrivals: Rate = Rate(300, 2.0)
    """People who come in, per address."""
    posts_of_session: Rate = Rate(60, 2.0)
    """Forms sent by one person, or by one browser before there is a session."""
    posts_of_address: Rate = Rate(120, 2.0)
    """Forms without a session that no page of ours was made for, per address."""


@dataclass
class Limiter:
    """Counts, for any number of rates and of those who are counted."""

    clock: Callable[[], float] = time.monotonic
    most: int = 100_000
    """Of those remembered; beyond it those who have been quiet for longest are forgotten."""
    _buckets: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def take(self, what: str, who: str, rate: Rate) -> float:
        """Count one try; returns 0.0, or the seconds to wait where it is one too many (and is not counted)."""
        with self._lock:
            left = self._left(what, who, rate)
            if left < 1.0:
                return (1.0 - left) / rate.per_second
            self._buckets.pop((what, who), None)  # the order of the dict is that of the last try
            self._buckets[what, who] = (left - 1.0, self.clock())
            while len(self._buckets) > self.most:
                del self._buckets[next(iter(self._buckets))]
        return 0.0

    def wait(self, what: str, who: str, rate: Rate) -> float:
        """Seconds until another try is let through, without counting one."""
        with self._lock:
            left = self._left(what, who, rate)
        return 0.0 if left >= 1.0 else (1.0 - left) / rate.per_second

    def _left(self, what: str, who: str, rate: Rate) -> float:
        left, since = self._buckets.get((what, who), (float(rate.at_once), self.clock()))
        return min(float(rate.at_once), left + (self.clock() - since) * rate.per_second)


def network_of(address: str) -> str:
    """Whom an address is counted as: itself, or the /64 that one subscriber of IPv6 has.

    >>> network_of("192.0.2.7"), network_of("2001:db8::1:2:3:4"), network_of("testclient")
    ('192.0.2.7', '2001:db8::/64', 'testclient')
    """
    try:
        known = ip_address(address)
    except ValueError:
        return address
    if not isinstance(known, IPv6Address):
        return address
    return str(known.ipv4_mapped or IPv6Network((known, 64), strict=False))
