"""Putting texts to a classifier and turning its judgements, or its failures, into label rows."""

import numpy as np
import polars as pl

from evenhand.classifiers.contract import Classifier, Judgements
from evenhand.runs.halving import ask_in_halves, rows_before
from evenhand.schema import LABELS, EvenhandError, ModelError, ResponseError

JUDGED_AGAIN = (
    ResponseError.CLASSIFIER_ERROR,
    ResponseError.MODEL_ERROR,
    ResponseError.REQUEST_REFUSED,
    ResponseError.OUT_OF_MEMORY,
    ResponseError.TIMED_OUT,
    ResponseError.QUOTA,
    ResponseError.UNPARSABLE,
)
"""Codes that a second try may mend: the rest belong to the text."""
NOTHING_SAID = "the classifier gave no label, no verdict and no finite score"
INFINITE = "the classifier gave infinity as a score"


def judge(classifier: Classifier, texts: pl.DataFrame) -> pl.DataFrame:
    """One label row for each text; a text on which the classifier fails becomes an error row.

    Arguments: classifier: who is asked. texts: columns text_id, text, context (null where there is none).
    Returns: a LABELS frame (in another order if a batch failed).
    Raises EvenhandError as the classifier raises it, and ModelError if it judges nothing at all.
    """

    def rows(batch: pl.DataFrame, judgements: Judgements) -> pl.DataFrame:
        return label_rows(batch, judgements, classifier.labels)

    def ask(batch: pl.DataFrame) -> pl.DataFrame:
        contexts = batch["context"].to_list() if batch["context"].null_count() < batch.height else None
        try:
            return rows(batch, classifier.classify(batch["text"].to_list(), contexts))
        except EvenhandError as error:
            rows_before(error, batch, classifier, rows)
            raise

    return ask_in_halves(texts, ask, _failed_rows, asked=classifier, code=ResponseError.CLASSIFIER_ERROR)


def label_rows(texts: pl.DataFrame, judgements: Judgements, labels: tuple[str, ...]) -> pl.DataFrame:
    """The labels table of some judgements.

    A score that is NaN is null; a row that says nothing at all, or infinity, is `not_finite`.

    Arguments: texts: n rows with a text_id. judgements: of the same n texts. labels: the classifier's.
    Returns: a LABELS frame of n rows.
    Raises ModelError if the answer does not have the shape the contract demands.
    """
    _check_shape(texts.height, judgements, labels)
    scores = np.asarray(judgements.scores, dtype=np.float32)
    score = np.asarray(judgements.score, dtype=np.float64)
    found = pl.DataFrame(
        {
            "text_id": texts["text_id"],
            "label": pl.Series(judgements.labels, dtype=pl.String),
            "score": pl.Series(score).fill_nan(None),
            "negative": pl.Series(judgements.negative, dtype=pl.Boolean),
            "error": pl.Series(judgements.errors, dtype=pl.String),
            "detail": pl.Series(judgements.details or [None] * len(judgements), dtype=pl.String),
            "infinite": np.isinf(scores).any(axis=1) | np.isinf(score),
            "scored": np.isfinite(scores).any(axis=1),
        }
    )
    # Flat values and offsets in one step: lists of a style classifier's 217 scores are not built row by row.
    lists = pl.Series("scores", scores).arr.to_list() if scores.shape[1] else pl.Series([[]] * len(score))
    found = found.with_columns(scores=lists.cast(pl.List(pl.Float32)).list.eval(pl.element().fill_nan(None)))
    good = pl.col("error").is_null()
    infinite = good & pl.col("infinite")
    silent = good & pl.all_horizontal(pl.col("label", "score", "negative").is_null()) & ~pl.col("scored")
    wrong = pl.when(infinite | silent).then(pl.lit(str(ResponseError.NOT_FINITE)))
    told = pl.when(infinite).then(pl.lit(INFINITE)).when(silent).then(pl.lit(NOTHING_SAID))
    found = found.with_columns(error=wrong.otherwise("error"), detail=told.otherwise("detail"))
    values = [pl.when(good).then(name).alias(name) for name in ("label", "score", "negative", "scores")]
    return _as_labels(found.with_columns(values))


def _failed_rows(text: pl.DataFrame, code: str, told: str) -> pl.DataFrame:
    return _as_labels(text.select("text_id", error=pl.lit(code), detail=pl.lit(told)))


def _as_labels(found: pl.DataFrame) -> pl.DataFrame:
    return found.select(
        pl.col(name).cast(kind) if name in found.columns else pl.lit(None, dtype=kind).alias(name)
        for name, kind in LABELS.items()
    )


def _check_shape(n: int, judgements: Judgements, labels: tuple[str, ...]) -> None:
    columns = (judgements.labels, judgements.score, judgements.negative, judgements.errors)
    agree = all(len(column) == n for column in columns) and len(judgements.details) in (0, n)
    if not agree or judgements.scores.shape != (n, len(labels)):
        raise ModelError(
            f"The classifier was asked about {n} texts and answered {len(judgements)} rows with scores of shape "
            f"{judgements.scores.shape}.",
            f"Judgements need {n} rows and one score for each of the {len(labels)} labels "
            "(evenhand.classifiers.contract).",
        )
