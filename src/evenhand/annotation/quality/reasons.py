"""The rule about copied reasons: repeated for another item, or copied from the shown text."""

import polars as pl

from evenhand.annotation.definition import CopiedReasons

STRETCH = 0.6
"""A reason counts as copied if at least this share of it is one continuous piece of the text shown."""
SHORTEST = 20
"""Minimum length of such a piece in normalised characters."""


def copied_reasons(votes: pl.DataFrame, rule: CopiedReasons) -> dict[str, str]:
    """Return annotators who copied more than `share` of at least `least` reasons, with a sentence each.

    votes: VOTES. Reasons of all items except onboarding count. They are compared by their letters, digits and marks in
    lower case; everything between these becomes one space. A reason is copied if the same annotator gave it for another
    item, or if 60 % of it and at least 20 characters are one continuous piece of `text` or `context`. VOTES does not
    contain conversations, so text copied from them is detected only if it is repeated.
    """
    given = votes.filter(
        (pl.col("role") != "onboarding") & (pl.col("reason").str.strip_chars().str.len_chars() > 0)
    )
    compared = {name: _normalise_text(name) for name in ("reason", "text", "context")}
    said = given.select("person", "item", **compared).with_columns(
        repeated=pl.col("item").n_unique().over("person", "reason") > 1,
        row=pl.int_range(pl.len()),
    )
    taken = set(_find_copied(said, "text")) | set(_find_copied(said, "context"))
    counts = (
        said.with_columns(taken=pl.col("row").is_in(list(taken)) & ~pl.col("repeated"))
        .group_by("person")
        .agg(pl.col("repeated").sum(), pl.col("taken").sum(), n=pl.len())
        .with_columns(copied=pl.col("repeated") + pl.col("taken"))
        .filter((pl.col("n") >= rule.least) & (pl.col("copied") > rule.share * pl.col("n") + 1e-9))
    )
    return {
        row["person"]: (
            f"{row['copied']} of {row['n']} reasons copied ({row['repeated']} from the reason for another item, "
            f"{row['taken']} from the text shown), at most {100 * rule.share:.0f} % allowed"
        )
        for row in counts.to_dicts()
    }


def _normalise_text(column: str) -> pl.Expr:
    plain = pl.col(column).str.normalize("NFKC").str.to_lowercase()
    return plain.str.replace_all(r"[^\p{L}\p{N}\p{M}]+", " ").str.strip_chars()


def _find_copied(said: pl.DataFrame, source: str) -> list[int]:
    """Return the rows whose reason has a sufficiently long piece in common with the source."""
    long = said.filter(
        (pl.col("reason").str.len_chars() >= SHORTEST) & pl.col(source).is_not_null()
    ).with_columns(length=pl.col("reason").str.len_chars().cast(pl.Int64))
    piece = pl.max_horizontal((pl.col("length") * STRETCH).ceil().cast(pl.Int64), pl.lit(SHORTEST))
    long = long.with_columns(piece=piece)
    # any piece longer than half of a reason contains its middle, so most reasons need only one check
    holds_middle = pl.col("reason").str.slice(
        pl.col("length") - pl.col("piece"), 2 * pl.col("piece") - pl.col("length")
    )
    near = long.filter(pl.col(source).str.contains(holds_middle, literal=True))
    return [
        row
        for row, reason, text, piece in near.select("row", "reason", source, "piece").iter_rows()
        if any(reason[start : start + piece] in text for start in range(len(reason) - piece + 1))
    ]
