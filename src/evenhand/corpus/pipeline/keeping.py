"""Store the counts of ranks in one file each, and add them."""

from collections.abc import Sequence
from pathlib import Path

from evenhand.corpus.counting import Counts, merged, read_counts
from evenhand.schema import DataError

AT_ONCE = 16
"""Number of files that are added at a time: with two, large sums would be added again and
again; with all, memory would run out.
"""


def rank_file(folder: str, rank: int) -> str:
    """Return the path or URL of the file with the counts of a rank (unit of work).

    >>> rank_file("s3://bucket/counts", 7)
    's3://bucket/counts/00007.parquet'
    """
    return f"{folder.rstrip('/')}/{rank:05d}.parquet"


def kept_ranks(folder: str, ranks: int) -> set[int]:
    """Return the ranks (of `ranks`) with counts in a folder; raises DataError if the folder cannot be read."""
    there = set(_names(folder))
    return {rank for rank in range(ranks) if rank_file("", rank).lstrip("/") in there}


def merged_ranks(folder: str, ranks: int) -> Counts:
    """Add the counts that the tasks of a pipeline stored in a folder.

    Use it after a pipeline with `TermCounter` if you do not run `CountsMerger`.

    Parameters
    ----------
    folder : str
        Folder with one file per task (rank).
    ranks : int
        Number of tasks.

    Returns
    -------
    Counts
        The total counts. The order of counting does not matter.

    Raises
    ------
    DataError
        Files of some tasks are missing (the message names them) or damaged.
    """
    missing = sorted(set(range(ranks)) - kept_ranks(folder, ranks))
    if missing or not ranks:
        raise DataError(
            f"{folder} contains the counts of {ranks - len(missing):,} of {ranks:,} ranks. Missing: "
            f"{_in_words(missing) or 'all'}.",
            "Run the same command again to count the missing ranks.",
        )
    sums: Sequence[Counts | str] = [rank_file(folder, rank) for rank in range(ranks)]
    while len(sums) > 1 or isinstance(sums[0], str):
        sums = [
            merged([read_counts(part) if isinstance(part, str) else part for part in sums[start:][:AT_ONCE]])
            for start in range(0, len(sums), AT_ONCE)
        ]
    return sums[0]


def _in_words(ranks: Sequence[int]) -> str:
    more = f", ... ({len(ranks):,} in all)" if len(ranks) > 20 else ""
    return ", ".join(map(str, ranks[:20])) + more


def _names(folder: str) -> list[str]:
    try:
        if "://" not in folder:
            return [path.name for path in Path(folder).iterdir()]
        import fsspec

        system, path = fsspec.core.url_to_fs(folder)
        system.invalidate_cache()
        return [name.rstrip("/").rpartition("/")[2] for name in system.ls(path, detail=False)]
    except FileNotFoundError:
        return []
    except Exception as error:  # every storage has its own exceptions
        reason = str(error).split("\n")[0].rstrip(".")
        raise DataError(
            f"Cannot list {folder}: {type(error).__name__}: {reason}.",
            "Check the URL and the credentials for the object storage.",
        ) from error
