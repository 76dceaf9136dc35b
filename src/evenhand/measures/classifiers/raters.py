"""Agreement beyond chance of people who labelled the same items: Krippendorff's alpha."""

import numpy as np
import polars as pl

from evenhand.measures.columns import require_columns, require_keys, typed
from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card, DataError, checked
from evenhand.stats import LEAST_AGREEING, MeasurementLevel, krippendorff_alpha

RATED = (
    typed(pl.String, "question measurement")
    | typed(pl.Float64, "estimate low high standard_error")
    | typed(pl.Int64, "n_units n_ratings n_raters n_missing")
    | typed(pl.String, "reason")
)


@checked
def rater_agreement(
    frame: pl.DataFrame, measurement: MeasurementLevel = "nominal", *, seed: int = 0
) -> pl.DataFrame:
    """Return how well raters of the same items agree beyond chance, for each question.

    Use it to check the reliability of human labels before you use them. It accepts any number of raters and missing
    ratings.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per rated item and rater, with the columns
        - ``unit``: the item, such as a text. ``rater``: the person.
        - ``rating``: a text, or a number for ordinal and interval measurement; null is missing.
        - optionally ``question``.
    measurement : {"nominal", "ordinal", "interval"}, default "nominal"
        Level of measurement.
    seed : int, default 0
        Random seed of the bootstrap over items.

    Returns
    -------
    polars.DataFrame
        One row per question (one row without that column).
        - ``estimate``: Krippendorff's alpha, with 95% CI. 1: raters always agree; 0: they agree as often as by chance;
          below 0: they agree less often than by chance.
        - ``n_units``: items with two or more ratings. ``n_ratings``: their ratings. ``n_raters``: raters.
        - ``n_missing``: ratings left out (missing, or of an item that was rated only once).
        - ``reason``: why there is no estimate, or no interval.

    Raises
    ------
    DataError
        A column is missing, a rating is infinite or not a number although it must be, or a rater rated an item
        twice.

    Notes
    -----
    The interval is null if fewer than three items agree on a value other than the most common one.

    References
    ----------
    - Krippendorff 2019, Content Analysis, chapter 12.

    Examples
    --------
    >>> frame = pl.DataFrame({"unit": [1, 1, 2, 2, 3, 3], "rater": ["a", "b"] * 3, "rating": list("yynnyn")})
    >>> rater_agreement(frame).select(pl.col("estimate").round(3), "n_units").rows()
    [(0.444, 3)]
    """
    require_keys(frame, ["unit", "rater"], "rater_agreement")
    require_columns(frame, ["rating"], "rater_agreement")
    if "question" not in frame.columns:
        frame = frame.with_columns(question=pl.lit("all"))
    keys = ["question", "unit", "rater"]
    rated = frame.select(*keys, "rating").with_columns(pl.col("question").cast(pl.String))
    if measurement != "nominal":
        rated = _as_numbers(rated, measurement)
    twice = rated.filter(pl.struct(keys).is_duplicated())
    if twice.height:
        _, unit, rater, _ = twice.row(0)
        raise DataError(
            f"rater_agreement: the rater {rater!r} rated the unit {str(unit)[:60]!r} more than once.",
            "Keep one rating per rater and unit.",
        )
    rows = [_row(part, measurement, seed) for part in rated.partition_by("question", maintain_order=True)]
    return pl.DataFrame(rows, schema=RATED).with_columns(pl.col(pl.Float64).fill_nan(None))


def _as_numbers(rated: pl.DataFrame, measurement: str) -> pl.DataFrame:
    numbers = rated["rating"].cast(pl.Float64, strict=False).fill_nan(None)
    wrong = rated.filter(numbers.is_null() & rated["rating"].is_not_null())
    if wrong.height and wrong["rating"].dtype == pl.String:
        raise DataError(
            f"rater_agreement: measurement={measurement!r} requires numbers, but the column rating contains "
            f"{wrong['rating'][0]!r}.",
            'Write numbers, or use measurement="nominal".',
        )
    endless = rated.filter(numbers.is_infinite())
    if endless.height:
        raise DataError(
            f"rater_agreement: the column rating contains {str(endless['rating'][0])[:40]!r}, which is infinite "
            "or too large.",
            "Use finite numbers below 1e308.",
        )
    return rated.with_columns(rating=numbers)


def _row(part: pl.DataFrame, measurement: MeasurementLevel, seed: int) -> dict[str, object]:
    known = part.drop_nulls("rating")
    table = np.full((known["rater"].n_unique(), known["unit"].n_unique()), np.nan)
    places = [known[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in ("rater", "unit")]
    values = known["rating"]
    table[places[0], places[1]] = (
        values.rank("dense").to_numpy() if measurement == "nominal" else values.to_numpy()
    )
    found = krippendorff_alpha(table, measurement, seed=seed)
    reason = None
    if np.isnan(found.estimate):
        reason = "all ratings are equal" if found.clusters else "no unit has two ratings"
    elif np.isnan(found.low):
        reason = f"no limits: fewer than {LEAST_AGREEING} units agree on another value than the commonest"
    return {
        "question": part["question"][0],
        "measurement": measurement,
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "standard_error": found.standard_error,
        "n_units": found.clusters,
        "n_ratings": found.n,
        "n_raters": table.shape[0],
        "n_missing": part.height - found.n,
        "reason": reason,
    }


CARDS = (
    MeasureInfo.of(
        Card(
            name="krippendorff_alpha",
            summary="Krippendorff's alpha of any number of raters, who need not all rate every item.",
            construct="Whether other people would give the same labels.",
            harm="A finding on labels that others would not give is about the raters, not about the model.",
            groups="All rated items (units), for each question.",
            ideal="1: the raters always agree.",
            direction="Lower is worse.",
            null="0: agreement by chance.",
            critique=(
                "Alpha is low if one value is rare, however rarely raters differ. The thresholds .67 and .8 are "
                "conventions, not laws. Raters of one kind may make the same errors. The CI is for these raters, "
                "not for others like them."
            ),
            citation="Krippendorff 2019, Content Analysis, 4th edition, chapter 12",
            source="Krippendorff 2019, chapter 12; the bootstrap over units: Zapf et al. 2016",
            details="Ratings are nominal, ordinal or interval. The CI is a bootstrap over items with fixed raters. "
            "There is no CI if fewer than three items agree on a value other than the most common one.",
        ),
        unit="alpha",
    ),
)
