"""DSTC7, task 2: conversations from Reddit as tab-separated lines, and references of the test keys.

The organisers release the program that makes these files from Reddit's dumps, not the files.
"""

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.schema import DataError, is_file, is_folder

COLUMNS = 7
TRAIN, TEST, REFERENCES, KEYS = "train.convos.txt", "test.convos.txt", "test.refs.txt", "test.keys.txt"
OTHER_NAMES = {
    TRAIN: ("train_convos.txt",),
    TEST: ("test_convos.txt",),
    REFERENCES: ("test.refs",),
    KEYS: ("test.2k.txt",),
}
"""Other names under which the same files are distributed."""
EXPECTED = (
    "Expected: train.convos.txt and test.convos.txt (7 tab-separated columns: hash, subreddit, conversation, score, "
    "turn, context, response), and test.refs.txt (hash, then references as score|text). Optional: test.2k.txt (one "
    "hash per line). data_extraction of github.com/mgalley/DSTC7-End-to-End-Conversation-Modeling writes these "
    "files."
)


@dataclass(frozen=True)
class Exchange:
    """One response and the context before it, whose turns are separated by the word EOS."""

    key: str
    conversation: str
    context: str
    response: str


@dataclass(frozen=True)
class DialogueContext:
    """A context of the test set with its references: responses by people, including the human competitor."""

    key: str
    conversation: str
    context: str
    references: tuple[str, ...]


def read_exchanges(source: Path | str, limit: int | None = None) -> Iterator[Exchange]:
    """Read the training conversations, one exchange per line.

    `source` is a folder with train.convos.txt (or train_convos.txt), or such a file, also as .gz. `limit` is the
    maximum number. Lines with an empty context or response are left out. Raises a DataError with file and line for a
    line without 7 columns, invalid UTF-8, an empty file or a truncated archive. Source: Galley et al. 2019; column 6 is
    the context, the last one the response.
    """
    return _exchanges(_file(Path(source), TRAIN), limit)


def read_test_contexts(source: Path | str) -> list[DialogueContext]:
    """Read the contexts of the test set, each with its references.

    `source` is a folder with test.convos.txt, test.refs.txt and optionally test.2k.txt, which lists the keys to use.
    Raises a DataError as `read_exchanges`, for references in another format, or if no key has both. Of the published
    test set, 2,208 keys with 6 references each remain. The second one is the human competitor's.
    """
    folder = Path(source)
    if not is_folder(folder):
        raise DataError(f"{folder} is not a folder.", EXPECTED)
    references = _references(_file(folder, REFERENCES))
    keys = None
    if any(is_file(folder / name) for name in (KEYS, *OTHER_NAMES[KEYS])):
        keys = {line.strip() for _, line in _lines(_file(folder, KEYS))}
    found: dict[str, DialogueContext] = {}
    for one in _exchanges(_file(folder, TEST), None, need_response=False):
        if one.key in references and (keys is None or one.key in keys):
            found.setdefault(
                one.key, DialogueContext(one.key, one.conversation, one.context, references[one.key])
            )
    if not found:
        raise DataError(f"No test key of {folder / TEST} has references in {folder / REFERENCES}.", EXPECTED)
    return [found[key] for key in sorted(found)]


def _exchanges(path: Path, limit: int | None, *, need_response: bool = True) -> Iterator[Exchange]:
    count = 0
    for number, line in _lines(path):
        columns = line.split("\t")
        if len(columns) != COLUMNS:
            raise DataError(
                f"{path}, line {number}: expected {COLUMNS} columns separated by tabs, got {len(columns)}. If this "
                "is the last line, the file is incomplete.",
                EXPECTED,
            )
        key, _, conversation, _, _, context, response = (column.strip() for column in columns)
        if context and (response or not need_response):
            yield Exchange(key, conversation, context, response)
            count += 1
            if limit is not None and count >= limit:
                return
    if not count:
        raise DataError(f"{path} contains no conversation.", EXPECTED)


def _references(path: Path) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for number, line in _lines(path):
        key, *cells = line.split("\t")
        parts = [cell.split("|", 1) for cell in cells]
        if not parts or any(len(part) < 2 for part in parts):
            raise DataError(
                f"{path}, line {number}: expected a key and references as score|text, got {line[:60]!r}.",
                EXPECTED,
            )
        found[key.strip()] = tuple(text.strip() for _, text in parts)
    return found


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, without empty ones."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as handle:
        number = 0
        try:
            for number, line in enumerate(handle, 1):
                text = line.decode("utf-8").rstrip("\r\n")
                if text:
                    yield number, text
        except UnicodeDecodeError as error:
            raise DataError(f"{path}, line {number}: bytes that are not UTF-8.", EXPECTED) from error
        except (EOFError, gzip.BadGzipFile) as error:
            raise DataError(
                f"{path} is incomplete after line {number}, or not a gzip file.", EXPECTED
            ) from error
    if not number:
        raise DataError(f"{path} is empty.", EXPECTED)


def _file(source: Path, name: str) -> Path:
    if is_file(source):
        return source
    names: Sequence[str] = (name, *OTHER_NAMES[name])
    for candidate in (one + ending for ending in ("", ".gz") for one in names):
        if is_file(source / candidate):
            return source / candidate
    raise DataError(f"{source} has no {' or '.join(names)}.", EXPECTED)
