"""Fetch a data set from its owner or from a folder, verified and atomically."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from evenhand.prompts.datasets.download import Progress, download
from evenhand.prompts.datasets.register import (
    DataFile,
    Dataset,
    DataVersion,
    cache_folder,
    content_sha256,
    dataset,
    found_file,
    is_intact,
    sha256_once,
    verify,
)
from evenhand.prompts.datasets.unpinned import (
    FirstFetch,
    check_readable,
    check_rows,
    check_same,
    differing_file,
    read_first_fetches,
    write_first_fetches,
)
from evenhand.schema import (
    ChecksumMismatch,
    DataError,
    WriteError,
    atomic_write,
    compute_sha256,
    is_folder,
    sweep,
)


@dataclass(frozen=True)
class FetchResult:
    """Result of `fetch`: the location of the files, and the terms to show to the user."""

    folder: Path
    dataset: Dataset
    version: str
    downloaded: tuple[str, ...]
    """Files that were not there before."""
    unchecked: tuple[str, ...] = ()
    """Files without a known checksum: the checksum is recorded at the first download and compared from then on."""
    recorded: str = ""
    """Day on which these checksums were recorded."""
    lacking: tuple[DataFile, ...] = ()
    """Files that the user's folder lacks and that some commands do not need."""


def fetch(
    name: str,
    version: str | None = None,
    from_dir: Path | None = None,
    progress: Progress | None = None,
    register: Sequence[Dataset] | None = None,
) -> FetchResult:
    """Download a data set into the cache, or copy it from a folder, and verify it.

    Parameters
    ----------
    name, version : str
        As in `dataset_folder`.
    from_dir : path, optional
        Copy from this folder instead of downloading.
    progress : callable, optional
        Called with (file, bytes so far, total bytes or None).
    register : optional
        Register of data sets. Default: evenhand's.

    Returns
    -------
    FetchResult
        The folder, and the terms (`.dataset.licence`, `.citation`).

    Raises
    ------
    ChecksumMismatch
        Content is wrong; it is not kept.
    DataError
        The owner's server fails.
    WriteError
        The disk fails.

    Notes
    -----
    Intact files are kept, so a later call downloads only the missing ones. If no checksum of a file is known, its rows
    are counted and its checksum is recorded at the first download. From then on, it must not change.
    """
    entry = dataset(name, register)
    release = entry.version(version)
    folder = cache_folder(name, release.name)
    if from_dir is not None and not is_folder(Path(from_dir)):
        raise DataError(
            f"Folder not found: {from_dir}.",
            f"--from expects the folder that directly contains the files of {name}.",
        )
    staging = folder.with_name(f".{release.name}.incoming")
    try:
        staging.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            f"Could not create {staging}: {error.strerror or error}.",
            "Set $EVENHAND_DATA to a writable folder.",
        ) from error
    sweep(staging)
    first = read_first_fetches(folder.parent, release.name)
    recorded = {path: one.sha256 for path, one in first.items()}
    arrived: list[Path] = []
    lacking: list[DataFile] = []
    try:
        for file in release.files:
            present, expected = found_file(folder, file), file.sha256 or recorded.get(file.path)
            unpinned = bool(file.url) and not file.sha256 and not release.content
            given = found_file(Path(from_dir), file) if from_dir is not None else None
            if present and given and unpinned:
                check_same(present, given, first.get(file.path), folder.parent)
            if present and (sha256_once(present) == expected if expected else is_intact(release, folder)):
                if not expected and unpinned:  # the file was obtained in another way
                    check_readable(present, file.reader, "the cache")
                    first[file.path] = FirstFetch.from_file(present, "the cache")
                continue
            target = staging / file.path
            if from_dir is not None:
                if file.only_for and not given:
                    lacking.append(file)
                    continue
                target = _copy(file, Path(from_dir), staging, name)
            elif not file.url:
                raise DataError(
                    f"{file.path} of {name} cannot be downloaded: its owner does not offer it. {entry.note}",
                    f"Create it as described at {entry.homepage}, then run: evenhand data fetch {name} --from DIR",
                )
            elif not (expected and target.is_file() and sha256_once(target) == expected):
                download(file.url, target, sha256=file.sha256, size=file.size, progress=progress)
            arrived.append(target)
            if unpinned:
                first[file.path] = _as_first_fetched(
                    file, target, first, str(from_dir or file.url), folder.parent
                )
    except BaseException:
        # remove copies; downloads stay for the next call
        for path in arrived if from_dir is not None else ():
            path.unlink(missing_ok=True)
        with suppress(OSError):  # not empty, because of earlier downloads
            staging.rmdir()
        raise
    try:
        if release.content and arrived and not is_intact(release, staging):
            raise ChecksumMismatch(
                f"{arrived[0].name} of {name} {release.name} does not contain the published rows (content hash "
                f"{release.content_sha256}). {_content_found(release, staging)} The file was discarded.",
                "Try again later, or use a file from another source with --from DIR.",
            )
        folder.mkdir(parents=True, exist_ok=True)
        if first.keys() != recorded.keys():
            write_first_fetches(folder.parent, release.name, first)
        for path in arrived:
            path.replace(folder / path.name)
    except OSError as error:
        raise WriteError(
            f"Could not move the files of {name} into {folder}: {error.strerror or error}.",
            "Set $EVENHAND_DATA to a writable folder.",
        ) from error
    finally:
        if arrived:
            shutil.rmtree(staging, ignore_errors=True)
    if not arrived and not any(staging.iterdir()):
        staging.rmdir()
    verify(folder, name, release.name, register)
    return FetchResult(
        folder,
        entry,
        release.name,
        downloaded=tuple(path.name for path in arrived),
        unchecked=release.unchecked_files,
        recorded=max((one.fetched for one in first.values()), default=""),
        lacking=tuple(lacking),
    )


def _as_first_fetched(
    file: DataFile, arrived: Path, first: Mapping[str, FirstFetch], source: str, data: Path
) -> FirstFetch:
    """Return the record of a file without a known checksum. Raise ChecksumMismatch if it
    differs from an earlier record.
    """
    known = first.get(file.path)
    try:
        check_rows(arrived, file.rows)
        check_readable(arrived, file.reader, source)
        if known is not None and compute_sha256(arrived) != known.sha256:
            raise differing_file(arrived, known, data)
    except ChecksumMismatch:
        arrived.unlink()
        raise
    return known or FirstFetch.from_file(arrived, source)


def _copy(file: DataFile, source: Path, staging: Path, name: str) -> Path:
    path = found_file(source, file)
    if path is None:
        listed = (
            ", ".join(sorted(p.name for p in source.iterdir())[:10]) if is_folder(source) else "no folder"
        )
        raise DataError(
            f"{source} has no {' or '.join((file.path, *file.instead))}; found: {listed or 'nothing'}.",
            f"--from expects the folder that directly contains the files of {name}.",
        )
    if file.sha256 and (got := compute_sha256(path)) != file.sha256:
        raise ChecksumMismatch(
            f"{path}: expected SHA-256 {file.sha256}, got {got}. Nothing was copied.",
            "The file may be another version, edited, or incomplete.",
        )
    with atomic_write(staging / path.name) as handle, path.open("rb") as original:
        shutil.copyfileobj(original, handle)
    return staging / path.name


def _content_found(version: DataVersion, folder: Path) -> str:
    try:
        return f"Found {content_sha256(version, folder)}."
    except DataError as error:
        return error.message
