"""What a user names, made into files: `[NAME=]ADDRESS`, of a file, a folder or a pattern, here or in a store."""

import glob
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evenhand.corpus.reading.stores import Found, clear_errors, described, found, scheme_of, store_of
from evenhand.corpus.reading.unpacking import PACKINGS
from evenhand.schema import DataError, UsageError

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
SHARD = re.compile(r"[-_.]?(part|shard)?[-_.]?\d+([-_.]?of[-_.]?\d+)?$", re.IGNORECASE)
PATTERN = re.compile(r"[*?\[]")
EXPECTED = (
    "Read are .parquet, .jsonl (.ndjson, .json), .csv, .tsv, .txt, .warc, .arc and .wet; all but Parquet packed with "
    ".gz or .zst, too."
)


@dataclass(frozen=True)
class Source:
    """A corpus, or part of one, as a user named it."""

    corpus: str
    address: str
    named: bool
    """Whether the user gave the name of the corpus."""


@dataclass(frozen=True)
class SourceFile:
    """A file of a source. name: its path within the source. kind: by its ending; "text" of any text."""

    file: Found
    name: str
    kind: str


def parse_source(given: str) -> Source:
    """A SOURCE as users write it: [NAME=]ADDRESS. Raises UsageError for an empty part.

    The name of a corpus is, where none is given, that of the folder or of the file without endings and numbers.

    >>> parse_source("wiki=data/en/*.parquet")
    Source(corpus='wiki', address='data/en/*.parquet', named=True)
    >>> parse_source("data/c4-train.00000-of-01024.json.gz").corpus
    'c4-train'
    """
    there = not scheme_of(given) and (
        os.path.exists(given) or bool(PATTERN.search(given) and glob.glob(given))
    )
    if not there and (match := NAMED.fullmatch(given)):
        name, address = match[1].strip(), match[2].strip()
        if not name:
            raise UsageError(f"{given!r} names no corpus.", "Write NAME=ADDRESS, or the address alone.")
        return Source(name, address, True)
    if not given.strip() or given.endswith("="):
        raise UsageError(f"{given!r} is no source.", "Name a file, a folder or a pattern: [NAME=]ADDRESS")
    return Source(_derived(given), given, False)


def _derived(address: str) -> str:
    if address.startswith("hf://datasets/"):
        return address.split("/")[4].split("@")[0] if address.count("/") >= 4 else address
    parts = [
        part for part in re.split(r"[/\\]", address.split("://")[-1].split("?")[0]) if part not in ("", ".")
    ]
    fixed = [part for part in parts if not PATTERN.search(part)]
    if len(fixed) < len(parts) and PATTERN.search(address):
        fixed = parts[: next(n for n, part in enumerate(parts) if PATTERN.search(part))]
    while fixed:
        last = fixed.pop()
        stem = _without_endings(last) if ending_of(last) else last
        if name := SHARD.sub("", stem) if ending_of(last) else stem:
            return name
    return Path.cwd().name or "corpus"


def ending_of(name: str) -> str:
    """The ending that says what a file holds, without that of its packing; "" for an unknown one.

    >>> ending_of("a.WARC.wet.gz"), ending_of("notes.md")
    ('.wet', '')
    """
    stem, ending = os.path.splitext(name.split("?")[0].lower())
    if ending in PACKINGS:
        ending = os.path.splitext(stem)[1]
    return ending if ending in KIND_BY_ENDING else ""


def _without_endings(name: str) -> str:
    while (parts := os.path.splitext(name))[1].lower() in {*KIND_BY_ENDING, *PACKINGS}:
        name = parts[0]
    return name


def files_of(source: Source, kind: str | None, notes: list[str]) -> list[SourceFile]:
    """The files of a source in the order of their names; what is passed over is said in `notes`.

    kind: what files hold, whatever they end in; None: by their endings. Raises DataError where nothing is found or
    may be read, UsageError for a file with an unknown ending.
    """
    address = source.address
    folder = _is_folder(address)
    listed = list(_listed(address, folder))
    passed: Counter[str] = Counter()
    files = []
    for file, name in listed:
        ending = ending_of(file.address)
        if kind is None and (not ending or (folder and ending == ".json" and not _packed(file.address))):
            passed[_shown_ending(file.address)] += 1
            continue
        files.append(SourceFile(file, name, kind or KIND_BY_ENDING[ending]))
    if not listed:
        what = "The folder holds no files" if folder else "No file is there"
        raise DataError(f"{what}: {address}.", "Look at the path, and put patterns in quotation marks.")
    if not files:
        raise UsageError(
            f"{address}: nothing is known of files that end in {_counted(passed)}.",
            f"{EXPECTED} Say what they hold with --kind: jsonl, text, parquet, csv or warc.",
        )
    if passed:
        notes.append(
            f"{address}: left out {sum(passed.values()):,} files of other endings ({_counted(passed)})."
        )
    return sorted(files, key=lambda entry: entry.name)


def _packed(address: str) -> bool:
    return os.path.splitext(address.lower())[1] in PACKINGS


def _shown_ending(address: str) -> str:
    return os.path.splitext(address)[1] or "no ending"


def _counted(endings: Counter[str]) -> str:
    return ", ".join(f"{ending} ({number:,})" for ending, number in endings.most_common(8))


def _is_folder(address: str) -> bool:
    if not scheme_of(address):
        return os.path.isdir(address.removeprefix("file://"))
    if PATTERN.search(address) or scheme_of(address) in ("http", "https"):
        return False
    store, path = store_of(address)
    with clear_errors(address):
        return bool(store.isdir(path))


def _listed(address: str, folder: bool) -> Iterator[tuple[Found, str]]:
    if scheme_of(address):
        yield from _listed_there(address, folder)
        return
    path = address.removeprefix("file://")
    if folder:
        yield from _walked(path)
    elif os.path.exists(path) or not PATTERN.search(path):
        yield found(path), os.path.basename(path)
    else:
        root = path[: PATTERN.search(path).start()]  # type: ignore[union-attr]
        root = os.path.dirname(root)
        for each in sorted(glob.glob(path, recursive=True)):
            if os.path.isfile(each):
                yield found(each), os.path.relpath(each, root or ".").replace(os.sep, "/")


def _walked(folder: str) -> Iterator[tuple[Found, str]]:
    def refused(error: OSError) -> None:
        with clear_errors(str(error.filename or folder)):
            raise error

    for here, folders, names in os.walk(folder, onerror=refused):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        for name in sorted(names):
            path = os.path.join(here, name)
            if not name.startswith((".", "_")) and os.path.isfile(path):
                yield found(path), os.path.relpath(path, folder).replace(os.sep, "/")


def _listed_there(address: str, folder: bool) -> Iterator[tuple[Found, str]]:
    store, path = store_of(address)
    scheme = address.partition("://")[0]
    if not folder and not PATTERN.search(address.split("?")[0]):
        yield found(address), address.split("?")[0].rstrip("/").rpartition("/")[2]
        return
    if scheme in ("http", "https"):
        raise UsageError(
            f"{address}: what lies at web addresses cannot be listed.", "Name each file, without patterns."
        )
    with clear_errors(address):
        entries = store.find(path, detail=True) if folder else store.glob(path, detail=True)
    root = path.rstrip("/") if folder else path[: PATTERN.search(path).start()].rpartition("/")[0]  # type: ignore[union-attr]
    for there, info in sorted(entries.items()):
        name = there.removeprefix(root).lstrip("/")
        hidden = any(part.startswith((".", "_")) for part in name.split("/"))
        if info.get("type") == "file" and not (folder and hidden):
            yield described(f"{scheme}://{there.removeprefix(f'{scheme}://')}", info), name
