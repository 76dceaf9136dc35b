"""Decide when the next request may be sent: rate limits, pauses that the service requests, back-off after failures."""

import random
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


class RequestCancelled(Exception):
    """Raised for a request whose caller no longer waits; it is dropped silently."""


def pause_after(failures: int, pause: float, longest: float) -> float:
    """Return the seconds to wait after a number of failures: doubled each time, at most `longest`, half of it random.

    Without randomness, requests that failed together would be repeated together.

    >>> 0.5 <= pause_after(1, 1.0, 60.0) <= 1.0, 30.0 <= pause_after(20, 1.0, 60.0) <= 60.0
    (True, True)
    """
    return min(longest, pause * 2.0 ** min(failures - 1, 60)) * random.uniform(0.5, 1.0)


def seconds_asked_for(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait that a service's Retry-After header requests; None without a request.

    headers: with lower-case names. Both formats are read, seconds and a date (RFC 9110, section 10.2.3), and also the
    milliseconds that some services give.

    >>> seconds_asked_for({"retry-after": "3"}), seconds_asked_for({"retry-after": "soon"})
    (3.0, None)
    >>> seconds_asked_for({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"})
    0.0
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, OverflowError):  # OverflowError: a year of twenty digits
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())


class Pace:
    """Limits the threads of one client to `per_minute` requests per minute (None: no limit)."""

    def __init__(self, per_minute: float | None = None):
        self._interval = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0
        self._held_until = 0.0
        self._lock = threading.Lock()

    def hold(self, seconds: float) -> None:
        """Let all requests wait for this time, because the service requested a pause."""
        with self._lock:
            self._held_until = max(self._held_until, time.monotonic() + seconds)

    def wait_turn(self, stop: threading.Event) -> None:
        """Return when it is this thread's turn. Raise RequestCancelled if `stop` is set meanwhile."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next, self._held_until)
            self._next = turn + self._interval
        while True:
            sleep(turn - time.monotonic(), stop)
            with self._lock:  # a pause may have been requested while this thread waited
                turn = self._held_until
            if turn <= time.monotonic():
                return


def sleep(seconds: float, stop: threading.Event) -> None:
    """Wait; raise RequestCancelled as soon as `stop` is set."""
    if stop.wait(seconds) if seconds > 0 else stop.is_set():
        raise RequestCancelled
