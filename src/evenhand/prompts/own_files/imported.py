"""Convert data sets of the library `datasets` (hub or folder) to a file that audits and measures can read.

The data are stored in a file instead of being loaded by name in each run, so that they do not change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.schema import DataError, UsageError, unknown_column, write_json, write_table

SOURCE = ".source.json"
"""Suffix of the file that records the origin of the rows."""


@dataclass(frozen=True)
class ImportedDataset:
    """An imported data set.

    licence: as its owners state it, "" if they do not. revision: commit on the hub; "" for a folder.
    """

    path: Path
    rows: int
    columns: tuple[str, ...]
    licence: str
    revision: str


def import_dataset(
    name: str,
    output: Path | str,
    *,
    config: str | None = None,
    split: str = "test",
    revision: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> ImportedDataset:
    """Write a split of a Hugging Face data set to a Parquet file, and its origin to OUTPUT.source.json next to it.

    `name`, `config`, `split` and `revision` are as in `datasets.load_dataset`; a branch is recorded as its commit.
    `columns` gives new names of columns, such as {"question": "text"}; fields of records have names with dots. Raises a
    UsageError if `datasets` is not installed or a column is missing or repeated, a DataError if the data set cannot be
    loaded, and a WriteError.
    """
    loading = _datasets()
    output = Path(output)
    if output.suffix != ".parquet":
        raise UsageError(
            f"`-o {output}`: unsupported file type. The output is a Parquet file.",
            "Use a file name that ends in .parquet: -o PROMPTS.parquet",
        )
    commit = _commit(name, revision)
    try:
        loaded = loading.load_dataset(name, config, split=split, revision=commit or revision)
    except Exception as error:  # several libraries raise exceptions without a common class
        told = " ".join(str(error).split())
        raise DataError(
            f"The data set {name!r} could not be loaded: {told[:500] or type(error).__name__}",
            "Check its configurations and splits, and name them with --config and --split.",
        ) from error
    frame: pl.DataFrame = loaded.flatten().to_polars()
    frame = _rename_columns(frame, columns or {}, name)
    write_table(output, frame)
    licence = str(getattr(loaded.info, "license", "") or "")
    about = {
        "dataset": name,
        "config": config,
        "split": split,
        "revision": commit or revision,
        "licence": licence,
    }
    write_json(output.with_name(output.name + SOURCE), {**about, "rows": frame.height})
    return ImportedDataset(output, frame.height, tuple(frame.columns), licence, commit or "")


def _rename_columns(frame: pl.DataFrame, columns: Mapping[str, str], name: str) -> pl.DataFrame:
    absent = [old for old in columns if old not in frame.columns]
    if absent:
        raise unknown_column(
            name, absent[0], frame.columns, "Write the existing name first: --column OLD=NEW."
        )
    new = [columns.get(old, old) for old in frame.columns]
    if twice := next((one for one in new if new.count(one) > 1), None):
        raise UsageError(
            f"Two columns of {name} would have the name {twice!r}.",
            "Rename the other one, too, for example: --column text=old_text.",
        )
    return frame.rename(dict(columns))


def _commit(name: str, revision: str | None) -> str | None:
    """Return the current commit of a branch on the hub; None for folders."""
    if Path(name).exists():
        return None
    hub = import_module("huggingface_hub")
    try:
        return str(hub.HfApi().dataset_info(name, revision=revision).sha)
    except Exception as error:  # the client of the hub passes on exceptions of its transport
        raise DataError(
            f"Cannot get the data set {name!r} from the Hugging Face Hub: {' '.join(str(error).split())[:300]}",
            "Check the name and the network. If the data set is gated, log in with `hf auth login`. Or give a "
            "local folder.",
        ) from error


def _datasets() -> Any:
    try:
        return import_module("datasets")
    except ImportError as error:
        raise UsageError(
            f"This requires the package datasets, which is not installed, or is incomplete: {error}.",
            "Install it: pip install datasets",
        ) from error
