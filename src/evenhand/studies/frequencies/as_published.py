"""Compare the paper's way of counting with evenhand's, for page and terminal: pronouns and the largest differences."""

from collections.abc import Iterator

import polars as pl

from evenhand.reports import label
from evenhand.studies.frequencies.view import FrequencyView
from evenhand.studies.frequencies.wording import HIDDEN, PRONOUN, percent

DIFFERENT = 20
WAYS = {"published": "as published", "here": "here"}


def most_different(view: FrequencyView) -> pl.DataFrame:
    """Return terms whose share differs in any corpus, largest difference first, each spelling of an axis once."""
    rows = view.tables.published.filter(
        ~pl.col("repeats") & ~pl.col("kind").is_in(HIDDEN) & (pl.col("difference") != 0)
    )
    return rows.sort(pl.col("difference").abs(), descending=True, maintain_order=True)


def difference_rows(view: FrequencyView) -> list[tuple[str, ...]]:
    """Return the terms with the largest differences: published count and evenhand's count."""
    return [
        (
            row["name"],
            label(row["axis"]),
            row["corpus"],
            percent(row["share_published"]),
            percent(row["share_here"]),
            f"{row['only_published']:,}",
            f"{row['only_here']:,}",
        )
        for row in most_different(view).head(DIFFERENT).to_dicts()
    ]


def pronouns_both_ways(view: FrequencyView) -> list[tuple[str, ...]]:
    """Return the rows of the paper's table 24: corpus, way of counting, documents with she, he and they, He:She."""
    return list(_pronouns(view))


def _pronouns(view: FrequencyView) -> Iterator[tuple[str, ...]]:
    of_pronouns = view.tables.published_groups.filter(pl.col("kind") == PRONOUN)
    for corpus in view.tables.corpora["corpus"]:
        groups = {row["group"]: row for row in of_pronouns.filter(pl.col("corpus") == corpus).to_dicts()}
        if not groups:
            continue
        for way, told in WAYS.items():
            she, he, they = (
                groups[name][f"share_{way}"] if name in groups else 0.0 for name in ("she", "he", "they")
            )
            yield corpus, told, percent(she), percent(he), percent(they), _ratio(he, she)


def _ratio(he: float, she: float) -> str:
    if he and she:
        return f"{he / she:.2f}"
    return "only he" if he else "only she" if she else "–"
