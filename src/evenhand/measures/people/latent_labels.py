"""What is likely true of items, and how reliable persons are, by the model of Dawid and Skene."""

from dataclasses import dataclass

import polars as pl

from evenhand.measures.columns import typed

ITEM_LABELS = (
    typed(pl.String, "question item label") | typed(pl.Float64, "probability") | typed(pl.Int64, "n")
)
PERSON_RELIABILITY = (
    typed(pl.String, "question person")
    | typed(pl.Float64, "estimate low high")
    | typed(pl.Int64, "n")
    | typed(pl.String, "obstacle")
)
CONFUSIONS = typed(pl.String, "question person label answer") | typed(pl.Float64, "probability")


@dataclass(frozen=True)
class LatentLabels:
    """items (ITEM_LABELS plus one column `p_<class>` each), persons (PERSON_RELIABILITY), confusions (CONFUSIONS),
    prevalence (question, label, share)."""

    items: pl.DataFrame
    persons: pl.DataFrame
    confusions: pl.DataFrame
    prevalence: pl.DataFrame


def dawid_skene(
    votes: pl.DataFrame, question: str | None = None, *, resamples: int = 200, seed: int = 0
) -> LatentLabels:
    """Item posteriors, persons' confusion matrices and reliabilities with limits by a bootstrap over items."""
    raise NotImplementedError
