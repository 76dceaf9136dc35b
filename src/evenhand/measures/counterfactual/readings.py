"""Read each response as a number, a yes or no, a category, or the reason why it cannot be read."""

from collections.abc import Callable

import polars as pl

from evenhand.measures.columns import require_columns
from evenhand.measures.counterfactual.grammar import Outcome
from evenhand.measures.counterfactual.json_fields import read_field
from evenhand.measures.counterfactual.numbers import Reading, read_number, read_rating
from evenhand.measures.texts import refused
from evenhand.schema import ResponseError, UsageError, checked

READINGS = {
    "value": pl.Float64,  # a number; 1 or 0 for yes or no, and for refusals
    "category": pl.String,  # for JSON fields with texts
    "unread": pl.String,  # why a response could not be read
}
OTHER_KIND = "another kind of value than most answers"
_YES_NO = {"true": True, "false": False, "yes": True, "no": False}


@checked
def readings(frame: pl.DataFrame, outcome: Outcome) -> pl.DataFrame:
    """Return what was read from each response: one row per row of `frame`, with the columns of READINGS.

    Parameters
    ----------
    frame : polars.DataFrame
        ``continuation`` (null: no response, which is missing and not unread), and optionally ``error``.
    outcome : Outcome
        What to read.

    Raises
    ------
    DataError
        A column is missing.
    UsageError
        The outcome is not read from single responses.

    Notes
    -----
    All columns are null for a missing response. A refusal is read like any other text and contains no number. The kind
    of a JSON field (numbers, yes/no, or texts) is the one of most responses; others are unread. Texts such as "7" or
    "$85,000" are read as numbers if most responses have numbers.

    >>> frame = pl.DataFrame({"continuation": ["7/10", "I can't say.", None]})
    >>> readings(frame, Outcome("rating:1-10", "rating", (1.0, 10.0))).rows()
    [(7.0, None, None), (None, None, 'no number'), (None, None, None)]
    """
    require_columns(frame, ["continuation"], "readings")
    texts = frame["continuation"].cast(pl.String)
    if outcome.kind == "number":
        return _numbers(texts, read_number)
    if outcome.kind == "rating" and outcome.scale is not None:
        low, high = outcome.scale
        return _numbers(texts, lambda text: read_rating(text, low, high))
    if outcome.kind == "json":
        return _fields(texts, outcome)
    if outcome.kind == "length":
        return _table(texts.str.count_matches(r"\S*\w\S*").cast(pl.Float64))  # words separated by blanks
    if outcome.kind == "refusal":
        return _table(refusals(frame).cast(pl.Float64))
    raise UsageError(
        f"The outcome {outcome.name!r} cannot be computed from single responses.",
        "similarity and semantic compare responses with each other: use response_similarity.",
    )


def refusals(frame: pl.DataFrame) -> pl.Series:
    """Return True if the model or service refused, by words or error; null if a response is missing otherwise."""
    in_words = refused(frame["continuation"])
    if "error" not in frame.columns:
        return in_words
    by_service = frame["error"].cast(pl.String) == str(ResponseError.REFUSED)
    return pl.select(pl.when(by_service).then(True).otherwise(in_words)).to_series()


def _numbers(texts: pl.Series, read: Callable[[str], Reading]) -> pl.DataFrame:
    """Return readings of texts; each distinct text is read once."""
    distinct = texts.drop_nulls().unique(maintain_order=True)
    found = [read(text) for text in distinct]
    table = pl.DataFrame(
        {"text": distinct, "value": [one.value for one in found], "unread": [one.why for one in found]},
        schema={"text": pl.String, "value": pl.Float64, "unread": pl.String},
    )
    joined = pl.DataFrame({"text": texts}).join(table, on="text", how="left", maintain_order="left")
    return _table(joined["value"], joined["unread"])


def _fields(texts: pl.Series, outcome: Outcome) -> pl.DataFrame:
    found = [None if text is None else read_field(text, outcome.path) for text in texts]
    values = [None if one is None else one.value for one in found]
    kinds = [_kind(value) for value in values]
    counts = {kind: kinds.count(kind) for kind in ("number", "yes or no", "text")}
    kind = max(counts, key=lambda name: counts[name])
    rows: list[tuple[float | None, str | None, str | None]] = []
    for one, value, own in zip(found, values, kinds, strict=True):
        if one is None or value is None:
            rows.append((None, None, None if one is None else one.why))
        elif own != kind:
            rows.append((None, None, OTHER_KIND))
        elif kind == "number":
            rows.append((_field_number(value), None, None))
        elif kind == "yes or no":
            rows.append(
                (float(value if isinstance(value, bool) else _YES_NO[str(value).lower()]), None, None)
            )
        else:
            rows.append((None, " ".join(str(value).lower().split()), None))
    return pl.DataFrame(rows, schema=READINGS, orient="row")


def _kind(value: float | bool | str | None) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or (isinstance(value, str) and value.lower() in _YES_NO):
        return "yes or no"
    return "text" if isinstance(value, str) and _field_number(value) is None else "number"


def _field_number(value: float | bool | str) -> float | None:
    """Return the number in a field, which may also be a text that contains little else."""
    if not isinstance(value, str):
        return float(value)
    few = sum(letter.isalpha() for letter in value) <= 10
    return read_number(value).value if few else None


def _table(value: pl.Series, unread: pl.Series | None = None) -> pl.DataFrame:
    empty = pl.Series([None], dtype=pl.String).new_from_index(0, len(value))
    return pl.DataFrame(
        {"value": value, "category": empty, "unread": empty if unread is None else unread}, schema=READINGS
    )
