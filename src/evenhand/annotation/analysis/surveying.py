"""Scales such as SDO7: annotators' scores, and whether preferences depend on them."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from pydantic import TypeAdapter, ValidationError

from evenhand.annotation.definition import Block, Scale, list_statements
from evenhand.measures import sdo_scores, statement_ratings, win_rates_by_views
from evenhand.schema import DataError

BLOCKS: TypeAdapter[tuple[Block, ...]] = TypeAdapter(tuple[Block, ...])
EMPTY = (pl.DataFrame(), pl.DataFrame(), pl.DataFrame())


def read_survey(study: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return the survey of the export's study. Raise DataError if it is invalid."""
    try:
        return BLOCKS.validate_python(study.get("survey") or ())
    except ValidationError as error:
        raise DataError(
            f"The survey in the study of the export is invalid: {error.errors()[0]['msg']}.",
            "Export the study again.",
        ) from error


def scales(
    survey: tuple[Block, ...], votes: pl.DataFrame, *, baseline: str | None, alpha: float
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return scores by third, statements, and win rates by views for every scale (see `PeopleTables`).

    votes: judgements that no rule excludes, including those of the survey.
    """
    parts = [
        _scale(block, votes, baseline=baseline, alpha=alpha) for block in survey if isinstance(block, Scale)
    ]
    columns = zip(*(part for part in parts if part is not EMPTY), strict=True)
    stacked = tuple(
        pl.concat([table for table in column if table.width], how="diagonal") for column in columns
    )
    return stacked if stacked else EMPTY


def _scale(
    scale: Scale, votes: pl.DataFrame, *, baseline: str | None, alpha: float
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    signs = {statement.id: -1 if statement.reversed else 1 for statement in list_statements(scale)}
    rated = votes.filter(
        (pl.col("role") == "survey") & pl.col("question").is_in(list(signs)) & pl.col("answer").is_not_null()
    )
    if rated.is_empty():
        return EMPTY
    name = pl.lit(scale.id).alias("scale")
    middle = (scale.low + scale.high) / 2
    # views of annotators who also judged pairs; rows of surveys are identified by their questions
    scores = (
        sdo_scores(rated, signs, middle=middle)
        .group_by("third", maintain_order=True)
        .agg(
            n_persons=pl.len().cast(pl.Int64),
            n=pl.col("n").sum(),
            lowest=pl.col("score").min(),
            mean=pl.col("score").mean(),
            highest=pl.col("score").max(),
        )
        .select(name, pl.all())
    )
    statements = statement_ratings(rated, signs).select(name, pl.all())
    return scores, statements, _views(scale, votes, signs, middle, baseline=baseline, alpha=alpha)


def _views(
    scale: Scale,
    votes: pl.DataFrame,
    signs: Mapping[str, int],
    middle: float,
    *,
    baseline: str | None,
    alpha: float,
) -> pl.DataFrame:
    chosen = votes.filter((pl.col("measurement") == "preference") & pl.col("model_a").is_not_null())
    if chosen.is_empty():
        return pl.DataFrame()
    asked = votes.filter((pl.col("role") == "survey") | (pl.col("role") == "real"))
    found = win_rates_by_views(asked, signs, middle=middle, baseline=baseline, alpha=alpha)
    return found.select(pl.lit(scale.id).alias("scale"), pl.all())
