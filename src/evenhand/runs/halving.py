"""A batch that fails is halved, level by level, until the texts that cause it stand alone as error rows."""

from collections.abc import Callable
from typing import Any

import polars as pl

from evenhand.schema import EvenhandError, ModelError, ResponseError

HOPELESS = 20
"""So many texts failing one by one, with nothing answered in their batch, means the one asked is broken."""


def ask_in_halves(
    batch: pl.DataFrame,
    ask: Callable[[pl.DataFrame], pl.DataFrame],
    failed: Callable[[pl.DataFrame, str, str], pl.DataFrame],
    *,
    asked: object,
    code: ResponseError,
) -> pl.DataFrame:
    """The rows `ask` makes of a batch, with error rows for the texts on which it fails even alone.

    Arguments: batch: at least one text. ask: answers any part of it. failed: makes the error rows of a batch of
    one text, given a code and a message. asked: the model or classifier, to be named. code: of its failures, other
    than memory.
    Returns: all rows, in another order if the batch failed.
    Raises EvenhandError as `ask` raises it, with all rows that are settled in its `rows`, and ModelError if nothing
    at all is answered.
    Source: DESIGN.md, "The engine" (row errors are rows).
    """
    level = [batch]
    answered: list[pl.DataFrame] = []
    alone: list[pl.DataFrame] = []
    while level:
        halves: list[pl.DataFrame] = []
        for part in level:
            try:
                rows = ask(part)
            except EvenhandError as error:
                error.rows = _settled(batch, [*answered, *alone], error)
                raise
            # A backend is anybody's code: which exceptions it raises for a text cannot be known.
            except Exception as error:
                if part.height > 1:
                    middle = part.height // 2
                    halves += [part[:middle], part[middle:]]
                    continue
                alone.append(failed(part, _code(error, code), _told(error)))
                if not answered and len(alone) == HOPELESS:
                    raise ModelError(
                        f"{type(asked).__name__} failed on each of {HOPELESS} texts asked one by one; "
                        f"the last said {_told(error)}.",
                        "Nothing was recorded for these texts: mend it and resume the run.",
                    ) from error
            else:
                answered.append(rows)
        level = halves
    return pl.concat(answered + alone)


def rows_before(
    error: EvenhandError,
    batch: pl.DataFrame,
    asked: object,
    rows: Callable[[pl.DataFrame, Any], pl.DataFrame],
) -> None:
    """Note in an error the rows of what was settled of a batch before it, if the one asked says so itself.

    Arguments: batch: as it was asked. asked: the model or classifier. rows: makes them of a part of the batch and of
    the answers to it.
    """
    before = error.before
    if before is not None and before.by is asked and before.places:
        part = batch[before.places]
        error.rows = part, rows(part, before.answers)


def _settled(
    batch: pl.DataFrame, earlier: list[pl.DataFrame], error: EvenhandError
) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    found = [*earlier, *([error.rows[1]] if error.rows is not None else [])]
    if not found:
        return None
    rows = pl.concat(found)
    return batch.join(rows, on=rows.columns[0], how="semi", maintain_order="left"), rows


def _code(error: Exception, otherwise: ResponseError) -> str:
    # torch's error is known by its name: importing torch for a puppet would cost seconds.
    memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return str(ResponseError.OUT_OF_MEMORY if memory else otherwise)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]
