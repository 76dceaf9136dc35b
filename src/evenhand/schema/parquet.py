"""Parquet files with a checksum, and reading in which a damaged file raises an error instead of ending the process.

One changed byte can make the Parquet reader panic, or request so much memory that the process is killed. A file with
evenhand's checksum is verified before it is read. A file without one (a user's, or from an earlier version) is first
read in a separate process.
"""

import json
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import polars as pl

from evenhand.schema.errors import DataError

UNREADABLE = (OSError, pl.exceptions.PolarsError)
"""Exceptions that reading a damaged table may raise."""
ENDING = 8
"""Bytes at the end of a Parquet file: the length of its footer, and PAR1."""
MAGIC = b"PAR1"
SEAL = re.compile(rb"evenhand-crc32:([0-9a-f]{8})")
SEALED = len("evenhand-crc32:") + 8
READING_APART = """
import json, sys
import polars
print(json.dumps("ready"), flush=True)
for path in json.load(sys.stdin):
    try:
        polars.read_parquet(path)
    except polars.exceptions.PanicException as error:
        print(json.dumps(str(error)), flush=True)
    except Exception:  # as the process that asked meets it again where it reads the file
        print("null", flush=True)
    else:
        print("null", flush=True)
"""
_read_apart: dict[tuple[str, int, int], str | None] = {}


class DamagedParquet(pl.exceptions.PolarsError):
    """A Parquet file that must not, or cannot, be read."""


class Parquet:
    """A Parquet file that was checked and read into memory.

    The file is not mapped, so another process can replace it meanwhile.

    Raises
    ------
    OSError
        The path is not a regular file.
    DamagedParquet
        The file has changed since it was written, or it cannot be read safely.
    """

    def __init__(self, path: Path):
        if path.exists() and not path.is_file():  # reading a named pipe would wait forever
            raise OSError("it is not a regular file")
        self._content = path.read_bytes()
        intact = _matches_checksum(self._content)
        if intact is False:
            raise DamagedParquet("it has changed since it was written (wrong checksum)")
        if intact is None and (harm := check_in_subprocess([path])[0]):
            raise DamagedParquet(harm)

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """Return the columns and their types. Raise one of UNREADABLE."""
        try:
            return dict(pl.read_parquet_schema(self._content))
        except pl.exceptions.PanicException as error:
            raise DamagedParquet(str(error)) from error

    @cached_property
    def metadata(self) -> dict[str, str]:
        """Return the metadata that the writer stored. Raise one of UNREADABLE."""
        try:
            return dict(pl.read_parquet_metadata(self._content))
        except pl.exceptions.PanicException as error:
            raise DamagedParquet(str(error)) from error

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the table, or some of its columns. Raise one of UNREADABLE."""
        try:
            return pl.read_parquet(self._content, columns=None if columns is None else list(columns))
        except pl.exceptions.PanicException as error:
            raise DamagedParquet(str(error)) from error


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read a Parquet file, or some of its columns; all Parquet files are read by this function or by `Parquet`.

    Raises one of UNREADABLE for any defect of the file.
    """
    return Parquet(path).read(columns)


def read_table_bytes(content: bytes) -> pl.DataFrame:
    """Read a table from bytes of `table_bytes` that were stored in another file; raises one of UNREADABLE."""
    if not _matches_checksum(content):
        raise DamagedParquet("it has changed since it was written (wrong or missing checksum)")
    try:
        return pl.read_parquet(content)
    except pl.exceptions.PanicException as error:
        raise DamagedParquet(str(error)) from error


def has_checksum(path: Path) -> bool:
    """Return whether a file is Parquet with evenhand's checksum, judged only by its end. It may still be damaged."""
    return _has_checksum(path) is True


def read_stored_table(path: Path) -> pl.DataFrame:
    """Read a table that a study stored; raise DataError if it cannot be read."""
    try:
        return read_parquet(path)
    except UNREADABLE as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise DataError(
            f"{path} cannot be read: {reason}.",
            "Delete the file and run the command again: the file is then created again.",
        ) from error


def add_checksum(content: bytes | memoryview) -> bytes:
    """Return a Parquet file with a checksum of its content before the footer, where readers do not look.

    >>> add_checksum(b"PAR1" + bytes(4) + b"PAR1")[:27]
    b'PAR1evenhand-crc32:b7c50f11'
    """
    footer = _footer(content)
    checksum = zlib.crc32(content)
    return b"".join([content[:footer], b"evenhand-crc32:%08x" % checksum, content[footer:]])


def check_in_subprocess(paths: Sequence[Path]) -> list[str | None]:
    """Check in another process what reading files without a checksum would do.

    Returns None for each harmless file, otherwise a text on what happened to the other process. Files with a
    checksum and missing files are not checked. A harmless file is not checked again until it changes.
    """
    keys = [_key(path) for path in paths]
    left = [
        key
        for key, path in zip(keys, paths, strict=True)
        if key and key not in _read_apart and _has_checksum(path) is False
    ]
    while left:
        told, harm = _try_in_subprocess([path for path, *_ in left])
        _read_apart.update(zip(left, told, strict=False))
        left = left[len(told) :]
        if harm is None:
            break
        _read_apart[left.pop(0)] = harm
    return [_read_apart.get(key) if key else None for key in keys]


def _try_in_subprocess(paths: Sequence[str]) -> tuple[list[str | None], str | None]:
    """Return the results for files up to the one that ended the process, and how the process ended, if it did."""
    command = [sys.executable, "-P", "-c", READING_APART]
    try:
        done = subprocess.run(command, input=json.dumps(paths).encode(), capture_output=True)
    except OSError:  # no process can be started here, so nothing is known
        return [], None
    ready, *said = [json.loads(line) for line in done.stdout.splitlines()] or [None]
    if ready is None or len(said) == len(paths):
        return said, None
    return said, f"reading it ends the process ({_describe_exit(done.returncode)})"


def _describe_exit(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"code {code}"


def _key(path: Path) -> tuple[str, int, int] | None:
    try:
        found = path.stat()
        return str(path.absolute()), found.st_size, found.st_mtime_ns
    except (OSError, ValueError):
        return None


def _has_checksum(path: Path) -> bool | None:
    """Return whether a file has a checksum, from its end alone; None if it cannot be Parquet."""
    if not path.is_file():
        return None
    with path.open("rb") as handle:
        size = handle.seek(0, os.SEEK_END)
        handle.seek(max(size - ENDING, 0))
        ending = handle.read()
        if not ending.endswith(MAGIC):
            return None
        handle.seek(max(size - ENDING - int.from_bytes(ending[:4], "little") - SEALED, 0))
        return SEAL.fullmatch(handle.read(SEALED)) is not None


def _matches_checksum(content: bytes) -> bool | None:
    """Return whether the content matches its checksum; None without a checksum."""
    footer = _footer(content)
    start = footer - SEALED
    found = SEAL.fullmatch(content[start:footer]) if start >= 0 else None
    if found is None:
        return None
    view = memoryview(content)
    return zlib.crc32(view[footer:], zlib.crc32(view[:start])) == int(found[1], 16)


def _footer(content: bytes | memoryview) -> int:
    """Return the start of a Parquet file's footer; negative if the file is not Parquet."""
    return len(content) - ENDING - int.from_bytes(content[-ENDING:-4], "little")
