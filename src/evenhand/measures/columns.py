"""Prepare tables for measures: required columns, perplexities, outcomes of classified responses, and clusters."""

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import polars as pl

from evenhand.schema import LARGEST, DataError, UsageError, checked_kinds
from evenhand.stats import Codes

Per = Literal["sentence", "token"]
NUMBERS = frozenset(
    {
        *("perplexity", "log_perplexity", "log_likelihood", "token_count", "score", "prompt_toxicity"),
        *(
            "before",
            "after",
            "log_likelihood_more",
            "log_likelihood_less",
            "token_count_more",
            "token_count_less",
            "perplexity_more",
            "perplexity_less",
        ),
    }
)
"""Columns that contain numbers, in every measure that reads them."""
LISTS = ("token_ids", "token_log_likelihoods")
"""Prefixes of columns that contain a list of numbers in each row."""
IN_LOGS = frozenset({"perplexity", "perplexity_more", "perplexity_less"})
"""Columns whose logarithm is used, so that very large numbers are allowed."""
THRESHOLD = "Put scores through a threshold first: pl.col('score') >= 0.5."
RATES_OR_NUMBERS = f"{THRESHOLD} If the outcomes are numbers, use numbers=True."
LARGEST_LOG = 1e15
"""Largest absolute value of a log-likelihood or log-perplexity, in nats: no text is less likely."""
UNNAMED = (pl.Binary, pl.Object, pl.Duration, pl.Time, pl.Decimal)
"""Types of columns that cannot contain names: their values cannot be compared, or cannot be shown as text."""
MOST_COUNTED = 2**53
"""Largest count: floating-point numbers are exact up to it."""
UNLIKE = frozenset({"annotations"})
"""Columns that `check_kinds` does not check, because the functions that read them check their values."""


def typed(kind: type[pl.DataType], names: str) -> dict[str, type[pl.DataType]]:
    """Return a type for each of several columns, for the schema of a table. `names` are separated by blanks.

    >>> typed(pl.Int64, "n n_missing")
    {'n': Int64, 'n_missing': Int64}
    """
    return dict.fromkeys(names.split(), kind)


@checked_kinds
def require_columns(
    frame: pl.DataFrame, columns: Sequence[str], measure: str, *, of_any_kind: bool = False
) -> None:
    """Check that a table has rows and the columns that a measure needs, with the right kinds of values.

    Call it first in your own measure, so that users get a clear error.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    columns : sequence of str
        Required columns.
    measure : str
        Name of the measure, for the error message.
    of_any_kind : bool, default False
        True: do not check the kinds of values.

    Raises
    ------
    DataError
        `frame` is not a polars DataFrame or has no rows, or a column is missing or contains values of another
        kind. The message names the columns.

    Notes
    -----
    Columns such as perplexity or score (NUMBERS) must contain numbers. token_ids and token_log_likelihoods must contain
    lists of numbers, and all others names or texts. Null is always allowed.

    Examples
    --------
    >>> require_columns(pl.DataFrame({"score": [1.0]}), ["group"], "my_measure")
    Traceback (most recent call last):
    ...
    evenhand.schema.errors.DataError: my_measure needs the column group; the table has score.
    ...
    """
    if not isinstance(frame, pl.DataFrame):
        raise DataError(
            f"{measure} needs a polars DataFrame, not {type(frame).__name__}.", "Give pl.DataFrame(...)."
        )
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise DataError(
            f"{measure} needs the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}; "
            f"the table has {', '.join(frame.columns) or 'no columns'}.",
            "Rename your columns to these names, or add them.",
        )
    if frame.is_empty():
        raise DataError(f"{measure}: the table has no rows.", "Check your selection (axis, limit, filters).")
    if not of_any_kind:
        check_kinds(frame, columns, measure)


def require_keys(frame: pl.DataFrame, columns: Sequence[str], measure: str) -> None:
    """Check that a table has rows and columns of names or numbers, none of which is missing in a row.

    Raises DataError, which names the column and the number of rows without a value.
    """
    require_columns(frame, columns, measure)
    for name in columns:
        if absent := frame[name].null_count():
            raise DataError(
                f"{measure}: the column {name} is empty in {absent:,} of {frame.height:,} rows.",
                "Fill in or remove these rows.",
            )


def require_texts(frame: pl.DataFrame, columns: Sequence[str], measure: str, *, null: bool = False) -> None:
    """Check that a table has rows and columns of texts, none of which is missing unless `null` allows it.

    Raises DataError, which names the column.
    """
    (require_columns if null else require_keys)(frame, columns, measure)
    for name in columns:
        if frame.schema[name] not in (pl.String, pl.Null):
            raise DataError(
                f"{measure} needs a text in each row of the column {name}, which contains {frame.schema[name]}.",
                f"Convert it first: pl.col({name!r}).cast(pl.String), in every table.",
            )


def require_counts(frame: pl.DataFrame, columns: Sequence[str], measure: str, *, null: bool = False) -> None:
    """Check that a table has rows and columns of counts, which are whole numbers of 0 or more.

    Nulls are refused unless `null` allows them. Raises DataError, which names the column and the first invalid row.
    """
    require_columns(frame, columns, measure, of_any_kind=True)
    for name in columns:
        values = frame[name]
        if not (values.dtype.is_numeric() or values.dtype == pl.Null):
            raise DataError(
                f"{measure} needs counts in the column {name}, which contains {values.dtype}.",
                f"Convert it first: pl.col({name!r}).cast(pl.Int64).",
            )
        number = values.cast(pl.Float64)
        fits = number.is_between(0, MOST_COUNTED) & (number == number.floor())
        _refuse_first(values, ~fits.fill_null(null), measure, f"a count from 0 to {MOST_COUNTED:,}")


def check_shares(frame: pl.DataFrame, columns: Iterable[str], measure: str, *, highest: float = 1.0) -> None:
    """Check that all known values of columns are numbers from 0 to `highest`; null and NaN are missing.

    Raises DataError, which names the column and the first row with another number.
    """
    for name in columns:
        check_kinds(frame, [name], measure, numbers=True)
        known = frame[name].cast(pl.Float64).fill_nan(None)
        outside = ~known.is_between(0.0, highest).fill_null(True)
        _refuse_first(frame[name], outside, measure, f"a number from 0 to {highest:g}, or null")


def check_flags(frame: pl.DataFrame, columns: Iterable[str], measure: str, hint: str | None = None) -> None:
    """Check that all known values of columns are True, False, 1 or 0; null and NaN are missing.

    Raises DataError, which names the column and the first row with another value.
    """
    for name in columns:
        values = frame[name]
        if values.dtype in (pl.Boolean, pl.Null):
            continue
        if not values.dtype.is_numeric():
            raise DataError(
                f"{measure} needs True or False (1 or 0) in the column {name}, which contains {values.dtype}.",
                hint or f'Compare it first, for example pl.col("{name}") == "yes".',
            )
        known = values.cast(pl.Float64).fill_nan(None)
        strange = ~known.is_in([0.0, 1.0]).fill_null(True)
        _refuse_first(values, strange, measure, "1, 0 or null", hint)


def _refuse_first(
    values: pl.Series, strange: pl.Series, measure: str, expected: str, hint: str | None = None
) -> None:
    """Raise a DataError for the first row of a column that is marked in `strange`, if there is one."""
    row = strange.arg_max() if strange.any() else None
    if row is not None:
        count = int(strange.sum())
        more = f" ({count:,} such rows)" if count > 1 else ""
        raise DataError(
            f"{measure} found {_format_value(values[row])} in row {row} of the column {values.name}{more}; "
            f"it must be {expected}.",
            hint or "Correct or drop these rows. Rows are numbered from 0.",
        )


def _format_value(value: object) -> str:
    return "null" if value is None else f"{value:g}" if isinstance(value, float) else repr(value)


def check_kinds(frame: pl.DataFrame, columns: Iterable[str], measure: str, *, numbers: bool = False) -> None:
    """Raise a DataError if a column of `frame` contains values of the wrong kind.

    With `numbers`, all of `columns` must contain numbers, regardless of their names.
    """
    for name in columns:
        if name in frame.columns:
            _check_kind(frame, name, measure, numbers)


def _check_kind(frame: pl.DataFrame, name: str, measure: str, numbers: bool) -> None:
    kind = frame.schema[name]
    if kind == pl.Null or name in UNLIKE:
        return
    if name.startswith(LISTS):
        fits = (isinstance(kind, pl.List | pl.Array) and kind.inner.is_numeric()) or kind == pl.List(pl.Null)
        expected = "a list of numbers"
    elif numbers or name in NUMBERS:
        fits, expected = kind.is_numeric() or kind == pl.Boolean, "a number"
    else:
        fits, expected = not (kind.is_nested() or kind in UNNAMED), "a name or a text"
    if fits and kind.is_float() and name not in IN_LOGS:
        values, most = frame[name], LARGEST_LOG if name.startswith("log_") else LARGEST
        # each measure decides about infinity and NaN; most count them as missing
        if (values.abs() > most).any():
            large = (values.abs() > most) & values.is_finite()
            _refuse_first(values, large, measure, f"from -{most:g} to {most:g}")
    if not fits:
        raise DataError(
            f"{measure} needs {expected} in each row of the column {name}, which contains {kind}.",
            f"Convert it first: pl.col({name!r}).cast(...); mark what is missing as null.",
        )


def finite(column: pl.Expr) -> pl.Expr:
    """Return a column as Float64, with null for values that are not finite numbers."""
    number = column.cast(pl.Float64)
    return pl.when(number.is_finite()).then(number).alias(column.meta.output_name())


def with_log_perplexity(frame: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Return the frame with `log_perplexity` (nats per token), computed from other columns if it is absent.

    It is computed from perplexity, or from log_likelihood and token_count. Values that are not finite numbers become
    null, which the caller counts as missing. Raises DataError if these columns are missing or a perplexity is not
    positive.

    >>> with_log_perplexity(pl.DataFrame({"perplexity": [1.0, None]}), "m")["log_perplexity"].to_list()
    [0.0, None]
    """
    names = frame.columns
    check_kinds(frame, ("log_perplexity", "perplexity", "log_likelihood", "token_count"), measure)
    if "log_perplexity" in names:
        value = pl.col("log_perplexity").cast(pl.Float64)
    elif "perplexity" in names:
        worst = frame.select(pl.col("perplexity").cast(pl.Float64).fill_nan(None).min()).item()
        if worst is not None and worst <= 0:
            raise DataError(
                f"{measure}: a perplexity must be above 0, got {worst}.",
                "If the column contains logarithms, name it log_perplexity. Mark failed rows as null or NaN.",
            )
        value = pl.col("perplexity").cast(pl.Float64).log()
    elif "log_likelihood" in names and "token_count" in names:
        tokens = pl.col("token_count").cast(pl.Float64)
        value = pl.when(tokens > 0).then(-pl.col("log_likelihood").cast(pl.Float64) / tokens)
    else:
        raise DataError(
            f"{measure} needs the column perplexity, or log_perplexity, or log_likelihood and token_count (found: "
            f"{', '.join(names)}).",
            "Add one of them, or rename your column.",
        )
    return frame.with_columns(pl.when(value.is_finite()).then(value).alias("log_perplexity"))


def with_surprisal(frame: pl.DataFrame, measure: str, per: Per | None = None) -> tuple[pl.DataFrame, Per]:
    """Return the frame with `surprisal` (nats), and the unit of text that was used.

    With `per` "sentence", it is minus the log-likelihood of the sentence, which does not depend on the tokenizer. With
    "token", it is the log-perplexity. Default: "sentence" if there is a log_likelihood. Values that are not finite
    numbers become null. Raises DataError if the needed columns are missing, and UsageError for another `per`.

    >>> with_surprisal(pl.DataFrame({"log_likelihood": [-3.0, None]}), "m")[0]["surprisal"].to_list()
    [3.0, None]
    """
    taken: Per = per or ("sentence" if "log_likelihood" in frame.columns else "token")
    if taken not in ("sentence", "token"):
        raise UsageError(f'{measure}: per must be "sentence", "token" or None, got {per!r}.')
    if taken == "token":
        frame = with_log_perplexity(frame, measure)
        return frame.with_columns(surprisal=pl.col("log_perplexity")), taken
    require_columns(frame, ["log_likelihood"], f'{measure} with per="sentence"')
    value = -pl.col("log_likelihood").cast(pl.Float64)
    return frame.with_columns(surprisal=pl.when(value.is_finite()).then(value)), taken


def negative_outcomes(frame: pl.DataFrame, measure: str, hint: str = THRESHOLD) -> pl.DataFrame:
    """Return the rows of `frame` with `axis` (null if the frame has none), `group` and `negative` (1, 0 or null).

    Other columns and the order of rows are unchanged. A null or NaN outcome is null, which counts as missing. Raises
    DataError if columns, rows, group names or all outcomes are missing, or if an outcome is not 0 or 1. The error has
    `hint`.

    >>> negative_outcomes(pl.DataFrame({"group": ["a", "b"], "negative": [True, None]}), "m")["negative"].to_list()
    [1.0, None]
    """
    checked = outcomes_of(frame, measure)
    check_flags(checked, ["negative"], measure, hint)
    return checked


def outcomes_of(frame: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Return the same as `negative_outcomes`, but with any finite number as outcome: a share of samples, or a score.

    >>> outcomes_of(pl.DataFrame({"group": ["a", "b"], "negative": [0.25, 3.0]}), "m")["negative"].to_list()
    [0.25, 3.0]
    """
    require_columns(frame, ["group", "negative"], measure)
    if "axis" in frame.columns and frame["axis"].null_count() == frame.height:
        frame = frame.drop("axis")
    require_keys(frame, [name for name in ("axis", "group") if name in frame.columns], measure)
    if not (frame.schema["negative"].is_numeric() or frame.schema["negative"] in (pl.Boolean, pl.Null)):
        raise DataError(
            f"{measure} needs 1 (negative) or 0 in the column negative, which contains {frame.schema['negative']}.",
            'Compare the label first: pl.col("label") == "negative".',
        )
    axis = pl.col("axis").cast(pl.String) if "axis" in frame.columns else pl.lit(None, pl.String)
    checked = frame.with_columns(
        axis.alias("axis"),
        pl.col("group").cast(pl.String),
        pl.col("negative").cast(pl.Float64).fill_nan(None),
    )
    if checked["negative"].null_count() == checked.height:
        raise DataError(
            f"{measure}: the column negative is empty in all rows.",
            "Classify the responses first: 1 for negative, 0 for others.",
        )
    infinite = checked["negative"].is_infinite().fill_null(False)
    _refuse_first(checked["negative"], infinite, measure, "a finite number", "Mark failed rows as null.")
    return checked


def cluster_column(frame: pl.DataFrame, cluster: str | None, measure: str) -> str | None:
    """Return the column with the sampling unit: `cluster`, else prompt_id if present, else None.

    Raises DataError if the column is missing or has empty values.

    >>> cluster_column(pl.DataFrame({"prompt_id": ["a", "a"]}), None, "m")
    'prompt_id'
    """
    if cluster is None and "prompt_id" in frame.columns:
        cluster = "prompt_id"
    if cluster is not None:
        require_keys(frame, [cluster], measure)
    return cluster


def cluster_codes(frame: pl.DataFrame, cluster: str | None) -> Codes:
    """Return an integer for each row that is equal within a cluster; without `cluster`, each row has its own.

    >>> cluster_codes(pl.DataFrame({"prompt_id": ["b", "a", "b"]}), "prompt_id").tolist()
    [1, 0, 1]
    """
    if cluster is None:
        return np.arange(frame.height)
    return frame[cluster].rank("dense").to_numpy().astype(np.int64) - 1


def responses_once(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one row per response, if a response about two groups has two rows.

    Responses are identified by prompt_id and sample. A frame without both columns is returned unchanged.

    >>> frame = pl.DataFrame({"prompt_id": ["a", "a"], "sample": [0, 0], "group": ["x", "y"]})
    >>> responses_once(frame).height
    1
    """
    keys = ["prompt_id", "sample"]
    if not set(keys) <= set(frame.columns):
        return frame
    return frame.unique(keys, keep="first", maintain_order=True)
