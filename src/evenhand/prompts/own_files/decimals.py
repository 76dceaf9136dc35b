"""Read numbers as people write them: decimal point or comma, thousands separators, currencies and percent signs."""

import polars as pl

from evenhand.schema import DataError

_EXPONENT = r"(?:[eE][+-]?\d+)?"
_THREES = r"[1-9]\d{{0,2}}(?:{}\d{{3}})+"
_INDIAN = r"[1-9]\d?(?:,\d{2})+,\d{3}"


def _body(decimal: str, thousands: tuple[str, ...], *further: str) -> str:
    whole = "|".join([r"\d+", *(_THREES.format(mark) for mark in thousands), *further])
    return rf"(?:{whole})?(?:{decimal}\d+)?{_EXPONENT}"


_BODIES = {
    ".": _body(r"\.", (",", " ", "'"), _INDIAN),
    ",": _body(",", (r"\.", " ", "'")),
}
_SIGN = r"[+-]?"
PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
MARKS = {mark: f"^{_SIGN}{body}$" for mark, body in _BODIES.items()}
"""Pattern of a number by its decimal mark; the other mark, spaces or apostrophes may separate thousands."""
CURRENCY = (
    r"(?:[A-Z]{0,3}\p{Sc}|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BGN|TRY|RUB|UAH|BRL|MXN"
    r"|ZAR|KRW|ILS|SGD|HKD|THB|[Ee]uros?|[Dd]ollars?|Fr\.|SFr\.|kr\.?|zł|Kč|Ft)"
)
"""Pattern of a currency: a sign, alone or after letters (US$), a code, or a word."""
PERCENT = "%‰"
_UNIT = f"(?:{CURRENCY}|[{PERCENT}])"
_EMPTY_DECIMALS = r"([.,])[-–—]{1,2}$"
"""Pattern of the dash in "38.100,-", which replaces decimals."""
NUMBERS = (
    rf"^{_SIGN}(?:{CURRENCY} ?)?{_SIGN}(?:{_BODIES['.']}|{_BODIES[',']})(?:[.,][-–—]{{1,2}})?(?: ?{_UNIT})?$"
)
"""Pattern of a number with any decimal mark, with or without a unit."""
_SPELLINGS = {"€": "EUR EURO EUROS", "£": "GBP", "$": "USD US$ DOLLAR DOLLARS", "¥": "JPY", "₹": "INR"}
_SPELLINGS |= {"CHF": "FR. SFR.", "KR": "KR.", "PLN": "ZŁ", "CZK": "KČ", "HUF": "FT"}
_SAME = {spelling: sign for sign, spellings in _SPELLINGS.items() for spelling in spellings.split()}
"""Currencies in capitals, with the sign that represents all spellings."""


def plain_numbers(
    values: pl.Series, path: object, *, decimal: str | None = None, notes: list[str] | None = None
) -> pl.Series:
    """Return a column with its numbers in standard notation, read by one convention for the whole column.

    A currency or a percent sign is removed; "12 %" becomes 12. A value that is not a number is returned unchanged.

    Parameters
    ----------
    values : Series of String
        Another type is returned unchanged.
    path
        Name of the table in errors.
    decimal : "." or ",", optional
        The decimal mark. Default: the mark that fits all numbers of the column. For amounts of money, a mark that would
        give three decimals separates thousands: "$74,500" is 74500.
    notes : list of str, optional
        Receives sentences on how units were read.

    Raises
    ------
    DataError
        Numbers fit both marks with different meanings (41.000 in a column without other decimals), there are several
        currencies, or percentages are mixed with numbers without a percent sign. The error names the row.

    >>> plain_numbers(pl.Series("pay", ["1.250,5", "3"]), "a.csv").to_list()
    ['1250.5', '3']
    >>> plain_numbers(pl.Series("pay", ["$74,500", "$68,000"]), "a.csv").to_list()
    ['74500', '68000']
    """
    if values.dtype != pl.String:
        return values
    words = _normalise_characters(values)
    if decimal is None and words.str.contains(PLAIN).fill_null(True).all() and not _has_only_threes(words):
        return words
    parts = _split(words)
    amounts = parts["number"]
    fits_a_mark = amounts.str.contains(r"\d") & (
        amounts.str.contains(MARKS["."]) | amounts.str.contains(MARKS[","])
    )
    fits_a_mark = fits_a_mark.fill_null(False)
    numbers = parts.with_columns(word=words).with_row_index("row", 1).filter(fits_a_mark)
    in_currency = _check_units(numbers, values.name, path, notes)
    known = amounts.filter(fits_a_mark)
    readings = [decimal] if decimal is not None else _readings(known, in_currency)
    if len(readings) == 2:
        by_point, by_comma = (_to_plain_decimals(known, mark) for mark in MARKS)
        differ = (by_point != by_comma).arg_true()
        if len(differ):
            place = int(differ[0])
            row = int(fits_a_mark.arg_true()[place]) + 1
            raise DataError(
                f"{path}, row {row}: '{values.name}' is {words[row - 1]!r}, which can mean {by_point[place]} or "
                f"{by_comma[place]}.",
                "Give the decimal mark: --decimal . or --decimal ,",
            )
    if not readings:
        return words
    mark = readings[0]
    fitting = amounts.str.contains(MARKS[mark]).fill_null(False) & fits_a_mark
    return (
        pl.select(pl.when(fitting).then(_to_plain_decimals(amounts, mark)).otherwise(words))
        .to_series()
        .alias(values.name)
    )


def _normalise_characters(values: pl.Series) -> pl.Series:
    """Return texts without surrounding spaces, and with plain spaces, apostrophes and minus signs inside."""
    return (
        values.str.strip_chars()
        .str.replace_all("[\u00a0\u2007\u2009\u202f]", " ")
        .str.replace_all("[\u2019\u02bc]", "'")
        .str.replace_all("\u2212", "-")
    )


def _split(words: pl.Series) -> pl.DataFrame:
    """Return `number` (the text without its unit) and `unit` (one sign for all spellings, or null) of each text."""
    form = (
        rf"^(?<sign>{_SIGN})(?<before>{CURRENCY})? ?(?<body>{_SIGN}[\d.,' eE+-]*?(?:[.,][-–—]{{1,2}})?)"
        rf" ?(?<after>{_UNIT})?$"
    )
    has_no_unit = (words.str.contains(MARKS["."]) | words.str.contains(MARKS[","])).fill_null(True)
    rest = words.set(has_no_unit, None)
    parts = pl.select(pl.lit(rest).str.extract_groups(form).struct.unnest())
    number = (pl.col("sign") + pl.col("body")).str.replace(_EMPTY_DECIMALS, "${1}00")
    unit = pl.coalesce("before", "after").str.to_uppercase().replace(_SAME)
    has_two_units = pl.col("before").is_not_null() & pl.col("after").is_not_null()
    return parts.select(
        number=pl.when(has_two_units).then(words).otherwise(pl.coalesce(number, words)),
        unit=pl.when(~has_two_units).then(unit),
    )


def _check_units(numbers: pl.DataFrame, name: str, path: object, notes: list[str] | None) -> bool:
    """Return whether the column contains amounts of money; raise DataError for units that cannot be compared.

    numbers: row, word, number and unit of each value that is a number.
    """
    with_unit = numbers.filter(pl.col("unit").is_not_null())
    if with_unit.is_empty():
        return False
    bare = numbers.filter(pl.col("unit").is_null())
    first = with_unit.row(0, named=True)
    unit = first["unit"]
    is_share = unit in PERCENT
    other = with_unit.filter(pl.col("unit") != unit)
    if other.height or (is_share and bare.height):
        odd = (other if other.height else bare).row(0, named=True)
        raise DataError(
            f"{path}, row {odd['row']}: '{name}' is {odd['word']!r}, and in row {first['row']} it is "
            f"{first['word']!r}: the units differ.",
            "Write all values of the column in the same unit.",
        )
    if notes is not None and is_share:
        notes.append(
            f"Column {name} is read as percentages: {first['word']!r} is the number {first['number']}."
        )
    elif notes is not None:
        added = f"; {bare.height:,} of {numbers.height:,} values have no currency" if bare.height else ""
        notes.append(f"Column {name} is read as amounts of money ({unit}){added}.")
    return not is_share


def _readings(known: pl.Series, in_currency: bool) -> list[str]:
    """Return the decimal marks that fit all numbers; for amounts of money, without those that give three decimals."""
    fitting = [mark for mark, form in MARKS.items() if known.str.contains(form).all()]
    if not in_currency or len(fitting) < 2:
        return fitting
    usual = [mark for mark in fitting if not known.str.contains(rf"\{mark}\d{{3}}$").any()]
    return usual or fitting


def _has_only_threes(words: pl.Series) -> bool:
    """Return whether each point in the numbers is followed by exactly three digits: 41.000."""
    with_point = words.filter(words.str.contains(".", literal=True).fill_null(False))
    return len(with_point) > 0 and bool(with_point.str.contains(r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$").all())


def _to_plain_decimals(words: pl.Series, mark: str) -> pl.Series:
    thousands = r"[. ']" if mark == "," else r"[, ']"
    return words.str.replace_all(thousands, "").str.replace(",", ".", literal=True)
