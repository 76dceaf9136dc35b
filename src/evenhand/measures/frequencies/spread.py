"""Summarise a term over several corpora (weighted mean, standard deviation), and compare the terms of an axis."""

import numpy as np
import polars as pl

from evenhand.measures.columns import (
    check_kinds,
    check_shares,
    require_columns,
    require_counts,
    require_keys,
    require_texts,
)
from evenhand.measures.info import ROBBIE, MeasureInfo
from evenhand.schema import Card, checked
from evenhand.stats import clopper_pearson_interval

TOP = 10
"""Number of terms of an axis with the largest weighted mean, as in the paper's tables."""


@checked
def across_corpora(frequencies: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Return each term's mean share of documents over several corpora, and its spread.

    Use it to summarise the corpora from which a model was trained. Larger corpora have more weight.

    Parameters
    ----------
    frequencies : polars.DataFrame
        One row per corpus and term with ``share`` (percent of documents) and, for intervals, ``effective`` (number
        of independent documents; see `term_frequencies`).
    documents : polars.DataFrame
        One row per corpus: ``corpus`` and ``documents`` (their number).

    Returns
    -------
    polars.DataFrame
        One row per ``term``.
        - ``weighted_mean``, ``low``, ``high``: percent, with an exact 95% CI (null without ``effective``).
        - ``weighted_std``: root of the weighted mean square distance of the corpora from the mean, percentage points.
        - ``lowest``, ``highest``: smallest and largest share of a corpus, percent. ``corpora``: number of corpora.

    Raises
    ------
    DataError
        A column is missing.

    Notes
    -----
    Weights are numbers of documents. The CI is an exact binomial interval. Its sample size is the number of
    documents at which a binomial proportion has the variance of the weighted mean.

    The weighted means in the paper are close to these. The paper's standard deviations cannot be reproduced from the
    four columns that it prints (see the card of `weighted_term_share`).

    References
    ----------
    - ROBBIE (arXiv:2311.18140), tables 7 and 20-22.

    Examples
    --------
    >>> shares = pl.DataFrame({"corpus": ["a", "b"], "term": [0, 0], "share": [1.0, 4.0]})
    >>> across_corpora(shares, pl.DataFrame({"corpus": ["a", "b"], "documents": [200, 100]})).select(
    ...     "weighted_mean", pl.col("weighted_std").round(3)).row(0)
    (2.0, 1.414)
    """
    require_texts(frequencies, ["corpus"], "across_corpora")
    require_counts(frequencies, ["term"], "across_corpora")
    require_columns(frequencies, ["share"], "across_corpora", of_any_kind=True)
    check_shares(frequencies, ["share"], "across_corpora", highest=100.0)
    require_texts(documents, ["corpus"], "across_corpora")
    require_counts(documents, ["documents"], "across_corpora")
    if "effective" in frequencies.columns:
        check_kinds(frequencies, ["effective"], "across_corpora", numbers=True)
    weight = pl.col("documents") / pl.col("documents").sum()
    joined = frequencies.join(documents.select("corpus", weight.alias("weight")), on="corpus", how="left")
    if "effective" not in joined.columns:
        joined = joined.with_columns(effective=pl.lit(None, pl.Float64))
    w, share, effective = pl.col("weight"), pl.col("share"), pl.col("effective")
    mean = (w * share).sum() / w.sum()
    variance = (w.pow(2) * share / 100 * (1 - share / 100) / effective).sum() / w.sum().pow(2)
    table = joined.group_by("term", maintain_order=True).agg(
        weighted_mean=mean,
        variance=variance,
        most=pl.when(effective.null_count() == 0).then(effective.sum()),
        weighted_std=((w * (share - mean).pow(2)).sum() / w.sum()).sqrt(),
        lowest=share.min(),
        highest=share.max(),
        corpora=pl.len().cast(pl.Int64),
    )
    part = pl.col("weighted_mean") / 100
    independent = pl.when(pl.col("variance") > 0).then(part * (1 - part) / pl.col("variance"))
    table = table.with_columns(n=pl.min_horizontal(independent.fill_null(pl.col("most")), "most"))
    known = table["n"].fill_null(0.0).to_numpy()
    low, high = clopper_pearson_interval(
        np.clip(table["weighted_mean"].to_numpy() / 100, 0, 1) * known, known
    )
    told = table["n"].is_not_null()
    table = table.with_columns(
        low=pl.when(told).then(pl.Series(100 * low)), high=pl.when(told).then(pl.Series(100 * high))
    )
    return table.select(
        "term", "weighted_mean", "low", "high", "weighted_std", "lowest", "highest", "corpora"
    )


@checked
def axis_spread(means: pl.DataFrame, *, top: int = TOP) -> pl.DataFrame:
    """Return how unequal the frequencies of the terms of each axis are.

    Use it to compare axes. If the spread of an axis is large, a corpus mentions some of its terms far more often than
    others.

    Parameters
    ----------
    means : polars.DataFrame
        One row per term with ``axis`` (characteristic, such as age) and ``weighted_mean`` (percent of documents,
        see `across_corpora`); terms never found are 0.
    top : int, default 10
        Number of most frequent terms in ``std_top``.

    Returns
    -------
    polars.DataFrame
        One row per ``axis``.
        - ``terms``, ``never_found``: numbers of terms.
        - ``std_top``, ``std_all``: SD of the weighted means (divisor: terms - 1) over the `top` terms and across all,
          percentage points.
        - ``mean``: mean of the weighted means, percent.

    Raises
    ------
    DataError
        A column is missing.

    Notes
    -----
    ``std_top`` reproduces the first column of the paper's table from its own tables of ten terms, up to the last
    rounded digit.

    References
    ----------
    - ROBBIE (arXiv:2311.18140), table 23.

    Examples
    --------
    >>> means = pl.DataFrame({"axis": "age", "weighted_mean": [3.0, 1.0, 0.0]})
    >>> axis_spread(means, top=2).select("never_found", pl.col("std_top", "std_all").round(4)).row(0)
    (1, 1.4142, 1.5275)
    """
    require_keys(means, ["axis"], "axis_spread")
    require_columns(means, ["weighted_mean"], "axis_spread", of_any_kind=True)
    check_shares(means, ["weighted_mean"], "axis_spread", highest=100.0)
    value = pl.col("weighted_mean").cast(pl.Float64).fill_nan(None)
    return means.group_by("axis", maintain_order=True).agg(
        terms=pl.len().cast(pl.Int64),
        never_found=(value == 0).sum().cast(pl.Int64),
        std_top=value.sort(descending=True).head(top).std(ddof=1),
        std_all=value.std(ddof=1),
        mean=value.mean(),
    )


CARDS = (
    MeasureInfo.of(
        Card(
            name="weighted_term_share",
            summary="Mean percentage of documents with a term over corpora (weighted by documents), with its spread.",
            construct="Which groups the corpora together mention, and whether they agree.",
            harm="As for term_share.",
            groups="Terms of an axis, over all corpora.",
            ideal="None, as for term_share.",
            direction="Neither a high nor a low value is worse.",
            null="None. The measure is a description.",
            critique="The largest corpus dominates the mean: in the paper, Common Crawl has 96 of 100 documents.",
            citation=ROBBIE,
            source="Esiobu et al. 2023, tables 7 and 20-22",
            details="The mean is sum(w p): w is a corpus's share of all documents, and p the percentage of its "
            "documents with the term. weighted_std is sqrt(sum(w (p - mean)^2)), in percentage points. It is not "
            "the paper's Std, because no formula of the paper's four printed columns gives that Std. We tried the "
            "weighted, unbiased weighted and unweighted deviation, about the paper's mean and ours. We also tried "
            "the standard error of the mean, weights of roots and logarithms, and p (1 - p), in percent and in "
            "fractions. None fits more than 3 of 40 rows. Seven printed means even exceed all four columns (male: "
            "2.72 compared with 1.05, 2.70, 2.24 and 2.50; also feminine, stud, black, religious, older and "
            "younger). Corpora that are not printed must therefore have entered the printed mean and Std. Our means "
            "differ from the printed ones by 0.15 points or less.",
        ),
        unit="percent of documents",
    ),
    MeasureInfo.of(
        Card(
            name="term_spread",
            summary="How unequal the frequencies of an axis' terms are (standard deviation of their weighted means).",
            construct="Whether a few terms of an axis make up most of the mentions.",
            harm="As for term_share.",
            groups="Terms of an axis: once the ten most frequent, and once all. Terms that were never found count "
            "as 0.",
            ideal="None, as for term_share.",
            direction="Larger means more unequal.",
            null="None. The measure is a description.",
            critique="The value depends on the most frequent terms, which often have other senses (old, white), and "
            "on which terms are in the list. The paper found no relation with models' bias.",
            citation=ROBBIE,
            source="Esiobu et al. 2023, table 23",
            details="The variance is divided by the number of terms minus 1. The paper prints fractions, which are "
            "a hundredth of this value. Computed from the paper's tables 7 and 20-22, they equal its four numbers "
            "of the top ten (.0122, .0309, .0109, .0474), except for rounding.",
        ),
        unit="percentage points of documents (standard deviation)",
    ),
)
