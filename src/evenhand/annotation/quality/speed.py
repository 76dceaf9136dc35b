"""The rule about annotators who answer faster than one can read."""

import polars as pl

from evenhand.annotation.definition import TooFast


def too_fast(votes: pl.DataFrame, rule: TooFast) -> dict[str, str]:
    """Return annotators who answered more than `share` of the items in less than `seconds`, with a sentence each.

    votes: VOTES. Each real item counts once, for any number of questions. Gold items and repetitions do not count,
    because they may be recognised at once. At least `least` items with a known time are needed.
    """
    items = (
        votes.filter((pl.col("role") == "real") & pl.col("seconds").is_not_null())
        .group_by("person", "presentation")
        .agg(pl.col("seconds").max())
    )
    counts = (
        items.group_by("person")
        .agg(fast=(pl.col("seconds") < rule.seconds).sum(), n=pl.len(), median=pl.col("seconds").median())
        .filter((pl.col("n") >= rule.least) & (pl.col("fast") > rule.share * pl.col("n") + 1e-9))
    )
    return {
        row["person"]: (
            f"{row['fast']} of {row['n']} items answered in less than {rule.seconds:g} s "
            f"(median {row['median']:.1f} s), at most {100 * rule.share:.0f} % allowed"
        )
        for row in counts.to_dicts()
    }
