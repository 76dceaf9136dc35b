"""Which responses hang together, and which row stands for a response that belongs to several groups."""

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.measures.columns import require_columns
from evenhand.schema import DataError

Codes = npt.NDArray[np.int64]


def cluster_column(frame: pl.DataFrame, cluster: str | None, measure: str) -> str | None:
    """The column whose rows hang together: `cluster`, else prompt_id if it is there, else None.

    Raises DataError if the column is absent or empty in some rows.

    >>> cluster_column(pl.DataFrame({"prompt_id": ["a", "a"]}), None, "m")
    'prompt_id'
    """
    if cluster is not None:
        require_columns(frame, [cluster], measure)
    elif "prompt_id" in frame.columns:
        cluster = "prompt_id"
    if cluster is not None and frame[cluster].null_count():
        raise DataError(f"{measure} found rows without {cluster}.", "Fill or drop these rows, or the column.")
    return cluster


def cluster_codes(frame: pl.DataFrame, cluster: str | None) -> Codes:
    """A whole number for each row, equal within a cluster; every row its own if `cluster` is None.

    >>> cluster_codes(pl.DataFrame({"prompt_id": ["b", "a", "b"]}), "prompt_id").tolist()
    [1, 0, 1]
    """
    if cluster is None:
        return np.arange(frame.height)
    return frame[cluster].rank("dense").to_numpy().astype(np.int64) - 1


def responses_once(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per response, where a response about two groups is a row in each.

    That can be told from prompt_id and sample together; a frame without these two is taken as it is.

    >>> frame = pl.DataFrame({"prompt_id": ["a", "a"], "sample": [0, 0], "group": ["x", "y"]})
    >>> responses_once(frame).height
    1
    """
    keys = ["prompt_id", "sample"]
    if not set(keys) <= set(frame.columns):
        return frame
    return frame.unique(keys, keep="first", maintain_order=True)
