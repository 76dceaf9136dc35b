"""Numbers written as people write them: with a decimal point or a decimal comma, and marks between thousands."""

import polars as pl

from evenhand.schema import DataError

PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
POINT = r"^[+-]?(\d+|[1-9]\d{0,2}(,\d{3})+)?(\.\d+)?([eE][+-]?\d+)?$"
"""A decimal point, and commas between thousands if any."""
COMMA = r"^[+-]?(\d+|[1-9]\d{0,2}([. ]\d{3})+)?(,\d+)?([eE][+-]?\d+)?$"
"""A decimal comma, and points or blanks between thousands if any."""
NUMBERS = f"{POINT}|{COMMA}"
"""A number, by whichever mark."""
MARKS = {".": POINT, ",": COMMA}


def plain_numbers(values: pl.Series, path: object, *, decimal: str | None = None) -> pl.Series:
    """The same column with numbers as computers write them; what is no number either way stays as it is.

    values: texts. decimal: "." or ","; None: whichever all numbers of the column fit.
    Raises DataError where all numbers fit both and mean something else by each, as 41.000 where no number has other
    decimals.

    >>> plain_numbers(pl.Series("pay", ["1.250,5", "3"]), "a.csv").to_list()
    ['1250.5', '3']
    """
    if values.dtype != pl.String:
        return values
    words = values.str.strip_chars().str.replace_all("\u00a0|\u202f", " ")
    if decimal is None and words.str.contains(PLAIN).fill_null(True).all() and not _odd(words):
        return words
    known = words.filter(
        words.str.contains(POINT).fill_null(False) | words.str.contains(COMMA).fill_null(False)
    )
    fits = {mark: bool(known.str.contains(pattern).all()) for mark, pattern in MARKS.items()}
    readings = [decimal] if decimal is not None else [mark for mark, fit in fits.items() if fit]
    if len(readings) == 2:
        by_point, by_comma = (_converted(known, mark) for mark in MARKS)
        differ = (by_point != by_comma).arg_true()
        if len(differ):
            value = known[int(differ[0])]
            row = int((words == value).arg_true()[0]) + 1
            raise DataError(
                f"{path}, row {row}: '{values.name}' is {value!r}, which may be {by_point[int(differ[0])]} or "
                f"{by_comma[int(differ[0])]}.",
                "Say which mark is the decimal one: --decimal . or --decimal ,",
            )
    if not readings:
        return words
    pattern = MARKS[readings[0]]
    fitting = words.str.contains(pattern).fill_null(False)
    return (
        pl.select(pl.when(fitting).then(_converted(words, readings[0])).otherwise(words))
        .to_series()
        .alias(values.name)
    )


def _odd(words: pl.Series) -> bool:
    """Whether all numbers that have a point have it before exactly three digits: 41.000."""
    with_point = words.filter(words.str.contains(".", literal=True).fill_null(False))
    return len(with_point) > 0 and bool(with_point.str.contains(r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$").all())


def _converted(words: pl.Series, mark: str) -> pl.Series:
    thousands = r"[. ]" if mark == "," else ","
    return words.str.replace_all(thousands, "").str.replace(",", ".", literal=True)
