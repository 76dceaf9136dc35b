"""Downloads one file with pooch: verified, and either whole in its place or not there."""

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
"""Answers of a server that may be better next time."""
PIECE = 1 << 16
MOST_UNPINNED = 1 << 27
"""Maximum size in bytes of an unpacked file without a pinned size."""
SLOWEST = 10_000
"""Bytes a second: a download that stays below is given up, once it has had twice its time-out."""


class _Passing(Exception):
    """A failure worth another attempt."""


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
    """Download a URL to a file, which is there only when it is complete and verified.

    url: http(s), by way of the proxy that the environment names. target: where the file goes; what stood there stays
    until then. sha256: expected hash, hex. size: expected bytes; without it at most MOST_UNPINNED are taken. progress:
    called with (name, bytes so far, bytes in all or None). attempts: tries, with pauses that double from `pause`
    seconds, at most 30. timeout: seconds without any data; what comes more slowly than SLOWEST is given up after twice
    that. Raises ChecksumMismatch for wrong content, DataError when the server refuses, stays unreachable or sends too
    much, WriteError when the disk fails.
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
    """A file that is written to while its bytes are counted, hashed and reported."""

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
        """Asked for after every piece; the file is flushed once, at its end."""


def _receive(url: str, arriving: _Arriving, timeout: float) -> None:
    from pooch import HTTPDownloader
    from requests import exceptions

    # What requests raises is an OSError, which would be taken for one of the disk.
    try:
        with ExitStack() as opened:  # pooch leaves the connection of a failure open

            def close_later(response: Any, **_: Any) -> None:
                opened.callback(response.close)
                # as it comes: to wait for a whole piece is to wait as long as a server drips
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
    """The last of the reasons that the layers of a connection wrap in each other."""
    while error.args and isinstance(inner := getattr(error.args[0], "reason", error.args[0]), Exception):
        error = inner
    return str(error).rsplit(": ", 1)[-1] or type(error).__name__


def _hint(name: str) -> str:
    return f"Check the network and try again, or download {name} by other means and use --from DIR."
