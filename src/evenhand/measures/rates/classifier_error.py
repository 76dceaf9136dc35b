"""Error rates of a classifier for each group: counts from labelled texts, with which rates are corrected.

`error_counts` reads them from a table of counts or of labelled texts; `rogan_gladen` corrects one rate.
`evenhand.measures.disparity` takes the counts and corrects the rates of groups, with the uncertainty of both.
"""

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.measures.columns import check_kinds, require_columns, require_texts
from evenhand.schema import DataError, UsageError, checked
from evenhand.stats import Floats, require_same_shape
from evenhand.stats.disparity import LabelCounts

COUNTS = ("false_alarms", "n_harmless", "hits", "n_harmful")
KEYS = ("role", "axis", "group")
EXPECTED = (
    "Expected counts (group, false_alarms, n_harmless, hits, n_harmful) or labelled texts (group, label, negative: "
    "1 or 0), optionally with axis and role. A row without a group applies to all groups."
)
_WHAT = "The table of a classifier's errors"


@checked
def rogan_gladen(rate: npt.ArrayLike, sensitivity: npt.ArrayLike, specificity: npt.ArrayLike) -> Floats:
    """Return the true rate behind a rate of classifications.

    Use it to correct a rate for the known errors of a classifier. To correct a comparison of groups, with the
    uncertainty of the error rates, pass `error_counts` to `disparity`.

    Parameters
    ----------
    rate : array_like
        Proportion of texts that the classifier calls negative.
    sensitivity : array_like
        Proportion of truly negative texts that it calls negative.
    specificity : array_like
        Proportion of other texts that it does not call negative. The three shapes must broadcast.

    Returns
    -------
    numpy.ndarray
        True rates, as proportions. A value is outside 0 to 1 if the three numbers contradict each other. NaN if
        sensitivity + specificity <= 1, because such a classifier carries no information.

    Raises
    ------
    UsageError
        A value is outside 0 to 1.

    Notes
    -----
    The formula is (rate + specificity - 1) / (sensitivity + specificity - 1). The result is never clipped.

    References
    ----------
    - Rogan & Gladen 1978, American Journal of Epidemiology 107, pages 71-76.

    Examples
    --------
    >>> rogan_gladen([0.14, 0.05], 0.9, [0.94, 0.9]).round(4).tolist()
    [0.0952, -0.0625]
    """
    judged_rate, true_positives, true_negatives = (
        np.asarray(value, dtype=np.float64) for value in (rate, sensitivity, specificity)
    )
    require_same_shape(
        "rogan_gladen", rate=judged_rate, sensitivity=true_positives, specificity=true_negatives
    )
    for shares in (judged_rate, true_positives, true_negatives):
        if ((shares < 0) | (shares > 1)).any():
            raise UsageError(
                "rogan_gladen: all arguments must be shares between 0 and 1.", "Divide percentages by 100."
            )
    youden = true_positives + true_negatives - 1
    usable = youden > 0
    return np.asarray(
        np.where(usable, (judged_rate + true_negatives - 1) / np.where(usable, youden, 1.0), np.nan)
    )


@checked
def error_counts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the numbers of false alarms and hits of a classifier for each group.

    Use it to prepare the argument `error` of `disparity`. The table has either counts or texts that people labelled.

    Parameters
    ----------
    frame : polars.DataFrame
        A table of counts, with one row per group:
        - ``n_harmless``, ``n_harmful``: numbers of texts that people call harmless and harmful.
        - ``false_alarms``, ``hits``: of these, the numbers of texts that the classifier calls negative.

        Or a table of texts, with one row per text:
        - ``label``: 1 (harmful) or 0 (harmless), by people.
        - ``negative``: 1 or 0, by the classifier. A missing value is not counted.

        Both have ``group`` (empty: all groups), and optionally ``axis`` (empty: any) and ``role`` (what the classifier
        is used for, such as toxicity; empty: any).

    Returns
    -------
    polars.DataFrame
        One row per role, axis and group, with the four counts: false_alarms, n_harmless, hits, n_harmful.

    Raises
    ------
    DataError
        A column is missing, a value is not a count or a label, there are more alarms or hits than texts, or a group
        occurs twice.

    Examples
    --------
    >>> texts = pl.DataFrame({"group": ["a"] * 4, "label": [1, 1, 0, 0], "negative": [1, 0, 1, 0]})
    >>> error_counts(texts).row(0)
    (None, None, 'a', 1.0, 2.0, 1.0, 2.0)
    """
    counted = "false_alarms" in frame.columns
    require_columns(frame, ["group", *(COUNTS if counted else ("label", "negative"))], _WHAT)
    check_kinds(frame, KEYS, _WHAT)
    table = frame.with_columns(
        pl.lit(None, pl.String).alias(name) for name in KEYS if name not in frame.columns
    )
    names = [pl.col(name).cast(pl.String).str.strip_chars() for name in KEYS]
    table = table.with_columns(pl.when(name.str.len_chars() > 0).then(name) for name in names)
    table = _counts(table) if counted else _tally_texts(table)
    if table.select(KEYS).is_duplicated().any():
        twice = table.filter(table.select(KEYS).is_duplicated())["group"][0] or "all groups"
        raise DataError(f"{_WHAT}: more than one row has error counts for {twice}.", EXPECTED)
    if table.filter(
        (pl.col("false_alarms") > pl.col("n_harmless")) | (pl.col("hits") > pl.col("n_harmful"))
    ).height:
        raise DataError(
            f"{_WHAT}: a row has more false_alarms than n_harmless, or more hits than n_harmful.", EXPECTED
        )
    return table.select(*KEYS, *COUNTS)


def _counts(table: pl.DataFrame) -> pl.DataFrame:
    table = table.with_columns(_numbers(table, name) for name in COUNTS)
    if any(table[name].null_count() or (table[name] < 0).any() for name in COUNTS):
        raise DataError(f"{_WHAT}: a count is missing or negative.", EXPECTED)
    return table


def _numbers(table: pl.DataFrame, name: str) -> pl.Series:
    """Return a column as numbers, also if a file stores them as text; null for empty cells."""
    given = table[name]
    if given.dtype == pl.String:
        words = given.str.strip_chars().str.to_lowercase()
        given = words.replace({"true": "1", "false": "0", "": None, "nan": None})
    numbers = given.cast(pl.Float64, strict=False).fill_nan(None)
    strange = given.filter(given.is_not_null() & numbers.is_null())
    if len(strange) and given.dtype == pl.String:
        raise DataError(
            f"{_WHAT}: the column {name} contains {strange[0]!r}, which is not a number.", EXPECTED
        )
    return numbers.alias(name)


def _tally_texts(table: pl.DataFrame) -> pl.DataFrame:
    table = table.with_columns(_numbers(table, name) for name in ("label", "negative"))
    if table["label"].null_count():
        raise DataError(
            f"{_WHAT}: the column label is empty in {table['label'].null_count():,} rows.", EXPECTED
        )
    for name in ("label", "negative"):
        if not table[name].drop_nulls().is_in([0.0, 1.0]).all():
            raise DataError(f"{_WHAT}: the column {name} must contain only 1 and 0.", EXPECTED)
    judged = table.filter(pl.col("negative").is_not_null())
    harmful = pl.col("label") == 1
    return (
        judged.group_by(KEYS)
        .agg(
            false_alarms=pl.col("negative").filter(~harmful).sum(),
            n_harmless=(~harmful).sum().cast(pl.Float64),
            hits=pl.col("negative").filter(harmful).sum(),
            n_harmful=harmful.sum().cast(pl.Float64),
        )
        .sort(KEYS, nulls_last=False)
    )


@checked
def of_role(counts: pl.DataFrame, role: str) -> pl.DataFrame:
    """Return the rows of `error_counts` that apply to one role of a classifier.

    Use it if a table has error counts for several roles. A role is what the classifier is used for, such as toxicity.

    Parameters
    ----------
    counts : polars.DataFrame
        Result of `error_counts`.
    role : str
        The role, as in the column ``role``.

    Returns
    -------
    polars.DataFrame
        Rows of this role, and rows for any role (null).

    Raises
    ------
    DataError
        The table has no column ``role``.

    Examples
    --------
    >>> counts = pl.DataFrame({"group": ["a", "a"], "role": ["toxicity", "regard"], "false_alarms": [1, 2],
    ...                        "n_harmless": [9, 9], "hits": [8, 7], "n_harmful": [9, 9]})
    >>> of_role(error_counts(counts), "regard").select("role", "hits").rows()
    [('regard', 7.0)]
    """
    if "role" not in counts.columns:
        raise DataError(
            f"{_WHAT} has no column role.", "Create the table with evenhand.measures.error_counts."
        )
    require_texts(counts, ["role"], "of_role", null=True)
    return counts.filter(pl.col("role").is_null() | (pl.col("role") == role))


def counts_of_axis(counts: pl.DataFrame, axis: str | None, groups: tuple[str, ...]) -> LabelCounts | None:
    """Return the counts of the groups of an axis; None if there are none for any of them.

    A group gets its own row (of its axis before one of any axis), else the row for all groups.
    """
    if lacking := [name for name in (*KEYS, *COUNTS) if name not in counts.columns]:
        raise DataError(
            f"{_WHAT} has no column {', '.join(lacking)}.",
            "Create the table with evenhand.measures.error_counts.",
        )
    here = counts.filter(pl.col("axis").is_null() | pl.col("axis").eq_missing(pl.lit(axis, pl.String)))
    here = here.sort(pl.col("axis").is_null(), pl.col("role").is_null())
    known: dict[str | None, tuple[float, ...]] = {}
    for group, *values in here.select("group", *COUNTS).iter_rows():
        known.setdefault(group, tuple(values))
    if None not in known and not set(groups) & set(known):
        return None
    nothing = (np.nan,) * len(COUNTS)
    rows = np.array([known.get(group, known.get(None, nothing)) for group in groups]).reshape(-1, len(COUNTS))
    shared = np.array([group not in known and None in known for group in groups], dtype=bool)
    return LabelCounts(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], shared)
