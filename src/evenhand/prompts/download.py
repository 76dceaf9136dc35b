"""Downloads one file: resumed after a cut, verified, and either whole in its place or not there."""

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.schema import ChecksumMismatch, DataError, WriteError
from evenhand.schema.files import sha256_of

if TYPE_CHECKING:
    import httpx

Progress = Callable[[str, int, int | None], None]
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers of a server that may be better next time."""


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
    """Download a URL to a file, by way of `<target>.part`, which a later call takes up again.

    url: http(s). target: where the file goes; renamed into place only when complete and verified.
    sha256: expected hash, hex. size: expected bytes. progress: called with (name, bytes so far, bytes in
    all or None). attempts: tries, with pauses that double from `pause` seconds, at most 30. timeout:
    seconds without any data. Raises ChecksumMismatch for wrong content (then nothing is kept), DataError
    when the server refuses or stays unreachable, WriteError when the disk fails.
    """
    import httpx

    part = target.with_name(target.name + ".part")
    failure = ""
    with httpx.Client(timeout=timeout, follow_redirects=True) as client:
        for attempt in range(attempts):
            if attempt:
                time.sleep(min(30.0, pause * 2 ** (attempt - 1)) * random.uniform(0.75, 1.0))
            resumed = part.exists() and part.stat().st_size > 0
            try:
                _receive(client, url, part, size, progress)
            except (_Passing, httpx.TransportError) as error:
                failure = str(error) or type(error).__name__
                continue
            except httpx.HTTPError as error:
                raise DataError(f"{url}: {error}.", _hint(target)) from error
            got = sha256_of(part)
            if sha256 in (None, got):
                part.replace(target)
                return
            part.unlink()
            if not resumed:
                raise ChecksumMismatch(
                    f"{target.name} from {url}: expected SHA-256 {sha256}, found {got}. Nothing was kept.",
                    "The owner may have changed the file; a copy of the pinned one works with --from DIR.",
                )
            failure = "the part left by an earlier attempt did not fit"
    raise DataError(
        f"{url} could not be downloaded in {attempts} attempts; the last: {failure}.", _hint(target)
    )


def _receive(
    client: "httpx.Client", url: str, part: Path, size: int | None, progress: Progress | None
) -> None:
    """Append what is missing to the part; return when the server has sent everything."""
    there = part.stat().st_size if part.exists() else 0
    if size is not None and there == size:
        return
    # identity: ranges count the bytes of the file, not those of a compressed answer
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={there}-"} if there else {})
    with client.stream("GET", url, headers=headers) as answer:
        status = answer.status_code
        if status == 416:
            part.unlink(missing_ok=True)
            raise _Passing("the server could not continue the earlier part")
        if status in PASSING:
            raise _Passing(f"the server answered {status}")
        if status not in (200, 206):
            raise DataError(f"{url}: the server answered {status} {answer.reason_phrase}.", _hint(part))
        if there and not (status == 206 and _starts_at(answer.headers.get("Content-Range", ""), there)):
            there = 0  # the server sends all of it again
            if status == 206:
                part.unlink(missing_ok=True)
                raise _Passing("the server sent another range than was asked for")
        announced = answer.headers.get("Content-Length")
        total = there + int(announced) if announced and announced.isdigit() else size
        _write(answer, part, there, size, total, progress)
    got = part.stat().st_size
    too_long = size is not None and got > size  # left unfinished on purpose
    if total is not None and got < total and not too_long:
        raise _Passing(f"the connection ended after {got} of {total} bytes")


def _write(
    answer: "httpx.Response",
    part: Path,
    there: int,
    size: int | None,
    total: int | None,
    progress: Progress | None,
) -> None:
    name = part.name.removesuffix(".part")
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        with part.open("ab" if there else "wb") as handle:
            for piece in answer.iter_raw():
                handle.write(piece)
                there += len(piece)
                if progress:
                    progress(name, there, total)
                if size is not None and there > size:
                    break  # too long to be the pinned file; the hash will say so
            handle.flush()
            os.fsync(handle.fileno())
    except OSError as error:
        raise WriteError(
            f"Could not write {part}: {error.strerror or error}.",
            "Free some space or set $EVENHAND_DATA to another folder, then run again; it resumes.",
        ) from error


def _starts_at(content_range: str, there: int) -> bool:
    """Whether a header like `bytes 100-199/200` begins at the byte asked for."""
    return content_range.removeprefix("bytes ").split("-")[0].strip() == str(there)


def _hint(target: Path) -> str:
    return (
        f"Check the network and try again, or get {target.name.removesuffix('.part')} by other means and use "
        "--from DIR."
    )
