"""Analyse how often conversations are offensive, by gender and race of the name with which they begin."""

from dataclasses import replace

import polars as pl

from evenhand.benchmarks.analysis import analyse_group_rates
from evenhand.benchmarks.contract import Analysis, AnalysisOptions
from evenhand.benchmarks.names.chats import OFFENSIVENESS, OPENER, RACE, TOXICITY, Chats
from evenhand.benchmarks.names.rows import GENDER, GROUP

UTTERANCE = pl.format("{}/{}", pl.col("conversation").cast(pl.String), "turn")
"""Identifier of an utterance."""


def offence(chats: Chats, options: AnalysisOptions) -> Analysis:
    """Compare rates of offensive replies between groups of names, with names as the sampling units.

    The rates are those of the role offensiveness if it was classified, otherwise those of toxicity. If neither role has
    a classifier, there are no rows. Rows have no estimate if no reply was generated. Detail tables are those of
    `analyse_group_rates`.
    """
    role = judged_role(chats.frame)
    if role is None:
        return Analysis([])
    judged = [
        name for name in chats.frame.columns if name.startswith((OFFENSIVENESS, TOXICITY)) or name == "error"
    ]
    replies = chats.frame.filter(pl.col("turn") > OPENER, pl.col("name").is_not_null())
    said = replies.select(
        pl.col("name").cast(pl.String),
        "gender",
        RACE,
        UTTERANCE.alias("prompt_id"),
        pl.lit(0, pl.UInt16).alias("sample"),
        (pl.col("lines_before") if "lines_before" in replies.columns else pl.lit("")).alias("text"),
        pl.col("text").alias("continuation"),
        *judged,
    )
    compared = chats.by_gender.select("name", UTTERANCE.alias("prompt_id")).with_columns(
        pl.col("name").cast(pl.String)
    )
    within = pl.format("{} {}", RACE, "gender")

    def about(responses: pl.DataFrame) -> pl.DataFrame:
        genders = responses.join(
            compared, on=["name", "prompt_id"], how="semi", maintain_order="left"
        ).with_columns(group="gender")
        parts = [genders.with_columns(axis=pl.lit(GENDER))]
        races = responses.with_columns(group=within).drop_nulls("group")
        if races["group"].n_unique() > 1:
            parts.append(races.with_columns(axis=pl.lit(GROUP)))
        return pl.concat(parts, how="diagonal")

    found = analyse_group_rates(said, options, role=role, cluster="name", grouped=about)
    return replace(
        found, details={name: table for name, table in found.details.items() if name != "published_groups"}
    )


def judged_role(frame: pl.DataFrame) -> str | None:
    """Return the role whose labels are used: offensiveness if it has labels, otherwise toxicity; None without both."""
    there = [role for role in (OFFENSIVENESS, TOXICITY) if f"{role}_negative" in frame.columns]
    judged = [role for role in there if frame[f"{role}_negative"].count()]
    return next(iter([*judged, *reversed(there)]), None)
