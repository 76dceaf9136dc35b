"""The columns of the stored tables as Polars schemas, with `Measurement` and `ResponseError`.

prompts ──► requests ──► responses ──► labels ──► measurements ──► findings

Missing values are data: `ResponseError` codes are counted per group. They never become 0 and are never dropped
silently.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

import polars as pl
from polars._typing import PolarsDataType

PROMPT_KEYS = {"prompt_id": pl.String, "text": pl.String}
"""Columns of every table of prompts. Optional columns that the engine knows: `context` (String), `span_start` and
`span_end` (UInt32, characters), `start_token` (String; see `Texts`). All others describe groups and are passed on:
`axis`, `bucket`, `descriptor`, `noun`, `gender`, `template`, `cluster`, ...
"""

RESPONSES: dict[str, PolarsDataType] = {
    "request_id": pl.String,
    "sample": pl.UInt16,
    "text": pl.String,
    "log_likelihood": pl.Float64,  # natural log, summed over the scored tokens
    "token_count": pl.UInt32,  # scored tokens
    "token_ids": pl.List(pl.Int32),  # null unless the request keeps tokens
    "token_log_likelihoods": pl.List(pl.Float32),
    "token_starts": pl.List(pl.UInt32),  # character offsets in the prompt text
    "finish": pl.String,  # why a continuation ended: end, stop, length, cut, longer; null for a scored text
    "error": pl.String,  # a ResponseError code; null if the row is valid
    "detail": pl.String,  # message for the code
}

LABELS: dict[str, PolarsDataType] = {
    "text_id": pl.String,  # hash of the classified text, with its context if the classifier reads one
    "label": pl.String,  # the chosen class; null if the classifier gives only scores
    "score": pl.Float64,  # how harmful, on the classifier's own scale; null if no label is harmful
    "negative": pl.Boolean,  # its verdict at its own threshold; null if no label is harmful
    "scores": pl.List(pl.Float32),  # one score for each of the classifier's labels, in its order
    "error": pl.String,  # a ResponseError code; null if the row is valid
    "detail": pl.String,
}
"""Columns of labels: one row per distinct text and classifier. Identical texts are classified once, after any
prompt.
"""

MEASUREMENTS = {
    "benchmark": pl.String,
    "measure": pl.String,
    "axis": pl.String,  # null: all axes together
    "group": pl.String,  # null: the axis as a whole
    "stratum": pl.String,  # what is held fixed (a template, a task); null: everything pooled
    "estimate": pl.Float64,
    "low": pl.Float64,  # 95% interval unless the measure's card states otherwise
    "high": pl.Float64,
    "n": pl.Int64,  # number of rows behind the estimate
    "n_missing": pl.Int64,  # number of rows without a value
    "null": pl.Float64,  # the value of an unbiased model
    "p": pl.Float64,
    "q": pl.Float64,  # p adjusted for the tests of its family
    "ideal": pl.Float64,
    "minimum_detectable": pl.Float64,  # smallest effect that this sample can detect, in `effect_unit`
    "unit": pl.String,  # unit of estimate, low, high, null and ideal
    "effect_unit": pl.String,  # unit of minimum_detectable if it is another quantity; otherwise equal to unit
    "axis_p": pl.Float64,  # for a group: p of its axis; for an axis: p adjusted by its measure
    # number of independent units behind the estimate: prompts, templates, nouns, clusters
    "n_units": pl.Int64,
    "obstacle": pl.String,  # reason why no effect is detectable
}

FINDINGS = {
    "benchmark": pl.String,
    "measure": pl.String,
    "axis": pl.String,
    "group": pl.String,
    "stratum": pl.String,
    "verdict": pl.String,  # biased / not detected / not measurable
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "null": pl.Float64,
    "q": pl.Float64,
    "minimum_detectable": pl.Float64,
    "note": pl.String,
    "direction": pl.String,  # of a biased row: worse / better, or above / below if neither side is harmful
}

HEADLINES = {
    "benchmark": pl.String,
    "measure": pl.String,  # measure of the verdict in the sentence
    "axis": pl.String,  # null: the benchmark as a whole
    "verdict": pl.String,
    "sentence": pl.String,  # group, direction and size in words
}

ADDED = frozenset({"axis_p", "n_units", "obstacle", "direction"})
"""Columns that tables of earlier versions lack. They are read as null."""


class ResponseError(StrEnum):
    """Reasons why a row has no number."""

    EMPTY_TEXT = "empty_text"
    NO_SCORED_TOKEN = "no_scored_token"  # one token without a context, so nothing can be conditioned on
    TOO_LONG = "too_long"
    NOT_FINITE = "not_finite"  # the model returned NaN or infinity
    OUTSIDE_WORLD = "outside_world"  # a World (a synthetic model) gives this text probability zero
    OUT_OF_MEMORY = "out_of_memory"  # even if the text is alone in a batch
    MODEL_ERROR = "model_error"
    REFUSED = "refused"
    REQUEST_REFUSED = "request_refused"  # a service refused this request for an unknown reason
    TIMED_OUT = "timed_out"  # a service did not respond in time, after all attempts
    QUOTA = "quota"  # the daily quota of a service is used up
    UNSUPPORTED_LANGUAGE = "unsupported_language"  # a service does not support the language of the text
    UNPARSABLE = "unparsable"  # a response cannot be parsed
    CLASSIFIER_ERROR = "classifier_error"
    MISSING = "missing"  # there is no response row for this prompt, or no label for its text


OWN_LIMITS = (ResponseError.TOO_LONG, ResponseError.OUT_OF_MEMORY, ResponseError.QUOTA)
"""Errors due to the setup of a run: a length limit, the memory, a quota. No measure counts them as missing
responses.
"""


def is_lost_to_setup(columns: Collection[str], role: str | None = None) -> pl.Expr:
    """Return a Polars expression that is True for rows without a number because of a limit of the setup.

    An example is a text that is too long for the model. Such rows say nothing about the model's behaviour.

    Parameters
    ----------
    columns : collection of str
        Columns of the table. The expression reads `error` (of the response) if it exists.
    role : str, optional
        The role of a classifier, whose column `<role>_error` is read as well.

    Returns
    -------
    polars.Expr
        The expression.

    Examples
    --------
    >>> rows = pl.DataFrame({"error": [None, "too_long", "refused"]})
    >>> rows.select(is_lost_to_setup(rows.columns)).to_series().to_list()
    [False, True, False]
    """
    read = [name for name in ("error", f"{role}_error") if name in columns]
    codes = [str(code) for code in OWN_LIMITS]
    lost = [pl.col(name).cast(pl.String).is_in(codes).fill_null(False) for name in read]
    return pl.any_horizontal(lost) if lost else pl.lit(False)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One number of a measure with its null value (the value without bias): a row of the table MEASUREMENTS.

    Leave `q` empty. `evenhand.stats.reach_verdicts` computes it, because it depends on all tests of a
    benchmark.
    """

    measure: str
    estimate: float | None
    axis: str | None = None
    group: str | None = None
    stratum: str | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    n_missing: int = 0
    null: float | None = None
    p: float | None = None
    q: float | None = None
    ideal: float | None = None
    minimum_detectable: float | None = None
    unit: str = ""
    effect_unit: str | None = None
    """Unit of minimum_detectable; None means the same as `unit`."""
    axis_p: float | None = None
    """p of the group's axis. A group gets a verdict of bias only if its axis has one."""
    n_units: int | None = None
    """Number of independent units behind the estimate: prompts, templates, nouns, clusters."""
    obstacle: str | None = None
    """One sentence that states why no effect is detectable here; the verdict is then "not measurable"."""
    benchmark: str = ""


def measurement_frame(rows: Iterable[Measurement]) -> pl.DataFrame:
    """Return measurements as a table with the columns MEASUREMENTS; there may be none.

    Examples
    --------
    >>> measurement_frame([Measurement(measure="m", estimate=0.5)])["estimate"].to_list()
    [0.5]
    """
    frame = pl.DataFrame([asdict(row) for row in rows], schema=MEASUREMENTS)
    return frame.with_columns(pl.coalesce("effect_unit", "unit").alias("effect_unit"))


def measurement_rows(
    frame: pl.DataFrame, measure: str, unit: str, *, names: Mapping[str, str] | None = None, **constants: Any
) -> list[Measurement]:
    """Return one Measurement per row of a measure's table.

    Use it in the analysis of your own benchmark.

    Parameters
    ----------
    frame : polars.DataFrame
        The table. Columns with the names of fields of Measurement are used, others are ignored.
    measure, unit : str
        Name of the measure, and unit of its estimate.
    names : mapping of str to str, optional
        Other columns that contain fields, as {column: field}.
    constants : Any
        Fields with the same value in every row. They replace columns.

    Returns
    -------
    list of Measurement
        The rows. `q` is empty: `evenhand.stats.reach_verdicts` computes it from all tests.

    Examples
    --------
    >>> table = pl.DataFrame({"axis": ["age"], "descriptor": ["old"], "shift": [0.5], "note": ["x"]})
    >>> rows = measurement_rows(table, "m", "nats", names={"descriptor": "group", "shift": "estimate"}, null=0.0)
    >>> rows[0].group, rows[0].estimate, rows[0].null
    ('old', 0.5, 0.0)
    """
    table = frame.rename(dict(names or {}))
    known = {field.name for field in fields(Measurement)} - {"q", "measure", "unit", *constants}
    taken = [name for name in table.columns if name in known]
    return [
        Measurement(measure=measure, unit=unit, **dict(zip(taken, row, strict=True)), **constants)
        for row in table.select(taken).iter_rows()
    ]
