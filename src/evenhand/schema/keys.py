"""A hash of a table's content that depends only on its values, not on their representation in memory."""

import hashlib
from typing import Any

import numpy as np
import polars as pl

ROWS_AT_ONCE = 1 << 16


def frame_hash(frame: pl.DataFrame) -> str:
    """Return the SHA-256 of a table: of its column names, and of every value in row order.

    Use it to check whether two tables have the same content.

    Parameters
    ----------
    frame : polars.DataFrame
        A table of strings, numbers, booleans or nested values.

    Returns
    -------
    str
        64 hexadecimal digits.

    Notes
    -----
    The order of the columns does not matter. Categories count as their strings, and integers of all widths as
    64 bits. Null differs from the empty string and from NaN.

    Examples
    --------
    >>> a = pl.DataFrame({"x": ["a", None], "y": [1, 2]})
    >>> frame_hash(a) == frame_hash(a.select("y", "x").cast({"y": pl.Int8, "x": pl.Categorical}))
    True
    >>> frame_hash(a) == frame_hash(a.reverse())
    False
    """
    digest = hashlib.sha256(f"evenhand table 1, {frame.height} rows".encode())
    for name in sorted(frame.columns):
        _add_column(digest, name, frame[name])
    return digest.hexdigest()


def _add_column(digest: Any, name: str, column: pl.Series) -> None:
    kind, values = _canonical(column)
    digest.update(f"\x1e{len(name)}:{name}:{kind}:".encode())
    for start in range(0, len(values), ROWS_AT_ONCE):
        piece = values.slice(start, ROWS_AT_ONCE)
        # nulls are hashed here, so the fill values below cannot be confused with them
        digest.update(np.packbits(piece.is_null().to_numpy()).tobytes())
        if kind == "text":
            piece = piece.fill_null("")
            digest.update(piece.str.len_bytes().to_numpy().astype("<u4").tobytes())
            digest.update("".join(piece.to_list()).encode())
        else:
            numbers = piece.fill_null(0).to_numpy()
            digest.update(numbers.astype({"integer": "<i8", "real": "<f8", "boolean": "u1"}[kind]).tobytes())


def _canonical(column: pl.Series) -> tuple[str, pl.Series]:
    dtype = column.dtype
    if dtype in (pl.String, pl.Categorical, pl.Null) or isinstance(dtype, pl.Enum):
        return "text", column.cast(pl.String)
    if dtype == pl.Boolean:
        return "boolean", column
    if dtype.is_integer() and not (dtype == pl.UInt64 and _exceeds_int64(column)):
        return "integer", column.cast(pl.Int64)
    if dtype.is_float():
        # all NaN and both zeros hash alike
        return "real", column.cast(pl.Float64).fill_nan(float("nan")) + 0.0
    if dtype.is_nested():
        written = pl.struct(pl.col("value")).struct.json_encode()
        nested = pl.DataFrame({"value": column})
        return "text", nested.select(out=pl.when(pl.col("value").is_not_null()).then(written))["out"]
    return "text", column.cast(pl.String)


def _exceeds_int64(column: pl.Series) -> bool:
    highest = column.max()
    return isinstance(highest, int) and highest > 2**63 - 1
