"""The folder in which a command works: the given one, or a working copy of a run in object storage."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.runs.remote.addresses import folder_address, is_store_address, last_name
from evenhand.schema import EvenhandError, UsageError

if TYPE_CHECKING:
    from evenhand.runs.progress import Progress, Unit
    from evenhand.runs.remote.lease import Lease
    from evenhand.runs.remote.mirror import Mirror

COPIES = "EVENHAND_COPIES"
"""Environment variable with the folder of working copies."""


@dataclass(frozen=True)
class WorkingCopy:
    """A local folder for a run that may be in object storage.

    ``path`` is the folder (None if none was named), and ``address`` the URL in object storage, if there is one.
    """

    path: Path | None
    address: str | None = None
    mirror: "Mirror | None" = None
    lease: "Lease | None" = None

    @property
    def folder(self) -> Path:
        """Return the local folder, if one was named."""
        assert self.path is not None
        return self.path

    def push(self) -> None:
        """Upload new files to object storage. Does nothing without object storage."""
        if self.mirror is not None and self.lease is not None:
            self.mirror.push(self.lease)

    def report_after_upload(self, progress: "Progress | None") -> "Progress | None":
        """Return a progress receiver that passes on each report after the reported files were uploaded."""
        if self.mirror is None or self.path is None:
            return progress
        from evenhand.runs.progress import Silence

        telling = _UploadingProgress(progress or Silence(), self, str(self.path), str(self.address))
        for note in self.mirror.notes:
            telling.note(note)
        return telling


@dataclass(frozen=True)
class _UploadingProgress:
    progress: "Progress"
    copy: WorkingCopy
    path: str
    address: str

    def start(self, total: int, done: int, unit: "Unit" = "requests") -> None:
        self.copy.push()
        self.progress.start(total, done, unit)

    def advance(self, requests: int, tokens: int, errors: int) -> None:
        self.copy.push()
        self.progress.advance(requests, tokens, errors)

    def note(self, message: str) -> None:
        self.progress.note(message.replace(self.path, self.address))

    def stop(self) -> None:
        self.progress.stop()


@contextmanager
def working_copy(place: Path | str | None, *, writes: bool = True) -> Iterator[WorkingCopy]:
    """Provide a local folder for the run at `place`: the folder itself, or a synchronised copy of a URL in object
    storage.

    It is a context manager. New files are uploaded when the block ends for any reason. If `writes`, no other process
    may write meanwhile. Error messages name the URL instead of the copy. Raises a UsageError if another driver is
    working on the run, and a DataError or WriteError if the storage refuses or cannot be reached.

    >>> with working_copy("runs/mine") as copy:
    ...     copy.path.as_posix(), copy.address
    ('runs/mine', None)
    """
    if place is None or not is_store_address(place):
        yield WorkingCopy(None if place is None else Path(place))
        return
    from evenhand.runs.lock import hold_lock
    from evenhand.runs.remote.mirror import Mirror
    from evenhand.runs.remote.store import ObjectStore
    from evenhand.runs.stopping import resumable

    address = folder_address(str(place))
    base = copies_folder() / hashlib.sha256(address.encode()).hexdigest()[:16]
    folder = base / last_name(address)
    base.mkdir(parents=True, exist_ok=True)
    try:
        with hold_lock(base / "copy.lock") if writes else _hold_lock_if_free(base / "copy.lock") as free:
            mirror = Mirror(folder, ObjectStore(address), base / "copy.json")
            if not writes:
                if free is not False:
                    mirror.pull()
                yield WorkingCopy(folder, address, mirror)
                return
            with _hold_lease(mirror) as lease:
                copy = WorkingCopy(folder, address, mirror, lease)
                try:
                    yield copy
                except BaseException:
                    # the error that ended the work is already being raised, and is more specific
                    with suppress(EvenhandError):
                        copy.push()
                    raise
                with resumable(f"Resume with: evenhand audit {address}"):
                    copy.push()
    except EvenhandError as error:
        for kept in (str(folder), str(base)):
            error.message = error.message.replace(kept, address)
            error.hint = None if error.hint is None else error.hint.replace(kept, address)
        raise


def copies_folder() -> Path:
    """Return the folder of working copies: $EVENHAND_COPIES, or ~/.cache/evenhand/copies."""
    named = os.environ.get(COPIES)
    return Path(named).expanduser() if named else Path.home() / ".cache" / "evenhand" / "copies"


@contextmanager
def _hold_lease(mirror: "Mirror") -> "Iterator[Lease]":
    from evenhand.runs.remote.lease import Lease

    lease = Lease(mirror.store)
    # the previous user of this copy has ended, because we hold its lock
    lease.take(left_by=mirror.token)
    try:
        mirror.token = lease.token
        mirror.remember()
        mirror.pull()
        yield lease
    finally:
        lease.release()


@contextmanager
def _hold_lock_if_free(path: Path) -> Iterator[bool]:
    """Hold a lock if no other process holds it; yield whether it is held."""
    from evenhand.runs.lock import hold_lock

    try:
        held = hold_lock(path)
        held.__enter__()
    except UsageError:
        yield False
        return
    try:
        yield True
    finally:
        held.__exit__(None, None, None)
