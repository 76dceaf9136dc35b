"""Read Parquet: only the column of texts, one row group at a time; a damaged group loses only its own rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from evenhand.corpus.reading.chunks import Chunk
from evenhand.corpus.reading.documents import LONGEST, Piece, Reason
from evenhand.corpus.reading.drawing import Draw
from evenhand.corpus.reading.options import ReadingOptions
from evenhand.corpus.reading.stores import EXTRA, OpenedFile
from evenhand.corpus.reading.unpacking import DamagedStream
from evenhand.schema import DataError

MOST_ROWS = 8192
"""Maximum number of rows of a batch."""
NUMBER = 8
"""Maximum number of bytes per row that is only an index into a dictionary of texts."""

BUFFER = 1 << 22
"""Bytes of a column that are read ahead. Without a limit, it is a whole row group, which may be the whole file."""


def open_parquet(stored: OpenedFile, *dictionaries: str) -> Any:
    """Open a Parquet file and read its footer. Equal texts of the columns `dictionaries` are stored once.

    Raises DamagedStream for a file without a readable footer.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(
            f"{stored.address} is a Parquet file, which requires a package that is not installed.", EXTRA
        ) from error
    try:
        handle = pyarrow.PythonFile(stored, mode="r")
        return pyarrow.parquet.ParquetFile(
            handle, pre_buffer=False, buffer_size=BUFFER, read_dictionary=dictionaries
        )
    except (OSError, pyarrow.ArrowException) as error:
        told = " ".join(str(error).split())
        truncated = "magic bytes" in told or "smaller than" in told or "footer" in told
        if truncated:
            raise DamagedStream(
                Reason.TRUNCATED, "it has no footer: it is incomplete, or not a Parquet file"
            ) from error
        raise DamagedStream(Reason.UNREADABLE, f"its footer is damaged ({told[:200]})") from error


def column_types(file: Any) -> dict[str, str]:
    """Return the types of an opened file by column. Columns within records have names with dots."""
    types: dict[str, str] = {}

    def add(name: str, kind: Any) -> None:
        import pyarrow

        if pyarrow.types.is_struct(kind):
            for field in kind:
                add(f"{name}.{field.name}", field.type)
        else:
            types[name] = str(kind)

    for field in file.schema_arrow:
        add(field.name, field.type)
    return types


def read_columns(stored: OpenedFile, piece: Piece, options: ReadingOptions) -> Iterator[Chunk]:
    """Yield the documents in the row groups of a piece.

    Raises DamagedStream for an unreadable footer, and, after the last readable group, for unreadable ones.
    """
    import pyarrow

    file = open_parquet(stored)
    rows = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
    firsts = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    draw = Draw.for_places(options, piece.name)
    groups = range(piece.first, len(rows) if piece.last is None else min(piece.last, len(rows)))
    if not holds_text(column_types(file).get(options.column)):
        yield Chunk(skipped=_reason(Reason.NO_TEXT, sum(rows[group] for group in groups)))
        return
    lost: list[int] = []
    for group in groups:
        place = int(firsts[group])
        try:
            held = open_parquet(stored, options.column) if _repeats_few(file, group, options.column) else file
            for batch in held.iter_batches(
                batch_size=_batch_rows(file, group, options),
                row_groups=[group],
                columns=[options.column],
                use_threads=False,
            ):
                yield _chunk(_texts(batch, options.column), place, draw)
                place += batch.num_rows
        except (OSError, pyarrow.ArrowException) as error:
            lost.append(group)
            told = " ".join(str(error).split())[:200]
            yield Chunk(skipped=_reason(Reason.UNREADABLE, int(firsts[group + 1]) - place))
    if lost:
        names = ", ".join(map(str, lost[:20]))
        raise DamagedStream(None, f"{names} of its row groups could not be decoded ({told})")


def holds_text(kind: str | None) -> bool:
    """Return True if a column of this type can contain texts.

    >>> holds_text("large_string"), holds_text("int64"), holds_text("dictionary<values=string, ...>")
    (True, False, True)
    """
    plain = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return kind in plain or (kind or "").startswith("dictionary<values=string")


def _reason(reason: Reason, rows: int) -> Any:
    from collections import Counter

    return Counter({reason: rows})


def _find_column_chunk(file: Any, group: int, column: str) -> Any:
    about = file.metadata.row_group(group)
    columns = (about.column(number) for number in range(about.num_columns))
    return next(each for each in columns if each.path_in_schema == column)


def _batch_rows(file: Any, group: int, options: ReadingOptions) -> int:
    """Return the number of rows that contain about one batch of text."""
    chunk = _find_column_chunk(file, group, options.column)
    return int(
        np.clip(options.batch_bytes * chunk.num_values // max(chunk.total_uncompressed_size, 1), 1, MOST_ROWS)
    )


def _repeats_few(file: Any, group: int, column: str) -> bool:
    """Return whether rows are only indices into few texts, which may together be far larger than the file."""
    chunk = _find_column_chunk(file, group, column)
    if not chunk.has_dictionary_page or chunk.dictionary_page_offset is None:
        return False
    texts = chunk.data_page_offset - chunk.dictionary_page_offset
    return bool(chunk.total_compressed_size - texts < NUMBER * chunk.num_values)


def _texts(batch: Any, column: str) -> Any:
    """Return the column of a batch, inside any number of records."""
    values = batch.column(0)
    while hasattr(values.type, "num_fields") and str(values.type).startswith("struct"):
        import pyarrow.compute  # this import is slow, and few files need it

        values = pyarrow.compute.struct_field(values, [0])
    return values


def _chunk(values: Any, first: int, draw: Draw) -> Chunk:
    import pyarrow

    chunk = Chunk()
    places = np.arange(first, first + len(values))
    if not draw.draws_all:
        drawn = draw.are_drawn(places)
        chunk.skipped[Reason.NOT_SAMPLED] += int((~drawn).sum())
        values, places = values.filter(pyarrow.array(drawn)), places[drawn]
    numbers = places.tolist()
    if hasattr(values, "indices"):
        words = _python(values.dictionary)
        texts = [None if number is None else words[number] for number in values.indices.to_pylist()]
    else:
        texts = _python(values)
    for text, place in zip(texts, numbers, strict=True):
        if text is None:
            chunk.skipped[Reason.NO_TEXT] += 1
        elif len(text) > LONGEST:
            chunk.skipped[Reason.TOO_LONG] += 1
        elif isinstance(text, str):
            chunk.add(text, place)
        else:
            chunk.add_bytes(text, place)
    return chunk


def _python(values: Any) -> list[str | bytes | None]:
    """Return values as Python objects; bytes if some are not UTF-8."""
    import pyarrow

    try:
        return list(values.to_pylist())
    except UnicodeDecodeError:
        return list(values.cast(pyarrow.large_binary()).to_pylist())
