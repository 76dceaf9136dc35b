"""Handle Ctrl-C and SIGTERM: drop pending work, keep what is written, exit cleanly, and explain how to resume."""

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from evenhand.schema import Interrupted

NUMBERS = (signal.SIGINT, signal.SIGTERM)
SAME_PRESS = 0.5
"""Seconds within which another signal counts as the same one: shells, `timeout` and containers often send it twice."""

SOON = 0.005
"""Seconds after which a stop that Python swallowed during cleanup is raised again."""


class StopRequested(KeyboardInterrupt):
    """The user requested a stop. It is not an Exception, so that error handling of models cannot swallow it."""


class _Watch:
    """The signals that this process has received so far, for all `Stopping` objects."""

    def __init__(self, last_words: str | None):
        self.last_words = last_words
        self.since: float | None = None
        """Time of the first signal; None: no signal."""
        self.raised = self.swallowed = self.in_flight = False
        self.previous: dict[signal.Signals, Any] = {}
        self.hook: Callable[[Any], object] = sys.unraisablehook

    def begin(self) -> None:
        for number in NUMBERS:
            self.previous[number] = signal.signal(number, self.handle)
        self.hook, sys.unraisablehook = sys.unraisablehook, self.unraisable

    def end(self) -> None:
        sys.unraisablehook = self.hook
        for number, handler in self.previous.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self.previous.clear()

    def stop(self) -> None:
        self.raised = True
        raise StopRequested

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.swallowed:
            self.swallowed = False
            self.stop()
        if self.since is None:
            self.since = time.monotonic()
            if self.in_flight:
                self.stop()
        elif time.monotonic() - self.since > SAME_PRESS:
            self.exit_at_once(number)

    def exit_at_once(self, number: int) -> None:
        """Exit at once on a second signal, without a clean exit. Files on disk are complete in any case."""
        if self.last_words is None:
            self.end()
            signal.raise_signal(number)
        else:
            os.write(2, f"\n{self.last_words}\n".encode())
            os._exit(Interrupted.exit_code)

    def unraisable(self, told: Any) -> None:
        # if it is raised while Python cleans up an object, it is printed and lost, so it is raised again later
        if told.exc_type is StopRequested and self.previous:
            self.swallowed = True
            threading.Timer(SOON, _thread.interrupt_main).start()
        else:
            self.hook(told)


class Stopping:
    """A context manager in which the first signal stops the work and the second ends the process.

    A shard that is being written is completed first, because its responses may have taken half a minute.
    Nested objects share the received signals.

    Parameters
    ----------
    last_words : str, optional
        Message of the outermost object if a second signal ends the process. None: the second signal has its
        previous effect.
    """

    def __init__(self, last_words: str | None = None) -> None:
        self._watch = _Watch(last_words)
        self._outer_in_flight: bool | None = None
        """None: this is the outermost object."""

    def __enter__(self) -> Self:
        # Python delivers signals to the main thread only; elsewhere the caller's handling remains
        if threading.current_thread() is threading.main_thread():
            outer = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
            if isinstance(outer, _Watch):
                self._watch, self._outer_in_flight = outer, outer.in_flight
                outer.in_flight = False
            else:
                self._watch.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        watch = self._watch
        if self._outer_in_flight is None:
            watch.end()
        else:
            watch.in_flight = self._outer_in_flight
        if kind is None and self.is_requested and not watch.raised:
            # the signal came while something was being written, and nothing was in progress after that
            watch.stop()

    @property
    def is_requested(self) -> bool:
        """Return True if a signal was received."""
        return self._watch.since is not None

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Mark work that may be interrupted; a context manager. Raises StopRequested if a signal was or is received."""
        self._watch.in_flight = True
        try:
            if self.is_requested:
                self._watch.stop()
            yield
        finally:
            self._watch.in_flight = False


@contextmanager
def resumable(
    go_on: str, stopped: str = "Stopped between two steps. All results so far are saved."
) -> Iterator[None]:
    """Raise Interrupted on Ctrl-C and SIGTERM, with an explanation of how to resume; a context manager.

    Parameters
    ----------
    go_on : str
        How to resume.
    stopped : str
        Message for a stop without a more specific one.
    """
    try:
        with Stopping() as stopping, stopping.in_flight():
            yield
    except (Interrupted, KeyboardInterrupt) as stop:
        raise Interrupted(stop.message if isinstance(stop, Interrupted) else stopped, go_on) from stop
