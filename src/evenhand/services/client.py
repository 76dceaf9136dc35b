"""Send requests to a service over HTTP in parallel, retry after temporary failures, and account for every request.

Keys belong in `headers`; they never appear in a response, an error or a log.
"""

import itertools
import json
import math
import queue
import threading
import time
import uuid
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from evenhand.schema import EvenhandError, ServiceUnavailable, UsageError
from evenhand.services.addresses import address_parts
from evenhand.services.answers import KEY_REFUSED, Answer as Answer, Attempt, read_response
from evenhand.services.pace import Pace, RequestCancelled, pause_after, sleep
from evenhand.services.redaction import Redaction
from evenhand.services.responses import LARGEST, LostResponse

if TYPE_CHECKING:
    from evenhand.services.connections import Connections

FORGIVEN = 10
"""Factor by which `attempts` may be exceeded for a request that is repeatedly told to slow down."""
WHEN_BACK = (
    "Responses received so far are saved. When the service is available again, run the same command again, or resume "
    "with the folder of the run."
)
LATE_SECONDS = 2.0
"""Seconds for which running requests are waited for after an error ends the work, because they may be charged."""
LISTEN = 0.2  # seconds; on Windows, a thread that waits without a timeout does not receive Ctrl-C


class ServiceClient:
    """A client of one HTTP service, which retries requests and limits their rate.

    Up to `concurrency` threads send requests at the same time.

    Parameters
    ----------
    base_url : str
        http(s)://host/path, put before the path of every request.
    headers : mapping of str to str, optional
        Headers of every request.
    concurrency : int, default 8
        Maximum number of simultaneous requests.
    attempts : int, default 6
        Attempts per request. "Too many requests" (429) does not count if the service has responded to any
        request since, up to FORGIVEN times as many attempts.
    pause, longest_pause : float
        First and longest pause between attempts, in seconds.
    timeout : float, default 60.0
        Maximum duration of an attempt, to the last byte, in seconds.
    per_minute : float, optional
        Maximum number of attempts per minute, for all threads together.
    key_variable : str, optional
        Environment variable with the API key, named in the hint if the key is refused.
    largest : int
        Maximum number of bytes of a response.

    Raises
    ------
    UsageError
        `base_url` is not an HTTP URL.
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        concurrency: int = 8,
        attempts: int = 6,
        pause: float = 1.0,
        longest_pause: float = 60.0,
        timeout: float = 60.0,
        per_minute: float | None = None,
        key_variable: str | None = None,
        largest: int = LARGEST,
    ):
        self.base_url = base_url.rstrip("/")
        self._host = _host(base_url)
        for name, value in (("concurrency", concurrency), ("attempts", attempts), ("timeout", timeout)):
            if not value >= (1 if name != "timeout" else 1e-9) or value == math.inf:
                raise UsageError(f"{name} must be a positive number, got {value}.")
        for name, value in (("pause", pause), ("longest_pause", longest_pause)):
            if not 0 <= value < math.inf:
                raise UsageError(f"{name} must be a number of seconds, 0 or more, got {value}.")
        if per_minute is not None and not per_minute > 0:
            raise UsageError(
                f"per_minute must be a positive number, got {per_minute}.", "For no limit, use None."
            )
        self.concurrency, self.attempts, self.timeout = concurrency, attempts, timeout
        self.pause, self.longest_pause = pause, longest_pause
        self.key_variable = key_variable
        self._headers = dict(headers or {})
        for header in self._headers.values():
            if not (header.isascii() and header.isprintable()):
                whence = f" in {key_variable}" if key_variable else ""
                raise UsageError(
                    f"The API key{whence} for {self._host} contains an invalid character: a line break, or a "
                    "character outside ASCII.",
                    "Copy it again, without the text around it.",
                )
        self._redaction = Redaction(self._headers)
        self._per_minute, self._largest = per_minute, largest
        self._pace = Pace(per_minute)
        self._lock = threading.Lock()
        self._connections: Connections | None = None
        self._responses = 0  # of any kind, which shows that the service exists
        self._good = 0
        self._key_served = False
        self._passing: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._latencies = array("d")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing: each connection is closed after its one request. A later request is allowed."""

    def post(self, path: str, body: Mapping[str, Any]) -> Answer:
        """Send one request, with `body` as JSON, to `path` after the base URL.

        Raises ServiceUnavailable if the key is refused or the service cannot be reached.
        """
        return self._ask("POST", path, body, threading.Event())

    def get(self, path: str) -> Answer:
        """Fetch a document. Raises the errors of `post`."""
        return self._ask("GET", path, None, threading.Event())

    def post_all(
        self,
        path: str,
        bodies: Sequence[Mapping[str, Any]],
        on_answer: Callable[[int, Answer], object] | None = None,
    ) -> list[Answer]:
        """Send all requests in parallel, and return their n answers in order.

        Parameters
        ----------
        path
            Path after the base URL.
        bodies
            n JSON objects.
        on_answer
            Called in the caller's thread with (number, answer) when an answer arrives. If the work ends early (Ctrl-C,
            a refused key, an error), it is still called for the answers that have arrived, for one of them perhaps
            twice.

        Notes
        -----
        Raises the errors of `post`. After an error, no request is sent, and running ones are waited for at most
        LATE_SECONDS. Waiting threads do not keep the process alive.
        """
        numbers = itertools.count()
        answers: dict[int, Answer] = {}
        arrived: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()
        stop = threading.Event()
        # released after the caller has received the response, so a crash loses at most `concurrency` responses
        room = threading.Semaphore(self.concurrency)

        def work() -> None:
            while room.acquire() and not stop.is_set() and (i := next(numbers)) < len(bodies):
                try:
                    answers[i] = self._ask("POST", path, bodies[i], stop)
                    arrived.put(i)
                except RequestCancelled:
                    return
                except BaseException as error:  # passed to the caller's thread, which raises it
                    arrived.put(error)
                    return

        handed: set[int] = set()
        failure: BaseException | None = None
        heard_out = True  # whether `on_answer` may also be called for failures
        threads = [
            threading.Thread(target=work, daemon=True, name="evenhand-service")
            for _ in range(min(self.concurrency, len(bodies)))
        ]
        try:
            for thread in threads:
                thread.start()
            while failure is None and len(handed) < len(bodies):
                got = _wait_for_arrival(arrived)
                if isinstance(got, BaseException):
                    failure = got
                else:
                    if on_answer is not None:
                        on_answer(got, answers[got])
                    handed.add(got)
                    room.release()
        except KeyboardInterrupt as interrupt:
            failure = interrupt
        except EvenhandError as given_up:
            failure, heard_out = given_up, False
        finally:
            stop.set()
            room.release(self.concurrency)
        if failure is not None:
            if isinstance(failure, EvenhandError):
                end = time.monotonic() + LATE_SECONDS
                for thread in threads:
                    thread.join(max(0.0, end - time.monotonic()))
            # these were paid for, so they must be stored
            if on_answer is not None:
                for i in sorted(answers.keys() - handed):
                    if heard_out or answers[i].error is None:
                        on_answer(i, answers[i])
            raise failure
        return [answers[i] for i in range(len(bodies))]

    def trust_key(self) -> None:
        """Mark the API key as valid, because it worked in an earlier process. A status 403 may then be due to the
        text.
        """
        self._key_served = True

    def describe(self) -> dict[str, Any]:
        """Return facts for the manifest: rate, responses, failed attempts by reason, mean duration of a response."""
        with self._lock:
            latencies = sorted(self._latencies)
            facts: dict[str, Any] = {
                "host": self._host,
                "concurrency": self.concurrency,
                "per_minute": self._per_minute,
                "answered": self._good,
                "asked_again": dict(sorted(self._passing.items())),
                "failed": dict(sorted(self._failed.items())),
            }
        if latencies:
            last = len(latencies) - 1
            facts["seconds"] = {
                name: round(latencies[round(share * last)], 4)
                for name, share in (("median", 0.5), ("p90", 0.9), ("p99", 0.99), ("longest", 1.0))
            }
        return facts

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None, stop: threading.Event) -> Answer:
        # ASCII, so that a lone surrogate in a text reaches the service instead of breaking the request
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if content is not None else {}
        # one key for all attempts, so that a service that supports this header does the work once
        headers["Idempotency-Key"] = uuid.uuid4().hex
        tries = failures = slowed = 0
        good_before, responses_before = self._good, self._responses
        connected = False
        while True:
            self._pace.wait_turn(stop)
            tries += 1
            attempt = self._try(method, path, content, headers, tries)
            connected = connected or attempt.connected
            answer = attempt.answer
            # once the key has worked, a refusal may be about the text or come from one of many servers; `Refusals`
            # finds out whether it is about the key
            served = self._good or (self._key_served and answer.status != 401)
            if answer.status in KEY_REFUSED and not served:
                self.raise_refused(answer)
            if not attempt.passing:
                return self._record_answer(answer)
            with self._lock:
                self._passing[answer.reason] += 1
                others, good_before = self._good > good_before, self._good
            if answer.status == 429:
                slowed = 0 if others else slowed + 1
            else:
                failures += 1
            asked_for = attempt.retry_after
            spent = failures + slowed >= self.attempts or tries >= FORGIVEN * self.attempts
            if spent or (asked_for is not None and asked_for > self.longest_pause):
                if not connected and self._responses == responses_before:
                    raise ServiceUnavailable(
                        f"Cannot connect to {self.base_url}: {answer.detail}.",
                        f"Check the URL and that the server is running. {WHEN_BACK}",
                    )
                return self._record_answer(answer)
            if asked_for is not None:
                self._pace.hold(asked_for)
            sleep(pause_after(tries if asked_for is None else 1, self.pause, self.longest_pause), stop)

    def _try(self, method: str, path: str, content: bytes | None, headers: dict[str, str], n: int) -> Attempt:
        connections, began = self._get_connections(), time.monotonic()
        try:
            response = connections.ask(method, path, content, headers)
        except LostResponse as lost:
            detail = self._redaction.text(lost.detail)
            answer = Answer(None, None, lost.error, detail, n, time.monotonic() - began)
            return Attempt(answer, passing=lost.passing, connected=lost.connected)
        with self._lock:
            self._responses += 1
        seconds = time.monotonic() - began
        return read_response(response.status, response.headers, response.content, n, seconds, self._redaction)

    def _record_answer(self, answer: Answer) -> Answer:
        with self._lock:
            if answer.error is None:
                self._good += 1
                self._latencies.append(answer.seconds)
            else:
                self._failed[answer.reason] += 1
        return answer

    def _get_connections(self) -> "Connections":
        with self._lock:
            if self._connections is None:
                from evenhand.services.connections import Connections  # slow to import

                self._connections = Connections(self.base_url, self._headers, self.timeout, self._largest)
            return self._connections

    def raise_refused(self, answer: Answer) -> NoReturn:
        """Raise ServiceUnavailable for a key that the service does not accept, or no longer accepts."""
        where = f"Set {self.key_variable} to a valid key" if self.key_variable else "Give a valid key"
        raise ServiceUnavailable(
            f"{self._host} rejects the API key: {answer.detail}",
            f"{where}. Responses received so far are saved.",
        )


def _wait_for_arrival(arrived: "queue.SimpleQueue[int | BaseException]") -> int | BaseException:
    while True:
        try:
            return arrived.get(timeout=LISTEN)
        except queue.Empty:
            continue


def _host(base_url: str) -> str:
    parts = address_parts(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"{base_url!r} is not a valid URL of a service.",
            "Expected http://host:port/path or https://host/path.",
        )
    if parts.query:
        raise UsageError(
            f"The URL of {parts.hostname} contains a query. URLs are stored with the run.",
            "Remove it from the URL, and give the API key in an environment variable.",
        )
    return parts.netloc
