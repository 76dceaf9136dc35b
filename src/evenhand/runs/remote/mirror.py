"""Synchronise a local folder with a folder in object storage, which is authoritative; files that it
lacks are uploaded.
"""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from evenhand.runs.directory import MANIFEST
from evenhand.runs.remote.lease import NAME as LEASE_NAME, Lease
from evenhand.runs.remote.store import ObjectStore
from evenhand.schema import DataError, is_file, is_temporary, parse_json, write_json

AT_ONCE = 8
"""Number of files that are fetched in parallel."""


class Mirror:
    """The run in `folder` and on `store`. record: a file next to the folder with the last common state."""

    def __init__(self, folder: Path, store: ObjectStore, record: Path):
        self.folder, self.store = folder, store
        self._record = record
        kept = _read(record)
        self._known: dict[str, list[Any]] = dict(kept.get("files", {}))
        self.token: str | None = kept.get("token")
        """Token of the last driver that had this working copy."""
        self.notes: list[str] = []

    def pull(self) -> None:
        """Make the working copy equal to the storage. Raise DataError if the storage contains something other than a
        run.

        Files with another version in the storage are replaced. Files of the same run that were never in the storage are
        kept, because a driver that was killed, or lost its connection, had not uploaded them yet.
        """
        stored = {name: mark for name, mark in self.store.files().items() if not _is_own(name)}
        if stored and MANIFEST not in stored:  # the manifest is always uploaded first
            raise DataError(
                f"{self.store.address} does not contain a run, but {len(stored):,} other objects, such as "
                f"{min(stored)!r}.",
                "Give the URL of a run, or an empty location.",
            )
        self._part_with_another_run(stored)
        lacking = [
            name for name in stored if self._known.get(name) != [stored[name], _stat(self.folder / name)]
        ]
        replaced = [name for name in lacking if name.endswith(".parquet") and (self.folder / name).exists()]
        with ThreadPoolExecutor(AT_ONCE) as several:
            list(several.map(lambda name: self.store.fetch(name, self.folder / name), lacking))
        self._known |= {name: [stored[name], _stat(self.folder / name)] for name in lacking}
        for name in [name for name in self._known if name not in stored]:
            # removed from the storage, so its requests are repeated
            (self.folder / name).unlink(missing_ok=True)
            del self._known[name]
        if replaced:
            self.notes.append(
                f"{len(replaced)} of the local files differed from those of {self.store.address} and were replaced "
                "by them."
            )
        if waiting := [name for name in self._files() if name not in stored]:
            self.notes.append(
                f"Files that were not yet in {self.store.address} and are now uploaded: {len(waiting)}."
            )
        self.remember()

    def push(self, lease: Lease) -> None:
        """Upload new and changed files, the manifest last; if the storage has none, also first.

        Raises WriteError if the storage cannot be reached or another driver has taken over.
        """
        changed = [name for name in self._files() if self._is_changed(name)]
        aside = [
            name
            for name in self._known
            if not (self.folder / name).exists() and (self.folder / f"{name}.corrupt").exists()
        ]
        if not changed and not aside:
            return
        lease.check()
        if MANIFEST in changed and MANIFEST not in self._known:
            self._upload(MANIFEST)
        for name in changed:
            self._upload(name)
        for name in aside:  # an unreadable part, which is now stored under its new name
            self.store.remove(name)
            del self._known[name]
        self.remember()

    def remember(self) -> None:
        """Record the state that both sides have."""
        write_json(self._record, {"address": self.store.address, "token": self.token, "files": self._known})

    def _upload(self, name: str) -> None:
        if self._is_changed(name):
            before = _stat(self.folder / name)  # a file that changes during the upload is uploaded again
            self._known[name] = [self.store.upload(self.folder / name, name), before]

    def _is_changed(self, name: str) -> bool:
        return bool(self._known.get(name, [None, None])[1] != _stat(self.folder / name))

    def _files(self) -> Iterator[str]:
        """Return the files of the run, the manifest last."""
        found = sorted(
            path.relative_to(self.folder).as_posix()
            for path in self.folder.rglob("*")
            if path.is_file() and not is_temporary(path) and not path.is_symlink()
        )
        own = [name for name in found if not _is_own(name)]
        yield from [name for name in own if name != MANIFEST] + [name for name in own if name == MANIFEST]

    def _part_with_another_run(self, stored: dict[str, str]) -> None:
        """Start with an empty copy if it belongs to another run than the storage's, such as one that
        was removed there.
        """
        begun = _read(self.folder / MANIFEST).get("created")
        if not self.folder.exists() or (begun is None and not self._known):
            return
        there = self.store.read(MANIFEST) if MANIFEST in stored else None
        if begun is None or there is None or _parse_record(there).get("created") != begun:
            if any(self.folder.glob("responses/part-*")):
                aside = next(
                    place
                    for number in range(1, 10_000)
                    if not (place := self.folder.with_name(f"aside-{number}")).exists()
                )
                self.folder.rename(aside)
                self.notes.append(
                    f"The local files of an earlier run at {self.store.address} were moved to {aside}."
                )
            else:
                shutil.rmtree(self.folder)
            self._known = {}


def _is_own(name: str) -> bool:
    """Return whether a file belongs to one machine only: locks and temporary files."""
    last = name.rpartition("/")[2]
    return last.startswith(".") or name == LEASE_NAME or last.endswith(".part")


def _stat(path: Path) -> list[int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


def _read(path: Path) -> dict[str, Any]:
    return _parse_record(path.read_bytes()) if is_file(path) else {}


def _parse_record(content: bytes) -> dict[str, Any]:
    try:
        found = parse_json(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
