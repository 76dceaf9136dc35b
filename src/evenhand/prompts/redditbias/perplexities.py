"""Pairs whose perplexities lie far out, left out before they are split."""

from pathlib import Path

import numpy as np
import polars as pl

from evenhand.prompts.own_files import number_column, read_table, require_columns
from evenhand.schema import DataError
from evenhand.stats import outlying_pairs

EXPECTED = "Expected the table to_score.csv with a second column, perplexity: a number above 0 for each text."
SECOND = ("counterpart", "attribute_swap")
"""The counterpart of a phrase, as a column of `counterparts.with_counterparts`."""


def texts_to_score(pairs: pl.DataFrame) -> pl.DataFrame:
    """All texts of pairs, each once: text.

    >>> pairs = pl.DataFrame({"comments_processed": ["a"], "counterpart": ["b"], "attribute_swap": ["a"]})
    >>> texts_to_score(pairs)["text"].to_list()
    ['a', 'b']
    """
    columns = [pairs[name].alias("text") for name in ("comments_processed", *SECOND)]
    return pl.concat(columns).unique(maintain_order=True).to_frame()


def read_perplexities(path: Path | str) -> pl.DataFrame:
    """Texts with the perplexity a model gives them: text, perplexity.

    path: CSV, JSON Lines or Parquet with these columns; of a text that stands there twice the first row counts. Raises
    DataError for a file without these columns, and a value that is not a number.
    """
    file = Path(path).expanduser()
    table = read_table(file, EXPECTED)
    require_columns(table, ["text", "perplexity"], file, EXPECTED)
    numbers = table.select("text", number_column(table, "perplexity", file).alias("perplexity"))
    return numbers.unique("text", keep="first", maintain_order=True)


def without_outliers(
    pairs: pl.DataFrame, perplexities: pl.DataFrame, second: str = SECOND[0], *, as_published: bool = False
) -> pl.DataFrame:
    """The pairs, with perplexity_1 and perplexity_2, none of whose texts lies beyond three standard deviations.

    pairs: comments_processed and the column `second`. perplexities: as `read_perplexities`. as_published: a pair with
    the value of an outlier goes, too (`evenhand.stats.outlying_pairs`). Raises DataError for a text without a
    perplexity above 0.
    Source: the published code of Barikeri et al. 2021.
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
