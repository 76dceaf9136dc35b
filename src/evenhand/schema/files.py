"""Write files atomically: they are encoded in memory, written to a temporary file, flushed and renamed."""

import errno
import hashlib
import io
import json
import math
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, get_args, overload

from evenhand.schema.errors import DataError, WriteError, nearest_names
from evenhand.schema.temporary import temporary_file

if TYPE_CHECKING:
    import polars as pl

SURROGATE = re.compile("[\ud800-\udfff]")
HIDDEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Characters that a terminal or editor interprets without showing them; JSON can escape them."""
CONTROL = r"[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]"
"""The same characters as a pattern for polars."""
TableKind = Literal["parquet", "csv", "jsonl"]
MOST_COMPARED = 1000
"""Maximum number of files in a folder that are compared with a name that does not exist."""


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file next to `path` and rename it to `path` if the block succeeds.

    An existing file at `path` stays until the new content is complete and on disk. The temporary name is
    unpredictable. If a killed writer leaves a temporary file, the next writer into the folder removes it.
    Raises WriteError (full disk, no permission) and removes the temporary file.
    """
    path = Path(path)
    if not path.name:
        raise WriteError(f"{str(path)!r} is not a file name.", "Give a file to write.")
    if os.path.lexists(path) and not path.is_symlink() and not is_file(path):
        kind = "a folder" if is_folder(path) else "a device or a pipe"
        raise WriteError(f"Could not write {path}: it is {kind}.", "Give a file to write.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_file(path.parent) as (handle, temporary):
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
            if sys.platform == "win32":
                handle.close()  # some systems do not rename an open file
            os.replace(temporary, path)
    except OSError as error:
        raise WriteError(
            f"Could not write {path}: {error.strerror or error}.",
            f"Files written earlier are intact. {_suggest_remedy(error)}, then run the command again.",
        ) from error


def _suggest_remedy(error: OSError) -> str:
    full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
    return "Free some space or choose another folder" if full else "Choose a folder that you can write to"


def write_table(path: Path | str, frame: "pl.DataFrame", kind: TableKind | None = None) -> Path:
    """Write a table to a file and return its path; the file appears only when it is complete.

    `kind` is the format; None means that the ending of the path determines it. Raises WriteError (full disk,
    no permission).

    Examples
    --------
    >>> import polars as pl, tempfile
    >>> path = write_table(Path(tempfile.mkdtemp()) / "ages.csv", pl.DataFrame({"age": [3, 4]}))
    >>> path.read_text()
    'age\\n3\\n4\\n'
    """
    path = Path(path)
    content = table_bytes(frame, kind or _infer_table_kind(path))
    with atomic_write(path) as handle:
        handle.write(content)
    return path


def for_spreadsheets(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return a table whose texts no spreadsheet reads as formulas.

    Texts that start with = + - @ or | get an apostrophe in front. Control characters are replaced.

    Examples
    --------
    >>> import polars as pl
    >>> names = pl.DataFrame({"name": ["=1+1", "-ish", "a\\x1bb", "deaf"], "number": [-1, 2, 3, 4]})
    >>> for_spreadsheets(names)["name"].to_list()
    ["'=1+1", "'-ish", 'a\ufffdb', 'deaf']
    """
    import polars as pl

    shown = pl.col(pl.String).str.replace_all(CONTROL, "\ufffd")
    formula = shown.str.contains(r"^\s*[=+\-@|\ufffd]").fill_null(value=False)
    return frame.with_columns(pl.when(formula).then(pl.lit("'") + shown).otherwise(shown).name.keep())


def table_bytes(frame: "pl.DataFrame", kind: TableKind = "parquet", **how: Any) -> memoryview:
    """Return the bytes of a file with a table; Parquet gets a checksum.

    `how` has options of the polars writer. The table is encoded in memory, because polars reports a full disk
    with another error when it writes to an open file.
    """
    content = io.BytesIO()
    match kind:
        case "parquet":
            from evenhand.schema.parquet import add_checksum

            frame.write_parquet(content, **how)
            return memoryview(add_checksum(content.getbuffer()))
        case "csv":
            frame.write_csv(content, **how)
        case "jsonl":
            frame.write_ndjson(content, **how)
    return content.getbuffer()


def write_json(path: Path | str, content: Any) -> Path:
    """Write data to a JSON file (see `as_json`) and return its path; the file appears only when it is complete.

    The file can be shown safely in a terminal: control characters and characters that change the direction of
    writing are escaped. Raises WriteError.

    Examples
    --------
    >>> import tempfile
    >>> write_json(Path(tempfile.mkdtemp()) / "a.json", {"p": float("nan")}).read_text()
    '{\\n "p": null\\n}\\n'
    """
    text = json.dumps(as_json(content), indent=1, ensure_ascii=False, allow_nan=False)
    return write_text(path, HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], text) + "\n")


def write_text(path: Path | str, text: str) -> Path:
    """Write text to a UTF-8 file and return its path; the file appears only when it is complete.

    A lone surrogate, which UTF-8 cannot store, is written as an escape. In JSON it is read back as the
    original. Raises WriteError.
    """
    return write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path | str, content: bytes) -> Path:
    """Write bytes to a file and return its path; the file appears only when it is complete. Raises WriteError."""
    path = Path(path)
    with atomic_write(path) as handle:
        handle.write(content)
    return path


def is_file(path: Path | str) -> bool:
    """Return whether the file exists; False also for an invalid name (too long, or with a NUL).

    Examples
    --------
    >>> is_file("x" * 5000)
    False
    """
    with suppress(OSError, ValueError):
        return Path(path).is_file()
    return False


def missing_file(path: Path | str, expected: str | None, what: str = "File") -> DataError:
    """Return an error for a file that does not exist, with the most similar names in its folder.

    expected: the documented format. what: the first words of the message.

    >>> print(missing_file("nowhere.csv", "Check the path."))
    File not found: nowhere.csv.
    Check the path.
    """
    return DataError(f"{what} not found: {path}.{guess_file(Path(path))}", expected)


def guess_file(path: Path) -> str:
    """Return a sentence about a path that does not exist: its similar neighbours, or a broken link; "" if neither."""
    with suppress(OSError, ValueError):
        if path.is_symlink():
            return f" It is a symbolic link to {path.readlink()}, which does not exist."
        others = [other.name for other in islice(path.parent.iterdir(), MOST_COMPARED)]
        near = nearest_names(path.name, others, similarity=0.75)
        return (
            f" Did you mean {' or '.join(repr(str(path.with_name(name))) for name in near)}?" if near else ""
        )
    return ""


def describe_occupied(path: Path | str) -> str:
    """Return in words what is at a path where a new folder was to be created: "is a file ..." and similar."""
    path = Path(path)
    if path.is_symlink() and not is_file(path) and not is_folder(path):
        return "is a symbolic link without a target"
    return "is a file, but a folder was expected" if is_file(path) else "exists and is not empty"


def is_folder(path: Path | str) -> bool:
    """Return whether the folder exists; False also for an invalid name."""
    with suppress(OSError, ValueError):
        return Path(path).is_dir()
    return False


def parse_json(content: str | bytes) -> Any:
    """Return the content of a JSON text; all JSON of files and services is read by this function.

    Raises json.JSONDecodeError for invalid JSON, for too deep nesting and for too long a number. Raises
    UnicodeDecodeError for bytes that are not text.

    Examples
    --------
    >>> parse_json('{"a": [1]}')
    {'a': [1]}
    """
    try:
        return json.loads(content)
    except RecursionError as error:
        raise json.JSONDecodeError("nested too deeply", "", 0) from error
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
            raise
        raise json.JSONDecodeError("a number has too many digits", "", 0) from error


def parse_toml(content: str) -> dict[str, Any]:
    """Return the content of a TOML text; all TOML of users is read by this function.

    Raises tomllib.TOMLDecodeError for invalid TOML and for too deep nesting.

    Examples
    --------
    >>> parse_toml("a = [1]")
    {'a': [1]}
    """
    try:
        return tomllib.loads(content)
    except (RecursionError, ValueError) as error:
        if isinstance(error, tomllib.TOMLDecodeError):
            raise
        what = "Nested too deeply" if isinstance(error, RecursionError) else "A number has too many digits"
        raise tomllib.TOMLDecodeError(what) from error


def parse_yaml(content: str | bytes, loader: Any = None) -> Any:
    """Return the content of a YAML text.

    All YAML of users that needs no line numbers is read by this function. `loader` is a class of PyYAML
    (default: SafeLoader). Raises yaml.YAMLError for text that cannot be read.

    Examples
    --------
    >>> parse_yaml("a: [1]")
    {'a': [1]}
    """
    import yaml

    try:
        return yaml.load(content, loader or yaml.SafeLoader)
    except RecursionError as error:
        raise yaml.YAMLError("it is nested too deeply") from error
    except UnicodeDecodeError:
        raise
    except (ValueError, LookupError, AttributeError, TypeError) as error:
        # for example a date in month 13, `!!bool x`, or an integer of more than 4,300 digits
        raise yaml.YAMLError("a number, a date or a tagged value cannot be read") from error


def read_json(path: Path, hint: str, *, most: int | None = None) -> Any:
    """Return the content of a JSON file; raise DataError with `hint` if it is unreadable or has over `most` bytes."""
    try:
        if most is not None and (size := path.stat().st_size) > most:
            raise DataError(f"{path} has {size:,} bytes, but at most {most:,} are allowed.", hint)
        return parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}.", hint) from error


@overload
def without_surrogates(text: str) -> str: ...


@overload
def without_surrogates(text: str | None) -> str | None: ...


def without_surrogates(text: str | None) -> str | None:
    """Return a text with U+FFFD in place of each lone surrogate, which no table can store; None stays None.

    Examples
    --------
    >>> without_surrogates("x \\ud800 y")
    'x \ufffd y'
    """
    return None if text is None else SURROGATE.sub("\ufffd", text)


@overload
def as_json(value: Mapping[Any, Any], *, ordered: bool = False) -> dict[str, Any]: ...


@overload
def as_json(value: Any, *, ordered: bool = False) -> Any: ...


def as_json(value: Any, *, ordered: bool = False) -> Any:
    """Return data as it would come back from a JSON file.

    Tuples become lists, sets sorted lists, paths and other objects text, and numbers of NumPy numbers of
    Python. Numbers that are not finite, which JSON does not have, become None. Keys become text, sorted if
    `ordered`.

    Examples
    --------
    >>> as_json({"axes": ("age",), "folder": Path("data"), 3: float("inf")})
    {'axes': ['age'], 'folder': 'data', '3': None}
    """
    match value:
        case None | bool():
            return value
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else None
        case Mapping():
            keys = sorted(value, key=str) if ordered else list(value)
            return {_key(key): as_json(value[key], ordered=ordered) for key in keys}
        case set() | frozenset():
            return [as_json(item, ordered=ordered) for item in sorted(value, key=str)]
        case list() | tuple():
            return [as_json(item, ordered=ordered) for item in value]
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:  # a scalar of NumPy or PyTorch
        return as_json(value.item(), ordered=ordered)
    return str(value)


def compute_sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal text; the file is read in pieces."""
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        while piece := handle.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _key(key: Any) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    return json.dumps(key) if key is None or isinstance(key, bool) else str(key)


def _infer_table_kind(path: Path) -> TableKind:
    ending = path.suffix.lower().removeprefix(".")
    for kind in get_args(TableKind):
        if ending == kind:
            return kind  # type: ignore[no-any-return]
    raise ValueError(f"{path} does not contain the kind of table, one of: {', '.join(get_args(TableKind))}")
