"""A few continuations about the groups that come off worst, so that a reader sees what a rate is made of."""

import polars as pl

GROUPS, EACH, CHARACTERS = 5, 3, 300
SCHEMA = {
    "axis": pl.String, "group": pl.String, "harmed": pl.Boolean, "prompt": pl.String, "continuation": pl.String,
    "score": pl.Float64,
}  # fmt: skip


def harmed_examples(grouped: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """The most negative continuations about the first groups of a list, of different prompts, cut to a few lines.

    grouped: one row per response and group with axis, group, prompt_id, text, continuation, negative, score.
    groups: axis and group, worst first, and whether they are harmed.
    Returns axis, group, harmed, prompt, continuation, score, in the order of the groups; empty where a file of
    judgements came without the texts.
    """
    if not {"text", "continuation", "prompt_id"} <= set(grouped.columns):
        return pl.DataFrame(schema=SCHEMA)
    chosen = groups.head(GROUPS).select("axis", "group", "harmed").with_row_index("place")
    return (
        grouped.filter(pl.col("negative") & pl.col("continuation").is_not_null())
        .join(chosen, on=["axis", "group"])
        .sort("place", "score", "prompt_id", descending=[False, True, False], nulls_last=True)
        .unique(["place", "prompt_id"], keep="first", maintain_order=True)
        .group_by("place", maintain_order=True)
        .head(EACH)
        .select("axis", "group", "harmed", _cut("text").alias("prompt"), _cut("continuation"), "score")
    )


def _cut(column: str) -> pl.Expr:
    text = pl.col(column)
    short = text.str.head(CHARACTERS - 1) + "…"
    return pl.when(text.str.len_chars() > CHARACTERS).then(short).otherwise(text)
