"""The register of published data sets: their locations, whether they are intact, and how to get them."""

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from evenhand.prompts.datasets.unpinned import (
    differing_file,
    read_first_fetches,
)
from evenhand.schema import (
    Card,
    ChecksumMismatch,
    DataError,
    DatasetMissing,
    checked,
    compute_sha256,
    is_file,
    unknown_name,
)

REGISTER = Path(__file__).with_name("datasets.toml")


@dataclass(frozen=True)
class DataFile:
    """One file of a data set, and its location."""

    path: str
    url: str
    """URL of the file; empty if the owner offers only the means to create it."""
    sha256: str | None = None
    size: int | None = None
    instead: tuple[str, ...] = ()
    """Other file names that may have the same content."""
    rows: int | None = None
    """Number of rows of the published file, which is compared if its checksum is unknown."""
    only_for: str = ""
    """The only command that reads this file and reports it if it is missing. If empty, the data set needs the file."""
    reader: str = ""
    """`module:function` that reads the file and raises DataError for another file; used if its checksum is unknown."""


@dataclass(frozen=True)
class DataVersion:
    """One version of a data set: its files and, if their bytes cannot be pinned, a hash of their content."""

    name: str
    files: tuple[DataFile, ...]
    content: str = ""
    """`module:function` that hashes the parsed content of a folder, if bytes cannot be pinned."""
    content_sha256: str = ""

    @property
    def unchecked_files(self) -> tuple[str, ...]:
        """Return the files without any known property by which they could be checked."""
        return () if self.content else tuple(file.path for file in self.files if not file.sha256)


@dataclass(frozen=True)
class Dataset:
    """A published data set, as its owner offers it."""

    name: str
    summary: str
    default_version: str
    homepage: str
    licence: str
    citation: str
    note: str
    versions: tuple[DataVersion, ...]

    def version(self, name: str | None = None) -> DataVersion:
        """Return the named version, or the default one. Raise UsageError for an unknown name."""
        known = {version.name: version for version in self.versions}
        if (wanted := self.default_version if name is None else name) not in known:
            raise unknown_name(f"version of {self.name}", wanted, known)
        return known[wanted]

    def card(self, **stated: str) -> Card:
        """Return a card with the owner's citation, licence and URL; the other fields are `stated`."""
        return Card(citation=self.citation, licence=self.licence, source=self.homepage, **stated)


def read_register(path: Path) -> tuple[Dataset, ...]:
    """Return the data sets of a register file in the format of datasets.toml, in file order.

    path: a TOML file. Raises DataError for broken TOML or missing keys.
    """
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["dataset"]
        return tuple(_dataset(entry) for entry in entries)
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} is not a register of data sets: {error}.",
            "See datasets.toml in evenhand.prompts for the format.",
        ) from error


@lru_cache(maxsize=1)
def list_datasets() -> tuple[Dataset, ...]:
    """Return all data sets that `evenhand data fetch` can download.

    >>> [entry.name for entry in list_datasets()][:2]
    ['holisticbias', 'crows-pairs']
    """
    return read_register(REGISTER)


@checked
def dataset(name: str, register: Sequence[Dataset] | None = None) -> Dataset:
    """Return the data set with a name. Raise a UsageError with similar names for an unknown one.

    >>> dataset("stereoset").default_version
    'dev'
    """
    known = {entry.name: entry for entry in (list_datasets() if register is None else register)}
    if name not in known:
        raise unknown_name("data set", name, known)
    return known[name]


def cache_folder(name: str, version: str) -> Path:
    """Return the local folder of a data set: under $EVENHAND_DATA or ~/.cache/evenhand/data."""
    root = os.environ.get("EVENHAND_DATA")
    base = Path(root).expanduser() if root else Path.home() / ".cache" / "evenhand" / "data"
    return base / name / version


@checked
def dataset_folder(
    name: str, version: str | None = None, user_folder: Path | None = None, allow_modified: bool = False
) -> Path:
    """Return a folder with a data set, after comparing its files with the pinned hashes.

    Parameters
    ----------
    name : str
        As in `list_datasets`.
    version : str, optional
        Default: that of the data set.
    user_folder : path, optional
        Your own folder. Default: the cache.
    allow_modified : bool
        Accept files whose content differs from the published one.

    Raises
    ------
    DatasetMissing
        Files are missing; the message has the commands to get them.
    ChecksumMismatch
        Content differs from the pinned one.
    """
    entry = dataset(name)
    release = entry.version(version)
    folder = cache_folder(name, release.name) if user_folder is None else Path(user_folder)
    if (
        user_folder is not None
        and not found_file(folder, release.files[0])
        and found_file(folder / release.name, release.files[0])
    ):
        folder = folder / release.name
    needed = [file for file in release.files if not file.only_for]
    if missing := [file.path for file in needed if not found_file(folder, file)]:
        command = f"evenhand data fetch {name} --version {release.name}"
        raise DatasetMissing(
            f"Data set {name} {release.name} is not installed: {folder} has no {', '.join(missing)}.",
            f"Download it: {command}\nOr use files you have: {command} --from DIR\nLicence: {entry.licence}. Home "
            f"page: {entry.homepage}",
        )
    if not allow_modified:
        verify(folder, name, release.name)
    return folder


def verify(
    folder: Path, name: str, version: str | None = None, register: Sequence[Dataset] | None = None
) -> None:
    """Check every file of a data set in a folder against its pinned properties.

    folder: contains the files. name, version: as in `dataset_folder`. register: default: the built-in one. Files of the
    cache without a known checksum are compared with the record of their first download. Raises ChecksumMismatch with
    file, expected and found hash; DatasetMissing for a missing file. Unchanged files are hashed once per process.
    """
    release = dataset(name, register).version(version)
    cache = cache_folder(name, release.name)
    first = read_first_fetches(cache.parent, release.name) if folder == cache else {}
    for file in release.files:
        path = found_file(folder, file)
        if path is None and file.only_for:
            continue
        if path is None:
            raise DatasetMissing(f"{folder} has no {file.path}.", f"Download it: evenhand data fetch {name}")
        if file.sha256 and (got := sha256_once(path)) != file.sha256:
            raise ChecksumMismatch(
                f"{path} is not the published file of {name} {release.name}: expected SHA-256 {file.sha256}, got "
                f"{got}.",
                f"Delete it and run: evenhand data fetch {name} --version {release.name}"
                if folder == cache
                else (
                    "The file may be another version, edited, or incomplete. To download the published one: "
                    f"evenhand data fetch {name} --version {release.name}"
                ),
            )
        if file.path in first and first[file.path].sha256 != sha256_once(path):
            raise differing_file(path, first[file.path], cache.parent)
    if release.content and (got := content_sha256(release, folder)) != release.content_sha256:
        raise ChecksumMismatch(
            f"The rows in {folder} are not those of {name} {release.name}: expected content hash "
            f"{release.content_sha256}, got {got}.",
            f"Delete the folder and run: evenhand data fetch {name} --version {release.name}",
        )


def first_fetched(name: str, version: str, folder: Path) -> str | None:
    """Return the day since when files without known checksums have not changed, or None if checksums are known.

    `folder` is that of `dataset_folder`. The result is "" for a folder outside the cache.
    """
    if not dataset(name).version(version).unchecked_files:
        return None
    cache = cache_folder(name, version)
    recorded = read_first_fetches(cache.parent, version) if folder == cache else {}
    return max((one.fetched for one in recorded.values()), default="")


def recognised_version(name: str, folder: Path) -> str | None:
    """Return the published version whose files a folder contains unchanged, or None.

    `name` is a data set with pinned hashes.
    """
    for version in dataset(name).versions:
        paths = [found_file(folder, file) for file in version.files]
        if all(p and sha256_once(p) == file.sha256 for p, file in zip(paths, version.files, strict=True)):
            return version.name
    return None


def _dataset(entry: dict[str, object]) -> Dataset:
    versions = []
    for listed in entry.pop("version"):  # type: ignore[attr-defined]
        files = [
            DataFile(**{**file, "instead": tuple(file.get("instead", ()))}) for file in listed.pop("file")
        ]
        versions.append(DataVersion(files=tuple(files), **listed))
    return Dataset(versions=tuple(versions), **entry)  # type: ignore[arg-type]


def found_file(folder: Path, file: DataFile) -> Path | None:
    """Return the path of a data set's file in a folder, under any of its names, or None."""
    for name in (file.path, *file.instead):
        if is_file(folder / name):
            return folder / name
    return None


def is_intact(version: DataVersion, folder: Path) -> bool:
    if not version.content:
        return True  # nothing is known by which to check the file
    try:
        return content_sha256(version, folder) == version.content_sha256
    except DataError:
        return False


def content_sha256(version: DataVersion, folder: Path) -> str:
    module, _, function = version.content.partition(":")
    value: str = getattr(import_module(module), function)(folder)
    return value


def sha256_once(path: Path) -> str:
    status = path.stat()
    return _sha256_of_state(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _sha256_of_state(path: Path, size: int, changed: int) -> str:
    return compute_sha256(path)
