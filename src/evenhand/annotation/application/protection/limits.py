"""Rate limits: token buckets in memory, which are lost when the process ends."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, IPv6Network, ip_address
from threading import Lock


@dataclass(frozen=True)
class Rate:
    """A rate limit: burst size and sustained rate per second."""

    at_once: int
    per_second: float


@dataclass(frozen=True)
class Limits:
    """Rate limits of one application. They allow a whole class behind one IP address, but not a thousand guesses."""

    wrong_invites: Rate = Rate(20, 1 / 15)
    """Limit per IP address of attempts with links of a wrong signature. It never blocks a correct link."""
    spent_invites: Rate = Rate(60, 1.0)
    """Limit per IP address of attempts with one link that has expired, was revoked or is used up."""
    arrivals: Rate = Rate(300, 2.0)
    """Limit per IP address of people who start a session."""
    posts_of_session: Rate = Rate(60, 2.0)
    """Limit of forms sent by one person, or by one browser before there is a session."""
    posts_of_address: Rate = Rate(120, 2.0)
    """Limit per IP address of forms without a session that do not come from a page of this application."""


@dataclass
class Limiter:
    """Counts events per client, for any number of rate limits."""

    clock: Callable[[], float] = time.monotonic
    most: int = 100_000
    """Maximum number of clients in memory; those inactive for longest are dropped first."""
    _buckets: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def take(self, what: str, who: str, rate: Rate) -> float:
        """Count one attempt. Return 0.0, or the seconds to wait if it exceeds the limit (and is not counted)."""
        with self._lock:
            left = self._compute_remaining(what, who, rate)
            if left < 1.0:
                return (1.0 - left) / rate.per_second
            self._buckets.pop((what, who), None)  # keep the order of the last attempts
            self._buckets[what, who] = (left - 1.0, self.clock())
            while len(self._buckets) > self.most:
                del self._buckets[next(iter(self._buckets))]
        return 0.0

    def wait(self, what: str, who: str, rate: Rate) -> float:
        """Return the number of seconds until the next attempt is allowed, without counting one."""
        with self._lock:
            left = self._compute_remaining(what, who, rate)
        return 0.0 if left >= 1.0 else (1.0 - left) / rate.per_second

    def _compute_remaining(self, what: str, who: str, rate: Rate) -> float:
        left, since = self._buckets.get((what, who), (float(rate.at_once), self.clock()))
        return min(float(rate.at_once), left + (self.clock() - since) * rate.per_second)


def find_network(address: str) -> str:
    """Return the network that an address counts for: the IPv4 address, or the /64 of an IPv6 subscriber.

    >>> find_network("192.0.2.7"), find_network("2001:db8::1:2:3:4"), find_network("testclient")
    ('192.0.2.7', '2001:db8::/64', 'testclient')
    """
    try:
        known = ip_address(address)
    except ValueError:
        return address
    if not isinstance(known, IPv6Address):
        return address
    return str(known.ipv4_mapped or IPv6Network((known, 64), strict=False))
