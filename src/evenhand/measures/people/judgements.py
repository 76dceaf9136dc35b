"""How far a classifier says of texts what people say of them, and how far it could."""

import polars as pl

from evenhand.measures.columns import typed

CORRELATIONS = (
    typed(pl.String, "measure question classifier option taken split level")
    | typed(pl.Float64, "estimate low high null p q ceiling ceiling_low ceiling_high")
    | typed(pl.Int64, "n n_missing n_items n_persons")
    | typed(pl.String, "obstacle")
)
"""Columns of `classifier_correlation`; correlations between -1 and 1 (x 100 in published tables)."""


def classifier_correlation(
    votes: pl.DataFrame,
    question: str,
    classifier: str | None = None,
    *,
    split: str | None = "model",
    seed: int = 0,
) -> pl.DataFrame:
    """Pearson and Spearman of a classifier's score with the share of people choosing each option, over items.

    classifier: name in `judgements`; None: all. split: as `by` of `rating_rates`: one set of rows per level, and one
    pooled (split, level null). measure: classifier_pearson, classifier_spearman, classifier_pearson_corrected (divided
    by the ceiling). ceiling: sqrt of `human_reliability` rows' estimate. taken: probability or prediction.
    measure human_reliability: correlation of the shares of two independent groups of as many raters (null classifier).
    """
    raise NotImplementedError
