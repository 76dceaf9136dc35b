"""Download one file with pooch, verified and atomically."""

import hashlib
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from evenhand.schema import ChecksumMismatch, DataError, atomic_write

Progress = Callable[[str, int, int | None], None]
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes of temporary failures."""
PIECE = 1 << 16
MOST_UNPINNED = 1 << 27
"""Maximum size in bytes of an unpacked file without a pinned size."""
SLOWEST = 10_000
"""Minimum speed in bytes per second. A slower download is stopped after twice its timeout."""


class _Passing(Exception):
    """A failure after which another attempt makes sense."""


def download(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    size: int | None = None,
    progress: Progress | None = None,
    attempts: int = 5,
    pause: float = 1.0,
    timeout: float = 30.0,
) -> None:
    """Download a URL to a file, which appears only when it is complete and verified.

    Parameters
    ----------
    url : str
        http(s) URL; the proxy of the environment is used.
    target : path
        The file. An existing file stays until the new one is complete.
    sha256 : str, optional
        Expected hash, in hexadecimal digits.
    size : int, optional
        Expected number of bytes. Without it, at most MOST_UNPINNED bytes are accepted.
    progress : callable, optional
        Called with (name, bytes so far, total bytes or None).
    attempts : int
        Maximum number of attempts.
    pause : float
        Seconds before the second attempt; doubled for each further one, at most 30.
    timeout : float
        Seconds without any data. A download below SLOWEST is stopped after twice this time.

    Raises
    ------
    ChecksumMismatch
        The content is wrong.
    DataError
        The server refuses, cannot be reached, or sends too much.
    WriteError
        The disk fails.
    """
    failure = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(min(30.0, pause * 2 ** (attempt - 1)) * random.uniform(0.75, 1.0))
        try:
            with atomic_write(target) as handle:
                arriving = _Arriving(handle, target.name, size, progress, time.monotonic() + 2 * timeout)
                _receive(url, arriving, timeout)
                if sha256 not in (None, got := arriving.digest.hexdigest()):
                    raise ChecksumMismatch(
                        f"{target.name} from {url}: expected SHA-256 {sha256}, got {got}. The file was discarded.",
                        "The owner may have changed the file. If you have a copy of the expected version, use it "
                        "with --from DIR.",
                    )
            return
        except _Passing as error:
            failure = str(error)
    raise DataError(
        f"{url} could not be downloaded in {attempts} attempts; the last: {failure}.", _hint(target.name)
    )


class _Arriving:
    """A file that is written while its bytes are counted, hashed and reported."""

    def __init__(
        self, handle: BinaryIO, name: str, size: int | None, progress: Progress | None, patient_until: float
    ):
        self.handle, self.name, self.size, self.progress = handle, name, size, progress
        self.patient_until = patient_until
        self.received = 0
        self.digest = hashlib.sha256()

    def write(self, piece: bytes) -> None:
        self.received += len(piece)
        if self.size is None and self.received > MOST_UNPINNED:
            raise DataError(
                f"{self.name}: more than {MOST_UNPINNED:,} bytes were sent, which is too large for this data set. "
                "The file was discarded.",
                _hint(self.name),
            )
        if self.received < SLOWEST * (time.monotonic() - self.patient_until):
            raise _Passing(f"the download was slower than {SLOWEST / 1000:g} KB per second")
        if self.size is not None and self.received > self.size:
            raise ChecksumMismatch(
                f"{self.name}: more than the expected {self.size:,} bytes were sent. The file was discarded.",
                "The owner may have changed the file. If you have a copy of the expected version, use it with "
                "--from DIR.",
            )
        self.handle.write(piece)
        self.digest.update(piece)
        if self.progress:
            self.progress(self.name, self.received, self.size)

    def flush(self) -> None:
        """Do nothing; it is called after every piece, and the file is flushed once at its end."""


def _receive(url: str, arriving: _Arriving, timeout: float) -> None:
    from pooch import HTTPDownloader
    from requests import exceptions

    # exceptions of requests are OSErrors, which would be mistaken for errors of the disk
    try:
        with ExitStack() as opened:  # pooch leaves the connection of a failure open

            def close_later(response: Any, **_: Any) -> None:
                opened.callback(response.close)
                # read what has arrived; waiting for a full piece would take as long as a slow server needs
                response.raw.stream = partial(_as_it_comes, response.raw)

            downloader = HTTPDownloader(chunk_size=PIECE, timeout=timeout, hooks={"response": close_later})
            downloader(url, arriving, None)
    except exceptions.HTTPError as error:
        status, reason = (getattr(error.response, key, "") for key in ("status_code", "reason"))
        if status in PASSING:
            raise _Passing(f"the server answered {status}") from error
        raise DataError(f"{url}: the server answered {status} {reason}.", _hint(arriving.name)) from error
    except exceptions.ProxyError as error:
        raise _Passing("the proxy of the environment (HTTPS_PROXY, HTTP_PROXY) failed") from error
    except exceptions.SSLError as error:
        raise DataError(
            f"{url}: the connection is not secure ({_cause(error)}).", _hint(arriving.name)
        ) from error
    except exceptions.Timeout as error:
        raise _Passing(f"no data for {timeout:g} seconds") from error
    except (exceptions.ConnectionError, exceptions.ChunkedEncodingError) as error:
        raise _Passing(f"the connection failed or was interrupted ({_cause(error)})") from error
    except exceptions.RequestException as error:
        raise DataError(f"{url}: {_cause(error)}.", _hint(arriving.name)) from error


def _as_it_comes(raw: Any, amount: int, decode_content: bool) -> Iterator[bytes]:
    while piece := raw.read1(amount, decode_content=decode_content):
        yield piece


def _cause(error: BaseException) -> str:
    """Return the innermost reason, which the layers of a connection wrap."""
    while error.args and isinstance(inner := getattr(error.args[0], "reason", error.args[0]), Exception):
        error = inner
    return str(error).rsplit(": ", 1)[-1] or type(error).__name__


def _hint(name: str) -> str:
    return f"Check the network and try again, or download {name} by other means and use --from DIR."
