"""Worker processes: they end with this process, leave signals to it, and use one core each."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

ONE_THREAD = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
"""Environment variables that limit each process to one core."""
HEARD_BY_THE_PARENT = (signal.SIGINT, signal.SIGTERM)
"""Signals that a terminal or service manager sends to all processes of a command."""


def exit_with_parent(parent: Connection) -> None:
    """End this process as soon as the other end of a connection is closed.

    The other end is closed by its owner, or by the system if its owner dies.
    """
    for number in HEARD_BY_THE_PARENT:
        signal.signal(number, signal.SIG_IGN)

    def watch() -> None:
        parent.poll(None)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def shield_workers_from_signals() -> Iterator[None]:
    """Make processes that are started inside the block ignore the signals of the parent; a context manager.

    The parent itself receives the signals afterwards.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HEARD_BY_THE_PARENT)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Limit processes that are started inside the block to one thread; a context manager."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
