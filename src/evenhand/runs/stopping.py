"""Ctrl-C and SIGTERM: drop what is in flight, keep what is written, leave in order."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self


class StopRequested(KeyboardInterrupt):
    """The user asked to stop. Not an Exception: no model's error handling can swallow it."""


class Stopping:
    """While entered, the first signal stops the work in flight and the second ends the process.

    A shard that is being written is completed first: it takes a moment, and its answers may have
    taken half a minute.
    """

    def __init__(self) -> None:
        self._requested = False
        self._in_flight = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        # Python delivers signals to the main thread only; elsewhere the caller's handling stands.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Work that may be dropped; raises StopRequested if a signal came before or comes now."""
        self._in_flight = True
        try:
            if self._requested:
                raise StopRequested
            yield
        finally:
            self._in_flight = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._requested:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self._requested = True
        if self._in_flight:
            raise StopRequested
