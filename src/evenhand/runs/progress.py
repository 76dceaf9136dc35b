"""Show the progress of a run on standard error: a bar in a terminal, otherwise occasional lines."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, Protocol, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


Unit = Literal["requests", "texts", "data sets", "MB", "kB"]
DONE_TO: dict[Unit, tuple[str, str]] = {
    "requests": ("process", "processing requests"),
    "texts": ("classify", "classifying texts"),
    "data sets": ("simulate", "simulating data sets"),
    "MB": ("count", "counting"),
    "kB": ("count", "counting"),
}


class Progress(Protocol):
    """Interface of an object that receives progress messages of the engine.

    Implement it to show the progress of an audit in your own program.
    """

    def start(self, total: int, done: int, unit: Unit = "requests") -> None:
        """Start a session with the number of requests (or texts, or data sets) in total and already finished."""

    def advance(self, requests: int, tokens: int, errors: int) -> None:
        """Report the requests (or texts), tokens and errors of a shard that was stored; errors count as requests."""

    def note(self, message: str) -> None:
        """Report a message for the user."""

    def stop(self) -> None:
        """End the session, whether it succeeded or not."""


class Silence:
    """A receiver of progress messages that shows nothing; the default in Python."""

    def start(self, total: int, done: int, unit: Unit = "requests") -> None: ...

    def advance(self, requests: int, tokens: int, errors: int) -> None: ...

    def note(self, message: str) -> None: ...

    def stop(self) -> None: ...


class Lines:
    """Prints a line at the start, every `every` seconds, and at the end: for logs and batch systems."""

    def __init__(
        self, stream: TextIO | None = None, every: float = 30.0, clock: Callable[[], float] = time.monotonic
    ):
        self._stream, self._every, self._clock = stream or sys.stderr, every, clock
        self._total = self._done = self._before = self._tokens = self._errors = 0
        self._began = self._told = 0.0
        self._running = False
        self._unit: Unit = "requests"

    def start(self, total: int, done: int, unit: Unit = "requests") -> None:
        self._total, self._done, self._before, self._unit = total, done, done, unit
        self._tokens = self._errors = 0
        self._began = self._told = self._clock()
        self._running = True
        self._say(
            f"{total - done:,} of {total:,} {unit} to {DONE_TO[unit][0]}"
            + (f" ({done:,} done earlier)" if done else "")
        )

    def advance(self, requests: int, tokens: int, errors: int) -> None:
        self._done += requests
        self._tokens += tokens
        self._errors += errors
        if self._clock() - self._told >= self._every:
            self._told = self._clock()
            self._say(self._state())

    def note(self, message: str) -> None:
        self._say(_make_printable(message))

    def stop(self) -> None:
        if self._running:
            self._running = False
            self._say(self._state())

    def _state(self) -> str:
        seconds = max(self._clock() - self._began, 1e-9)
        rate = (self._done - self._before) / seconds
        parts = [
            f"{self._done:,}/{self._total:,} {self._unit}",
            f"{rate:,.0f} {self._unit}/s",
            *([f"{self._tokens / seconds:,.0f} tokens/s"] if self._unit == "requests" else []),
            f"{self._errors:,} errors",
        ]
        if self._running and rate:
            parts.append(f"{duration((self._total - self._done) / rate)} left")
        return " · ".join(parts)

    def _say(self, line: str) -> None:
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        print(line.encode(encoding, "replace").decode(encoding), file=self._stream, flush=True)


class Bar:
    """A bar with rates, remaining time and errors, for a terminal."""

    def __init__(self, stream: TextIO | None = None):
        self._stream = stream or sys.stderr
        self._bar: RichProgress | None = None
        self._began = 0.0
        self._unit: Unit = "requests"
        self._requests = self._tokens = self._errors = 0

    def start(self, total: int, done: int, unit: Unit = "requests") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._began, self._unit = time.monotonic(), unit
        self._requests = self._tokens = self._errors = 0
        self._bar = Progress(
            BarColumn(bar_width=10),  # short enough for rates and errors to fit in 80 columns
            MofNCompleteColumn(),
            TextColumn("{task.fields[rates]}"),
            TimeRemainingColumn(),
            console=Console(file=self._stream),
            refresh_per_second=4,
        )
        self._bar.add_task(DONE_TO[unit][1], total=total, completed=done, rates="")
        self._bar.start()

    def advance(self, requests: int, tokens: int, errors: int) -> None:
        if self._bar is None:
            return
        self._requests += requests
        self._tokens += tokens
        self._errors += errors
        seconds = max(time.monotonic() - self._began, 1e-9)
        rates = f"{self._requests / seconds:,.0f} {self._unit}/s"
        if self._unit == "requests":
            rates += f" {self._tokens / seconds:,.0f} tokens/s"
        if self._errors:
            rates += f" [red]{self._errors:,} errors[/red]"
        self._bar.update(self._bar.task_ids[0], advance=requests, rates=rates)

    def note(self, message: str) -> None:
        from rich.text import Text

        if self._bar is not None:
            self._bar.console.print(Text(_make_printable(message)))

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _make_printable(message: str) -> str:
    """Return a message on one line, without control characters, which external names may contain."""
    from evenhand.reports import wording

    return wording.printable(message)


@contextmanager
def show_progress(progress: Progress, total: int, done: int, unit: Unit = "requests") -> Iterator[Progress]:
    """Start a progress, and stop it when the block ends, also after an error; a context manager.

    Examples
    --------
    >>> with show_progress(Silence(), total=3, done=0) as progress:
    ...     progress.advance(3, 30, 0)
    """
    progress.start(total, done, unit)
    try:
        yield progress
    finally:
        progress.stop()


def progress_for(stream: TextIO | None = None) -> Progress:
    """Return a progress bar if the stream is a terminal, otherwise progress lines.

    The default stream is the standard error.
    """
    stream = stream or sys.stderr
    return Bar(stream) if stream.isatty() else Lines(stream)


def duration(seconds: float) -> str:
    """Return a duration as text.

    >>> duration(42), duration(130), duration(8000)
    ('42 s', '2 min 10 s', '2 h 13 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
