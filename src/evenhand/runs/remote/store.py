"""One folder in object storage: list, read and write its files, with errors that explain what to do."""

import re
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import Any, TypeVar

from evenhand.runs.remote.addresses import get_scheme
from evenhand.schema import DataError, EvenhandError, UsageError, WriteError, atomic_write

Result = TypeVar("Result")
TRIES = 5
WAIT = 1.0
"""Seconds before the second attempt; doubled for each further one."""
AT_ONCE = 1 << 20
"""Bytes that are downloaded at a time before they are written."""
LONGEST = 255
"""Maximum length of a file name in bytes on common file systems."""
WHOLE_OR_ABSENT = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "memory", "oss", "r2", "hf"})
"""Kinds of storage that show an object only when it is complete. For others, a file is renamed when it is complete."""
S3 = "'evenhand[s3]'"
EXTRAS = {"s3": S3, "s3a": S3, "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs"}
"""Package that pip must install for each kind of storage."""
NO_KEY = re.compile("credential|unauthori[sz]ed", re.IGNORECASE)
MARKS = ("size", "ETag", "etag", "md5Hash", "content_md5", "generation")
TIMES = ("mtime", "created", "LastModified", "last_modified", "updated")
"""Metadata by which contents are distinguished if the storage has no digests."""


class ObjectStore:
    """A folder in object storage. Requests are repeated if the network may have caused a failure.

    address: URL for fsspec. Raises UsageError for an unknown kind of storage, or one whose package is not installed.
    All methods raise DataError or WriteError with the cause: keys, permission, or a missing bucket.
    """

    def __init__(self, address: str):
        import fsspec

        self.address = address
        kind = self._kind = get_scheme(address)
        try:
            self._files, root = fsspec.core.url_to_fs(self.address, use_listings_cache=False)
        except ImportError as error:
            raise UsageError(
                f"{address}: the package for this kind of object storage is not installed.",
                f"Install it: pip install {EXTRAS.get(kind, 'what fsspec names: ' + str(error))}",
            ) from error
        except ValueError as error:
            raise UsageError(
                f"{address}: unknown kind of object storage, {kind}://", "For example: s3://bucket/folder"
            ) from error
        self._root = str(root).rstrip("/")

    def files(self) -> dict[str, str]:
        """Return all files by their names below the folder, each with a mark that changes with its content.

        Raises DataError for names that lead out of the folder, or that are invalid on this machine.
        """

        def list_files() -> Mapping[str, Any]:
            self._files.invalidate_cache()
            found: Mapping[str, Any] = self._files.find(self._root, detail=True)
            return found

        found = {}
        for path, facts in self._retry("read", self.address, list_files).items():
            name = str(path).lstrip("/").removeprefix(self._root.lstrip("/")).removeprefix("/")
            if not name or facts.get("type") == "directory":
                continue  # some programs create an empty object for a folder
            inner = PurePosixPath(name)
            if inner.is_absolute() or ".." in inner.parts or "\\" in name or "\0" in name:
                raise self._make_other_content_error(f"an object whose name points outside of it: {name!r}")
            if str(inner) != name or any(len(part.encode()) > LONGEST for part in inner.parts):
                raise self._make_other_content_error(
                    f"an object whose name is not a valid file name: {name[:100]!r}"
                )
            found[name] = _mark(facts)
        for name in found:
            if above := next(
                (str(folder) for folder in PurePosixPath(name).parents if str(folder) in found), None
            ):
                raise self._make_other_content_error(
                    f"an object {above!r} that is also the folder of {name!r}"
                )
        return found

    def _make_other_content_error(self, what: str) -> DataError:
        hint = "evenhand did not write it. Delete it, or choose another folder."
        return DataError(f"{self.address} contains {what}.", hint)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""

        def content() -> bytes | None:
            try:
                return bytes(self._files.cat_file(self._path(name)))
            except FileNotFoundError as error:
                if "bucket does not exist" in str(error):
                    raise
                return None

        return self._retry("read", name, content)

    def fetch(self, name: str, path: Path) -> None:
        """Download a file atomically."""

        def download() -> None:
            try:
                with self._files.open(self._path(name), "rb") as there, atomic_write(path) as here:
                    shutil.copyfileobj(there, here, AT_ONCE)
            except FileNotFoundError as error:
                raise DataError(
                    f"{self.address}/{name} was removed while it was being read.",
                    "Another process works in that folder. Run the command again.",
                ) from error

        self._retry("read", name, download)

    def upload(self, path: Path, name: str) -> str:
        """Upload a local file under a name, atomically, and return its mark."""

        def upload_file() -> str:
            if self._kind in WHOLE_OR_ABSENT:
                self._files.put_file(str(path), self._path(name))
            else:
                part = f"{self._path(name)}.{token_hex(4)}.part"
                self._files.makedirs(part.rpartition("/")[0], exist_ok=True)
                self._files.put_file(str(path), part)
                self._files.mv(part, self._path(name))
            self._files.invalidate_cache()
            facts = self._files.info(self._path(name))
            if facts["size"] != path.stat().st_size:
                raise OSError(f"{facts['size']:,} of {path.stat().st_size:,} bytes were stored")
            return _mark(facts)

        return self._retry("write", name, upload_file)

    def overwrite(self, name: str, content: bytes) -> None:
        """Store bytes under a name, replacing an existing file."""
        self._retry("write", name, lambda: self._files.pipe_file(self._path(name), content))

    def create(self, name: str, content: bytes) -> bool:
        """Store bytes under a new name, and return whether the name was free.

        The operation is atomic in storage with conditional writes (S3, Google, a local disk). In others, the name is
        only checked before.
        """

        def create_if_absent() -> bool:
            if self._files.exists(self._path(name)):
                return False
            if self._kind not in WHOLE_OR_ABSENT:
                self._files.makedirs(self._root, exist_ok=True)
            try:
                self._files.pipe_file(self._path(name), content, mode="create")
            except FileExistsError:
                return False
            except (TypeError, NotImplementedError):
                self._files.pipe_file(self._path(name), content)
            return True

        return self._retry("write", name, create_if_absent)

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""

        def remove_if_present() -> None:
            if self._files.exists(self._path(name)):
                self._files.rm_file(self._path(name))

        self._retry("write", name, remove_if_present)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _retry(self, doing: str, name: str, ask: Callable[[], Result]) -> Result:
        where = name if name == self.address else f"{self.address}/{name}"
        for further in reversed(range(TRIES)):
            try:
                return ask()
            except EvenhandError:
                raise
            except Exception as error:  # each kind of storage raises its own exceptions
                failed = _explain_permanent_failure(error, doing, where)
                if failed is None and further:
                    time.sleep(WAIT * 2 ** (TRIES - 1 - further))
                    continue
                raise failed or _make_unreachable_error(error, doing, where) from error
        raise AssertionError("the last try returns or raises")


def _explain_permanent_failure(error: Exception, doing: str, where: str) -> EvenhandError | None:
    """Return an error for a failure that a retry cannot remove; None if a retry may help."""
    told = f"Could not {doing} {where}"
    kind = WriteError if doing == "write" else DataError
    if isinstance(error, PermissionError):
        return kind(
            f"{told}: permission denied ({_first_line(error)}).",
            "Use credentials that can list, read, write and delete objects there (AWS_PROFILE, AWS_ACCESS_KEY_ID, "
            "or a role).",
        )
    if isinstance(error, FileNotFoundError):
        return kind(
            f"{told}: {_first_line(error)}.", "Create the bucket first. Folders in it need not be created."
        )
    if NO_KEY.search(type(error).__name__ + str(error)):
        return kind(
            f"{told}: no credentials found ({_first_line(error)}).",
            "Set them as for other programs: for S3 AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or "
            "the machine's role. For another endpoint, set AWS_ENDPOINT_URL.",
        )
    return None


def _make_unreachable_error(error: Exception, doing: str, where: str) -> EvenhandError:
    kind = WriteError if doing == "write" else DataError
    return kind(
        f"Could not {doing} {where} in {TRIES} tries: {_first_line(error)}.",
        "Results stored earlier are intact, and results that are not uploaded are kept on this machine. Check the "
        "connection (another endpoint: AWS_ENDPOINT_URL), then run the same command on this machine again: it "
        "resumes.",
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().split("\n")[0] or type(error).__name__).rstrip(".")


def _mark(facts: Mapping[str, Any]) -> str:
    named = [f"{name}={facts[name]}" for name in MARKS if facts.get(name) is not None]
    if len(named) < 2:  # the size alone does not distinguish contents
        named += [f"{name}={facts[name]}" for name in TIMES if facts.get(name) is not None]
    return " ".join(named)
