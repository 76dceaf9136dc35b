"""Find and open files in their store (this machine, s3://, hf://, https://), and detect changed versions.

Options of a store come from the environment, as fsspec reads them: FSSPEC_S3_ANON=true, AWS_ENDPOINT_URL, HF_TOKEN.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.schema import DataError, EvenhandError, UsageError

EXTRA = "pip install 'evenhand[corpus]'"
SCHEMES = ("s3", "hf", "https", "http", "gs", "gcs", "abfs", "az", "file", "memory")
MENDING = {
    "s3": (
        "Set credentials as for the AWS tools (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE), or "
        "FSSPEC_S3_ANON=true for a public bucket. For a service other than Amazon's, set AWS_ENDPOINT_URL."
    ),
    "hf": (
        "Check the name on the Hugging Face Hub: hf://datasets/OWNER/NAME/PATH. Private data sets need "
        "HF_TOKEN."
    ),
    "https": (
        "Check the URL in a browser. If the server does not support partial downloads, download the file "
        "first."
    ),
}
MENDING["http"] = MENDING["https"]
PACKAGES = {"s3": "'evenhand[s3]'", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs"}
BLOCK = 8 << 20
"""Bytes that are requested from remote storage at a time."""

MOST_UNTOLD = 64 << 30
"""Maximum number of bytes to read from a file if the store does not give its size."""


@dataclass(frozen=True)
class StoredFile:
    """A file in storage.

    size: number of bytes, or 0 if the storage does not report it. version: a text that begins with the size, if it is
    known, and that changes with the content, if the storage reports changes.
    """

    address: str
    size: int
    version: str
    divisible: bool = True
    """Whether any byte range can be requested."""


def get_scheme(address: str) -> str:
    """Return the scheme of a URL, "" for a local path.

    >>> get_scheme("s3://bucket/a"), get_scheme("data/a")
    ('s3', '')
    """
    scheme, parted, _ = address.partition("://")
    if not parted or scheme == "file":
        return ""
    if scheme not in SCHEMES:
        raise UsageError(
            f"{address}: unknown kind of URL, {scheme}://",
            "Give a local path, or a URL that begins with s3://, hf://datasets/ or https://.",
        )
    return scheme


def local(address: str) -> str:
    """Return the local path of a URL."""
    return address.removeprefix("file://")


def open_file_system(address: str) -> tuple[Any, str]:
    """Return the file system of fsspec for a URL, and the path within it.

    Raises DataError if a package is missing or the storage cannot be accessed.
    """
    scheme = get_scheme(address)
    if scheme == "hf" and not re.match(r"hf://datasets/[\w.-]+/[\w.-]+", address):
        raise UsageError(
            f"{address} is not a data set on the Hugging Face Hub.",
            "Use hf://datasets/OWNER/NAME, optionally with a path: hf://datasets/allenai/c4/en/*.json.gz",
        )
    try:
        from fsspec.core import url_to_fs

        if scheme in ("http", "https"):
            import aiohttp  # noqa: F401
    except ImportError as error:
        raise DataError(
            f"{address} requires a package that is not installed.", f"{EXTRA} aiohttp" if scheme else EXTRA
        ) from error
    with clear_errors(address):
        store, path = url_to_fs(address)
    return store, str(path)


@contextmanager
def clear_errors(address: str) -> Iterator[None]:
    """Turn any error of a store into a DataError that names the URL and suggests a fix."""
    scheme = get_scheme(address)
    try:
        yield
    except EvenhandError:
        raise
    except FileNotFoundError as error:
        if not scheme:
            raise DataError(f"File or folder not found: {address}.", "Check the path.") from error
        raise DataError(
            f"{address} was not found, or its server cannot be reached.", "Check the URL."
        ) from error
    except PermissionError as error:
        hint = MENDING.get(scheme) or "Ask its owner for permission."
        raise DataError(f"No permission to read {address}: {_describe_error(error)}.", hint) from error
    except ImportError as error:
        package = PACKAGES.get(scheme, "'evenhand[corpus]'")
        raise DataError(
            f"{address} requires a package that is not installed.", f"Install it: pip install {package}"
        ) from error
    except Exception as error:  # storage libraries raise many exceptions without a common class
        raise DataError(
            f"{address} could not be read: {_describe_error(error)}.", MENDING.get(scheme)
        ) from error


def _describe_error(error: BaseException) -> str:
    told = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
    return str(told)[:300].rstrip(".")


def look_up_file(address: str) -> StoredFile:
    """Return the current state of a file in its store. Raises DataError if it is missing or unreadable."""
    if not get_scheme(address):
        path = Path(local(address))
        with clear_errors(address):
            if not path.is_file():
                path.stat()
                raise DataError(f"{address} is not a file.", "Give files, folders of files, or patterns.")
            return StoredFile(address, *_local(path.stat()))
    store, path_there = open_file_system(address)
    with clear_errors(address):
        store.invalidate_cache()
        return build_stored_file(address, store.info(path_there))


def _local(status: os.stat_result) -> tuple[int, str]:
    return status.st_size, f"size {status.st_size}, changed {status.st_mtime_ns}"


def build_stored_file(address: str, info: dict[str, Any]) -> StoredFile:
    """Return a file from its entry in the storage's listing."""
    size = info.get("size")
    known = ("ETag", "etag", "blob_id", "md5Hash", "Last-Modified", "LastModified", "last_modified", "mtime")
    tag = next((f"{name.lower()} {info[name]}".replace('"', "") for name in known if info.get(name)), "")
    version = ", ".join(part for part in (f"size {size}" if size is not None else "", tag) if part)
    return StoredFile(
        address, size or 0, version, size is not None and info.get("partial", True) is not False
    )


class OpenedFile:
    """A stored file that is opened for reading; it counts the bytes read, and hashes the file if all of it is read.

    Raises DataError for a file that is missing, unreadable, of another `version`, or lost while reading.
    """

    def __init__(self, address: str, version: str = "", *, hashed: bool = False):
        self.address, self.version = address, version
        self.bytes_read = 0
        self._digest = hashlib.sha256() if hashed else None
        self.check_version()
        with clear_errors(address):
            if get_scheme(address):
                store, path = open_file_system(address)
                self.handle: Any = store.open(path, "rb", block_size=BLOCK, cache_type="readahead")
            else:
                self.handle = open(local(address), "rb")  # noqa: SIM115

    def check_version(self) -> None:
        """Raise DataError if the file is not the one that was found when the work was planned."""
        if not self.version:
            return
        hint = (
            "Restore the file, then run the same command again: it resumes. Or start again in another folder (-o) "
            "to count the present files; do not change the corpus while it is read."
        )
        try:
            version = look_up_file(self.address).version
        except DataError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            told = (
                f"{self.address} was there when the work was planned, but no longer exists (or cannot be "
                "reached)."
            )
            raise DataError(told, hint) from error
        if version != self.version:
            raise DataError(
                f"{self.address} has changed since the work was planned.",
                hint,
            )

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size`; empty at the end."""
        with clear_errors(self.address):
            data: bytes = self.handle.read(size)
        self.bytes_read += len(data)
        if self.bytes_read > MOST_UNTOLD and get_scheme(self.address) and not self.version.startswith("size"):
            raise DataError(
                f"{self.address}: the server does not report the length, and has sent {self.bytes_read:,} bytes.",
                "The file may never end. Download it, and give the local file.",
            )
        if self._digest is not None:
            self._digest.update(data)
        return data

    def seek(self, place: int, whence: int = 0) -> int:
        """Move to a byte; the file is then no longer hashed."""
        self._digest = None
        with clear_errors(self.address):
            return int(self.handle.seek(place, whence))

    def tell(self) -> int:
        """Return the position of the next byte."""
        return int(self.handle.tell())

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    @property
    def closed(self) -> bool:
        return bool(self.handle.closed)

    def close(self) -> None:
        """Close the file."""
        self.handle.close()

    def identity(self) -> str:
        """Return the SHA-256 (hex) of the file, after reading the rest; its version if it was read in parts."""
        if self._digest is None:
            return self.version or look_up_file(self.address).version
        while self.read(BLOCK):
            pass
        return self._digest.hexdigest()

    def __enter__(self) -> "OpenedFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
