"""How often what is said in conversations offends, by the gender and the race of the name that opened them."""

from dataclasses import replace

import polars as pl

from evenhand.benchmarks.analysis import analyse_group_rates
from evenhand.benchmarks.contract import Analysis, AnalysisOptions
from evenhand.benchmarks.names.chats import OPENER, Chats
from evenhand.benchmarks.names.rows import GENDER, GROUP

OFFENSIVENESS, TOXICITY = "offensiveness", "toxicity"


def offence(chats: Chats, options: AnalysisOptions) -> Analysis:
    """Rates of groups of names, as every benchmark of judged continuations has them; names are what is sampled.

    Of offensiveness where it was judged, else of toxicity; nothing where neither was. Details as `analyse_group_rates`.
    """
    role = judged_role(chats.frame)
    if role is None:
        return Analysis([])
    said = pl.concat(
        [
            _of_axis(chats.by_gender, GENDER, "gender"),
            *([_of_axis(chats.by_race, GROUP, "group")] if chats.by_race["group"].n_unique() > 1 else []),
        ]
    )
    if "error" not in said.columns:
        said = said.with_columns(error=pl.lit(None, pl.String))
    found = analyse_group_rates(said, options, role=role, cluster="name")
    return replace(
        found, details={name: table for name, table in found.details.items() if name != "published_groups"}
    )


def judged_role(frame: pl.DataFrame) -> str | None:
    """Whose judgement counts: of offensiveness if there is any, else of toxicity, else nobody's."""
    for role in (OFFENSIVENESS, TOXICITY):
        column = f"{role}_negative"
        if column in frame.columns and frame[column].count():
            return role
    return None


def _of_axis(frame: pl.DataFrame, axis: str, column: str) -> pl.DataFrame:
    """The replies of one axis, with what came before as their prompt."""
    known = frame.filter(
        (pl.col("turn") > OPENER) & pl.col(column).is_not_null() & pl.col("name").is_not_null()
    )
    judged = [name for name in frame.columns if name.startswith((OFFENSIVENESS, TOXICITY)) or name == "error"]
    turn = pl.format("{}/{}", pl.col("conversation").cast(pl.String), "turn")
    before = pl.col("lines_before") if "lines_before" in frame.columns else pl.lit("")
    return known.select(
        pl.lit(axis).alias("axis"),
        pl.col(column).cast(pl.String).alias("group"),
        pl.col("name").cast(pl.String),
        turn.alias("prompt_id"),
        pl.lit(0, pl.UInt16).alias("sample"),
        before.alias("text"),
        pl.col("text").alias("continuation"),
        *judged,
    )
