"""Find the files of a source: `[NAME=]ADDRESS`, a file, a folder or a pattern, local or in storage."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path, PurePosixPath

from evenhand.corpus.reading.stores import (
    StoredFile,
    build_stored_file,
    clear_errors,
    get_scheme,
    local,
    look_up_file,
    open_file_system,
)
from evenhand.corpus.reading.unpacking import PACKINGS
from evenhand.schema import DataError, UsageError, is_file, is_folder, unknown_name, without_surrogates

KIND_BY_ENDING = {
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".jsonlines": "jsonl",
    ".txt": "text",
    ".text": "text",
    ".tokens": "text",
    ".raw": "text",
    ".csv": "csv",
    ".tsv": "csv",
    ".warc": "warc",
    ".arc": "warc",
    ".wet": "warc",
}
NAMED = re.compile(r"([^/\\:=*?\[]+)=(.+)", re.DOTALL)
SHARD = re.compile(
    r"([-_.]|^)(part|shard)[-_.]?\d+([-_.]?of[-_.]?\d+)?$|[-_.]?\d+[-_.]?of[-_.]?\d+$|^\d+$", re.IGNORECASE
)
"""Pattern of the names of files that are shards. In other names, a number may be part of the name (tiny20)."""
NUMBER = re.compile(r"[-_.]\d+$")
PATTERN = re.compile(r"[*?\[]")
EXPECTED = (
    "Supported file types: .parquet, .jsonl (.ndjson, .json), .csv, .tsv, .txt, .warc, .arc and .wet; all but "
    "Parquet also compressed (.gz or .zst)."
)


@dataclass(frozen=True)
class Source:
    """A corpus, or part of one, as a user named it."""

    corpus: str
    address: str
    named: bool
    """Whether the user named the corpus."""


@dataclass(frozen=True)
class SourceFile:
    """A file of a source. name: its path within the source. kind: format from its suffix; "text" for any text."""

    file: StoredFile
    name: str
    kind: str


def parse_source(given: str) -> Source:
    """Parse a SOURCE as users write it: [NAME=]ADDRESS. Raises UsageError for an empty part.

    The default name of a corpus is that of the folder, or of the file without suffixes and shard number (part-0001,
    00000-of-01024).

    >>> parse_source("wiki=data/en/*.parquet")
    Source(corpus='wiki', address='data/en/*.parquet', named=True)
    >>> parse_source("data/c4-train.00000-of-01024.json.gz").corpus
    'c4-train'
    """
    there = "://" not in given and (is_file(given) or is_folder(given) or _matches_here(given))
    named = None if there else NAMED.fullmatch(given)
    if named and named[1].strip() and named[2].strip():
        return Source(named[1].strip(), named[2].strip(), True)
    if named or not given.strip() or given.startswith("=") or (given.endswith("=") and not there):
        raise UsageError(
            f"{given!r} is not a valid source.", "Give a file, a folder or a pattern: [NAME=]SOURCE"
        )
    return Source(_derive_corpus_name(given), given, False)


def parse_sources(given: Sequence[str]) -> list[Source]:
    """Parse sources. Unnamed files of a folder whose names differ only by a number at the end are one corpus.

    >>> [source.corpus for source in parse_sources(["d/web-1.jsonl", "d/web-2.jsonl", "d/wiki-3.jsonl"])]
    ['web', 'web', 'wiki-3']
    """
    sources = [parse_source(one) for one in given]
    several = Counter(_split_number(source) for source in sources)
    return [
        replace(source, corpus=key[1]) if (key := _split_number(source)) and several[key] > 1 else source
        for source in sources
    ]


def _split_number(source: Source) -> tuple[str, str] | None:
    """Return the folder of a file and its name without a number at the end; None without one, or if
    the user named it.
    """
    folder, _, file = extract_path(source.address).rpartition("/")
    shorter = NUMBER.sub("", source.corpus)
    numbered = not source.named and find_format_suffix(file) and shorter not in ("", source.corpus)
    return (folder, shorter) if numbered and _without_endings(file) == source.corpus else None


def _derive_corpus_name(address: str) -> str:
    if address.startswith("hf://datasets/") and address.count("/") >= 4:
        return address.split("/")[4].partition("@")[0]
    parts = [part for part in extract_path(address).split("/") if part not in ("", ".", "..")]
    fixed = list(takewhile(lambda part: not PATTERN.search(part), parts))
    while fixed:
        last = fixed.pop()
        if name := SHARD.sub("", _without_endings(last)) if find_format_suffix(last) else last:
            return name
    return Path.cwd().name or "corpus"


def extract_path(address: str) -> str:
    """Return a URL without its scheme and query.

    >>> extract_path("https://x.org/a.jsonl.gz?download=true"), extract_path("what?.txt")
    ('x.org/a.jsonl.gz', 'what?.txt')
    """
    path = address.partition("://")[2] or address
    return path.split("?")[0] if get_scheme(address) in ("http", "https") else path


def find_format_suffix(name: str) -> str:
    """Return the suffix that identifies the format of a file, without that of compression; "" if it is unknown.

    >>> find_format_suffix("a.WARC.wet.gz"), find_format_suffix("notes.md")
    ('.wet', '')
    """
    endings = [ending.lower() for ending in PurePosixPath(name).suffixes]
    if endings and endings[-1] in PACKINGS:
        endings.pop()
    return endings[-1] if endings and endings[-1] in KIND_BY_ENDING else ""


def _without_endings(name: str) -> str:
    while (ending := PurePosixPath(name).suffix).lower() in {*KIND_BY_ENDING, *PACKINGS}:
        name = name.removesuffix(ending)
    return name


def list_files(source: Source, kind: str | None, notes: list[str]) -> list[SourceFile]:
    """Return the files of a source in the order of their names; skipped files are reported in `notes`.

    kind: format of the files; None: inferred from their suffixes. Raises DataError if no file is found or readable,
    UsageError if all files have unknown suffixes.
    """
    if kind is not None and kind not in KIND_BY_ENDING.values():
        raise unknown_name("file format (`--kind`)", kind, set(KIND_BY_ENDING.values()))
    address = source.address
    folder = _is_folder(address)
    listed = list(_find_matches(address, folder))
    if not listed:
        where = "The folder contains no files" if folder else "No file found"
        raise DataError(f"{where}: {address}", "Check the path, and put patterns in quotation marks.")
    passed: Counter[str] = Counter()
    odd = []
    files = []
    for file, name in listed:
        # the stored plan of the work could not contain such a name
        if file.address != without_surrogates(file.address):
            odd.append(without_surrogates(name))
            continue
        ending = find_format_suffix(name)
        # in folders, .json usually describes the data; rows are in .jsonl or .json.gz
        if kind is None and (not ending or (folder and name.lower().endswith(".json"))):
            passed[PurePosixPath(name).suffix or "no ending"] += 1
            continue
        files.append(SourceFile(file, name, kind or KIND_BY_ENDING[ending]))
    if odd:
        told = (
            f"{without_surrogates(address)}: {len(odd):,} files have names that are not UTF-8, such as "
            f"{odd[0]!r}"
        )
        if not files and not passed:
            raise DataError(
                f"{told}. evenhand cannot read such files.",
                "Rename the files so that their paths, including the names of folders, are valid UTF-8.",
            )
        notes.append(f"{told}. These files are left out. To count them, rename them.")
    endings = ", ".join(f"{ending} ({number:,})" for ending, number in passed.most_common(8))
    if not files:
        raise UsageError(
            f"{address}: unknown file types: {endings}.",
            f"{EXPECTED} For other file extensions, give the format: --kind jsonl, text, parquet, csv or warc.",
        )
    if passed:
        notes.append(f"{address}: left out {sum(passed.values()):,} files of other types: {endings}.")
    return sorted(files, key=lambda entry: entry.name)


def _is_folder(address: str) -> bool:
    if not get_scheme(address):
        return is_folder(local(address))
    if PATTERN.search(address) or get_scheme(address) in ("http", "https"):
        return False
    store, path = open_file_system(address)
    with clear_errors(address):
        return bool(store.isdir(path))


def _find_matches(address: str, folder: bool) -> Iterator[tuple[StoredFile, str]]:
    if get_scheme(address):
        yield from _list_remote(address, folder)
    elif folder:
        yield from _walk_folder(Path(local(address)))
    elif is_file(local(address)) or not PATTERN.search(address):
        yield look_up_file(address), Path(address).name
    else:
        root, pattern = _split_pattern(local(address))
        with clear_errors(address):
            matches = sorted(root.glob(pattern))
        for path in matches:
            if path.is_file() and not _hidden(path.relative_to(root).parts):
                yield look_up_file(str(path)), path.relative_to(root).as_posix()


def _split_pattern(path: str) -> tuple[Path, str]:
    """Return the folder in which a pattern begins, and the pattern."""
    parts = Path(path).parts
    fixed = list(takewhile(lambda part: not PATTERN.search(part), parts))
    return Path(*fixed), "/".join(parts[len(fixed) :])


def _matches_here(given: str) -> bool:
    if not PATTERN.search(given):
        return False
    root, pattern = _split_pattern(given)
    with suppress(ValueError, OSError):
        return next(root.glob(pattern), None) is not None
    return False


def _hidden(parts: Iterable[str]) -> bool:
    return any(part.startswith((".", "_")) for part in parts)


def _walk_folder(folder: Path) -> Iterator[tuple[StoredFile, str]]:
    def raise_clearly(error: OSError) -> None:
        with clear_errors(str(error.filename or folder)):
            raise error

    for here, folders, names in os.walk(folder, onerror=raise_clearly):
        folders[:] = sorted(name for name in folders if not _hidden([name]))
        for name in sorted(names):
            path = Path(here, name)
            if not _hidden([name]) and path.is_file():
                yield look_up_file(str(path)), path.relative_to(folder).as_posix()


def _list_remote(address: str, folder: bool) -> Iterator[tuple[StoredFile, str]]:
    if not folder and not PATTERN.search(extract_path(address)):
        yield look_up_file(address), extract_path(address).rstrip("/").rpartition("/")[2]
        return
    scheme = get_scheme(address)
    if scheme in ("http", "https"):
        raise UsageError(
            f"{address}: files at web URLs cannot be listed.", "Give each file, without patterns."
        )
    store, path = open_file_system(address)
    with clear_errors(address):
        entries = store.find(path, detail=True) if folder else store.glob(path, detail=True)
    parts = path.split("/")
    root = path.rstrip("/") if folder else "/".join(takewhile(lambda part: not PATTERN.search(part), parts))
    for there, info in sorted(entries.items()):
        name = there.removeprefix(root).lstrip("/")
        if info.get("type") == "file" and not _hidden(name.split("/")):
            yield build_stored_file(f"{scheme}://{there}", info), name
