"""Leave out pairs with outlying perplexities before the held-out pairs are split."""

from pathlib import Path

import numpy as np
import polars as pl

from evenhand.prompts.own_files import number_column, read_table, require_columns
from evenhand.schema import DataError
from evenhand.stats import outlying_pairs

EXPECTED = "Expected the table to_score.csv with a second column, perplexity: a number above 0 for each text."
SECOND = ("counterpart", "attribute_swap")
"""Columns of `counterparts.with_counterparts` that can be the second text of a pair."""


def texts_to_score(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return all distinct texts of pairs, in a table with the column text.

    >>> pairs = pl.DataFrame({"comments_processed": ["a"], "counterpart": ["b"], "attribute_swap": ["a"]})
    >>> texts_to_score(pairs)["text"].to_list()
    ['a', 'b']
    """
    columns = [pairs[name].alias("text") for name in ("comments_processed", *SECOND)]
    return pl.concat(columns).unique(maintain_order=True).to_frame()


def read_perplexities(path: Path | str) -> pl.DataFrame:
    """Read a table of texts and their perplexities under a model.

    path: a CSV, JSON Lines or Parquet file with the columns text and perplexity. If a text is repeated, its first row
    is used. Returns a table with these two columns. Raises a DataError if a column is missing or a value is not a
    number.
    """
    file = Path(path).expanduser()
    table = read_table(file, EXPECTED)
    require_columns(table, ["text", "perplexity"], file, EXPECTED)
    numbers = table.select("text", number_column(table, "perplexity", file).alias("perplexity"))
    return numbers.unique("text", keep="first", maintain_order=True)


def without_outliers(
    pairs: pl.DataFrame, perplexities: pl.DataFrame, second: str = SECOND[0], *, as_published: bool = False
) -> pl.DataFrame:
    """Return the pairs whose perplexities are both within three standard deviations of the mean.

    Mean and standard deviation are those of all first texts, or of all second texts.

    pairs: a table with the columns comments_processed and `second`. perplexities: a table from `read_perplexities`.
    second: a name in SECOND. as_published: also leave out a pair if one of its values equals an outlying value of
    another pair (`evenhand.stats.outlying_pairs`). Returns the pairs with the new columns perplexity_1 and
    perplexity_2. Raises a DataError if a text has no perplexity above 0. Source: the published code of Barikeri et al.
    2021.
    """
    scored = pairs
    for number, column in enumerate(("comments_processed", second), 1):
        named = perplexities.select(pl.col("text").alias(column), perplexity=pl.col("perplexity"))
        scored = scored.join(named, on=column, how="left", maintain_order="left")
        right = scored["perplexity"].fill_null(0).is_between(0, np.inf, closed="none").fill_null(False)
        if not right.all():
            without = scored.filter(~right)
            raise DataError(
                f"{without.height:,} of {scored.height:,} texts have no perplexity above 0 (the first: "
                f"{without[column][0][:60]!r}).",
                EXPECTED,
            )
        scored = scored.rename({"perplexity": f"perplexity_{number}"})
    first, other = (scored[f"perplexity_{number}"].to_numpy() for number in (1, 2))
    return scored.filter(pl.Series(~outlying_pairs(first, other, by_value=as_published)))
