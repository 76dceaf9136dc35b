"""Store counts in one file: tables within a Parquet file with a checksum, local or at a URL of fsspec."""

import json
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from evenhand.corpus.counting.checking import check_rows, parse_options, read_rows
from evenhand.corpus.counting.counts import TABLES, Counts
from evenhand.schema import (
    UNREADABLE,
    VERSION,
    DataError,
    Parquet,
    WriteError,
    has_checksum,
    parse_json,
    read_parquet,
    table_bytes,
    write_bytes,
)

FORMAT = 1
"""Version of the file format; increased when its contents change."""
ABOUT = "about"
FILE = {"name": pl.String, "content": pl.Binary}
"""One row per table (Parquet), and one row that describes what was counted (JSON)."""


def write_counts(path: Path | str, counts: Counts) -> None:
    """Write counts to one file.

    The file appears only when it is complete. An existing file is replaced.

    Parameters
    ----------
    path : path or str
        A file on this machine, or a URL of fsspec (s3://bucket/counts.parquet).
    counts : Counts
        The counts.

    Raises
    ------
    WriteError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from evenhand.corpus.counting.counts import empty_counts
    >>> path = Path(tempfile.mkdtemp()) / "counts.parquet"
    >>> write_counts(path, empty_counts("a1"))
    >>> read_counts(path).table_hash
    'a1'
    """
    about = {
        "format": FORMAT,
        "version": VERSION,
        "table_hash": counts.table_hash,
        "options": asdict(counts.options),
    }
    rows: list[tuple[str, bytes]] = [(ABOUT, json.dumps(about).encode())]
    rows += [(name, bytes(table_bytes(getattr(counts, name), compression="zstd"))) for name in TABLES]
    frame = pl.DataFrame(rows, schema=FILE, orient="row")
    content = bytes(table_bytes(frame, compression="uncompressed"))
    if not is_address(path):
        write_bytes(path, content)
        return
    try:
        system, place = _system(str(path))
        system.pipe_file(place, content)
    except Exception as error:  # every storage has its own exceptions
        hint = "Check that you can write there, then run again."
        raise WriteError(f"Could not write {path}: {_describe_error(error)}.", hint) from error


def read_counts(path: Path | str) -> Counts:
    """Read counts from a file of `write_counts`.

    Parameters
    ----------
    path : path or str
        The file.

    Returns
    -------
    Counts
        The counts.

    Raises
    ------
    DataError
        The file is missing, was changed or cut short after it was written, or has another version's format.
    """
    hint = "Count this part again."
    try:
        if is_address(path):
            with TemporaryDirectory() as folder:
                system, place = _system(str(path))
                here = Path(folder) / "counts.parquet"
                here.write_bytes(system.cat_file(place))
                frame = read_parquet(here)
        else:
            frame = read_parquet(Path(path))
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read: {_describe_error(error)}.", hint) from error
    except DataError:
        raise
    except Exception as error:  # every storage has its own exceptions
        raise DataError(
            f"{path} cannot be downloaded: {_describe_error(error)}.",
            "Check that you have permission to read it.",
        ) from error
    if dict(frame.schema) != FILE or sorted(frame["name"].drop_nulls()) != sorted((ABOUT, *TABLES)):
        raise DataError(f"{path} does not contain counts of evenhand.", hint)
    try:
        return _parse_counts(dict(frame.iter_rows()))
    except ValueError as error:
        raise DataError(
            f"{path} does not contain counts of evenhand: {_describe_error(error)}.", hint
        ) from error


def _parse_counts(held: dict[str, Any]) -> Counts:
    """Return the counts in the parts of a file; raises ValueError that describes an invalid part."""
    about = parse_json(held[ABOUT] or b"")
    if not isinstance(about, dict) or not isinstance(about.get("table_hash"), str):
        raise ValueError("it does not record which terms were counted")
    if about.get("format") != FORMAT:
        told = f"{about.get('format')!r} of evenhand {about.get('version')}"
        raise ValueError(f"its format is {told}, not {FORMAT}")
    tables = {name: read_rows(name, held[name] or b"") for name in TABLES}
    check_rows(tables)
    return Counts(about["table_hash"], **tables, options=parse_options(about.get("options")))


def is_counts(path: Path) -> bool:
    """Return True if a local file contains counts. Only the end of other files is read."""
    try:
        return has_checksum(path) and Parquet(path).schema == FILE
    except UNREADABLE:
        return False


def is_address(path: Path | str) -> bool:
    """Return whether this is a URL of fsspec.

    >>> is_address("s3://bucket/counts.parquet"), is_address("counts.parquet")
    (True, False)
    """
    return isinstance(path, str) and "://" in path


def _system(address: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError as error:
        raise DataError(
            f"{address} requires fsspec, which is not installed.",
            'Install it: pip install "evenhand[corpus]"',
        ) from error
    system, place = fsspec.core.url_to_fs(address)
    return system, place


def _describe_error(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).split("\n")[0].rstrip(".")
