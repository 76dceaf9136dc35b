"""Preferences between models: win rates, also within levels and under other rules, and the side effect."""

from collections.abc import Sequence

import polars as pl

from evenhand.annotation.analysis.rules import RuleSet
from evenhand.annotation.analysis.tables import PREFERENCE, PUBLISHED_RATE, WIN_RATE, counting
from evenhand.measures import win_rates

OVER_RULES = (
    "question",
    "model",
    "against",
    "raw",
    "estimate",
    "low",
    "high",
    "q",
    "verdict",
    "n",
    "n_persons",
)

PAIR = ("question", "model", "against")


def comparing(votes: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of pairs with two different, named models."""
    # a comparison with null is null, so such rows are filtered out
    return votes.filter((pl.col("measurement") == PREFERENCE) & (pl.col("model_a") != pl.col("model_b")))


def compute_win_rates_per_level(
    votes: pl.DataFrame, key: str, *, baseline: str | None, alpha: float
) -> pl.DataFrame:
    """Return win rates within each level of the items' column `key`; each level is tested at alpha / levels.

    votes: result of `comparing`. Returns by, level and the columns of `win_rates`, with q multiplied by the number of
    levels.
    """
    levelled = votes.filter(pl.col("measurement") == PREFERENCE).with_columns(level=extract_level(key))
    levels = sorted(levelled["level"].drop_nulls().unique().to_list())
    found = []
    for level in levels:
        mine = levelled.filter(pl.col("level") == level).drop("level")
        rates = win_rates(mine, baseline=baseline, alpha=alpha / len(levels))
        found.append(
            rates.filter(pl.col("measure") == WIN_RATE).select(
                pl.lit(key).alias("by"),
                pl.lit(level).alias("level"),
                pl.all().exclude("q"),
                q=(pl.col("q") * len(levels)).clip(upper_bound=1.0),
            )
        )
    return pl.concat(found) if found else pl.DataFrame()


def extract_level(key: str) -> pl.Expr:
    """Return the value of a key in the JSON of `groups`, as text; null if the key is missing."""
    return pl.col("groups").str.json_path_match(f"$['{key}']")


def under_rules(
    votes: pl.DataFrame, sets: Sequence[RuleSet], *, baseline: str | None, alpha: float
) -> pl.DataFrame:
    """Return the win rates under each set of rules, to show which results depend on them (see
    `PeopleTables.sensitivity`).
    """
    found = []
    # annotators who were blocked or rejected are excluded under any rules
    all_persons = comparing(counting(RuleSet("none", ()).apply(votes)))["person"].n_unique()
    for rules in sets:
        used = comparing(counting(rules.apply(votes)))
        if used.is_empty():
            continue
        persons = all_persons - used["person"].n_unique()
        rates = win_rates(used, baseline=baseline, alpha=alpha)
        published = rates.filter(pl.col("measure") == PUBLISHED_RATE).select(
            *PAIR, published="estimate", p_published="p", stars="stars"
        )
        found.append(
            rates.filter(pl.col("measure") == WIN_RATE)
            .select(
                pl.lit(rules.name).alias("rules"), pl.lit(persons).alias("n_persons_excluded"), *OVER_RULES
            )
            .join(published, on=PAIR, maintain_order="left")
        )
    return pl.concat(found) if found else pl.DataFrame()
