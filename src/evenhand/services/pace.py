"""When the next request to a service may leave: rate limits, what the service asks for, back-off after failures."""

import random
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


class Stopped(Exception):
    """The caller no longer waits for this request; it is dropped without a word."""


def pause_after(failures: int, pause: float, longest: float) -> float:
    """Return the seconds to wait after a number of failures: doubled each time, at most `longest`, half of it random.

    Without chance, requests that failed together would come back together.

    >>> 0.5 <= pause_after(1, 1.0, 60.0) <= 1.0, 30.0 <= pause_after(20, 1.0, 60.0) <= 60.0
    (True, True)
    """
    return min(longest, pause * 2.0 ** min(failures - 1, 60)) * random.uniform(0.5, 1.0)


def seconds_asked_for(headers: Mapping[str, str]) -> float | None:
    """What a service's Retry-After header asks for, in seconds; None where it asks for nothing.

    headers: with lower-case names. Both forms are read, seconds and a date (RFC 9110, section 10.2.3), and
    the milliseconds that some services give in addition.

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
    """Turns for the threads of one client, `per_minute` of them a minute (None: as many as they like)."""

    def __init__(self, per_minute: float | None = None):
        self._interval = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0
        self._held_until = 0.0
        self._lock = threading.Lock()

    def hold(self, seconds: float) -> None:
        """All requests wait for this time, because the service asked for a pause."""
        with self._lock:
            self._held_until = max(self._held_until, time.monotonic() + seconds)

    def wait_turn(self, stop: threading.Event) -> None:
        """Return when it is this thread's turn. Raises Stopped when `stop` is set meanwhile."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next, self._held_until)
            self._next = turn + self._interval
        while True:
            sleep(turn - time.monotonic(), stop)
            with self._lock:  # a rest may have been asked for while this thread waited
                turn = self._held_until
            if turn <= time.monotonic():
                return


def sleep(seconds: float, stop: threading.Event) -> None:
    """Wait; raises Stopped as soon as `stop` is set."""
    if stop.wait(seconds) if seconds > 0 else stop.is_set():
        raise Stopped
