"""Check whether a table fits in memory before it is read, because Polars aborts the process if memory runs out."""

from pathlib import Path

from evenhand.schema import DataError
from evenhand.weights.devices import processor_memory

TIMES = {
    **dict.fromkeys((".csv", ".tsv", ".parquet"), 3),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), 7),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".ods"), 30),
}
"""Bytes of memory per byte of the file at the peak, when bytes, text and table exist at the same time. Measured values
are 2.4 for CSV, 2.3 for Parquet, and 6.0 for JSON lines, which become Python objects. Workbooks are compressed.
"""
GIB = 1 << 30


def check_table_fits(path: Path) -> None:
    """Raise DataError if reading a table would probably need more memory than is free.

    `path` is the file. If the system does not report its free memory, every file passes.
    """
    size, free = path.stat().st_size, processor_memory()
    needed = size * TIMES.get(path.suffix.lower(), 3)
    if free is not None and needed > free:
        raise DataError(
            f"Not enough memory for {path} ({size / GIB:,.1f} GiB): reading it needs about {needed / GIB:,.1f} "
            f"GiB, but {free / GIB:,.1f} GiB are free.",
            "Split the file, use a sample of its rows, or a machine with more memory.",
        )
