"""Pairs whose perplexities lie far out, left out before they are split."""

from pathlib import Path

import numpy as np
import polars as pl

from evenhand.prompts.own_files.tables import number_column, read_table, require_columns
from evenhand.schema import DataError
from evenhand.stats import outlying_pairs

EXPECTED = (
    "Expected the table to_score.csv (text_1, text_2) with a number in each of perplexity_1 and perplexity_2."
)
COLUMNS = ("perplexity_1", "perplexity_2")


def read_perplexities(path: Path | str, pairs: pl.DataFrame) -> pl.DataFrame:
    """The perplexities of pairs, in their order: perplexity_1 of the phrase, perplexity_2 of its counterpart.

    path: CSV, JSON Lines or Parquet with text_1, text_2, perplexity_1 and perplexity_2; rows in any order. pairs:
    comments_processed and counterpart. Raises DataError for a file without these columns, a pair it does not hold, and
    a value that is no number above 0.
    """
    file = Path(path).expanduser()
    table = read_table(file, EXPECTED)
    require_columns(table, ["text_1", "text_2", *COLUMNS], file, EXPECTED)
    numbers = table.select(
        "text_1", "text_2", *(number_column(table, column, file).alias(column) for column in COLUMNS)
    ).unique(["text_1", "text_2"], keep="first", maintain_order=True)
    joined = pairs.select(text_1="comments_processed", text_2="counterpart").join(
        numbers, on=["text_1", "text_2"], how="left", maintain_order="left"
    )
    wrong = joined.filter(
        ~pl.all_horizontal(pl.col(COLUMNS).fill_null(0).is_between(0, np.inf, closed="none"))
    )
    if wrong.height:
        raise DataError(
            f"{file}: {wrong.height:,} of {joined.height:,} pairs have no perplexity above 0, the first of them "
            f"{wrong['text_1'][0][:60]!r}.",
            EXPECTED,
        )
    return joined.select(COLUMNS)


def without_outliers(
    pairs: pl.DataFrame, perplexities: pl.DataFrame, *, as_published: bool = False
) -> pl.DataFrame:
    """The pairs, with their perplexities, none of whose texts lies beyond three standard deviations.

    perplexities: as `read_perplexities`. as_published: a pair with the value of an outlier goes, too
    (`evenhand.stats.outlying_pairs`).
    Source: methods/redditbias_selfdebias_consistency.md, section 2.2.
    """
    first, second = (perplexities[column].to_numpy() for column in COLUMNS)
    kept = ~outlying_pairs(first, second, by_value=as_published)
    return pl.concat([pairs, perplexities], how="horizontal").filter(pl.Series(kept))
