"""Attrition: how many annotators joined, where they left, and how many judgements are included; each is in one row."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from evenhand.annotation.analysis.tables import MARKS
from evenhand.reports import listing

NOT_PASSED, LEFT = "did not pass the onboarding", "left before the first item"
BLOCKED, REVIEWED = "blocked by an admin", "rejected by a reviewer"
RULED, TOO_LATE, COUNTED = "excluded by a rule", "place had gone to somebody else", "counted"
STATES = (NOT_PASSED, LEFT, BLOCKED, REVIEWED, RULED, TOO_LATE, COUNTED)
ATTRITION = {"state": pl.String, "n_persons": pl.Int64, "n_votes": pl.Int64, "n_answers": pl.Int64}


def attrition(votes: pl.DataFrame, stored: pl.Series) -> pl.DataFrame:
    """Return one row per final state of annotators and judgements (see `PeopleTables.attrition`).

    votes: VOTES, with `excluded` according to the rules. stored: `excluded` in the export, which shows who passed the
    onboarding.
    """
    real = pl.col("role") == "real"
    rows = votes.with_columns(stored=stored, state=_state_of_row())
    persons = rows.group_by("person").agg(
        came=real.any(),
        states=pl.col("state").unique(),
        of_votes=pl.col("state").filter(real).unique(),
        failed=pl.col("stored").fill_null("").str.split(",").list.contains("onboarding_below").any(),
    )
    has = pl.col("states").list.contains
    ended = (
        pl.when(pl.col("of_votes").list.contains(COUNTED))
        .then(pl.lit(COUNTED))
        .when(has(BLOCKED))
        .then(pl.lit(BLOCKED))
        .when(has(REVIEWED))
        .then(pl.lit(REVIEWED))
        .when(~pl.col("came") & pl.col("failed"))
        .then(pl.lit(NOT_PASSED))
        .when(~pl.col("came"))
        .then(pl.lit(LEFT))
        .when(has(RULED))
        .then(pl.lit(RULED))
        .otherwise(pl.lit(TOO_LATE))
    )
    n_persons = persons.group_by(ended.alias("state")).agg(n_persons=pl.len())
    said = pl.col("answer").is_not_null() | (pl.col("measurement") == MARKS)
    of_items = rows.filter(real)
    n_votes = of_items.group_by("state").agg(n_votes=pl.col("presentation").n_unique())
    n_answers = (
        of_items.filter(said).unique(["presentation", "question"]).group_by("state").agg(n_answers=pl.len())
    )
    return (
        pl.DataFrame({"state": STATES})
        .join(n_persons, on="state", how="left", maintain_order="left")
        .join(n_votes, on="state", how="left", maintain_order="left")
        .join(n_answers, on="state", how="left", maintain_order="left")
        .with_columns(pl.exclude("state").fill_null(0))
        .filter(pl.sum_horizontal(pl.exclude("state")) > 0)
        .cast(ATTRITION)  # type: ignore[arg-type]  # names and types, as it takes them
    )


def _state_of_row() -> pl.Expr:
    names = pl.col("excluded").fill_null("").str.split(",")
    return (
        pl.when(pl.col("excluded").is_null())
        .then(pl.lit(COUNTED))
        .when(names.list.contains("blocked"))
        .then(pl.lit(BLOCKED))
        .when(names.list.contains("rejected"))
        .then(pl.lit(REVIEWED))
        .when(pl.col("excluded") == "place_taken")
        .then(pl.lit(TOO_LATE))
        .otherwise(pl.lit(RULED))
    )


def describe_attrition(table: pl.DataFrame) -> str:
    """Return a sentence on where annotators were lost.

    table: result of `attrition`.
    """
    ended: Mapping[str, Any] = dict(table.select("state", "n_persons").iter_rows())
    total = sum(ended.values())
    lost = [_describe_lost(state, ended[state]) for state in STATES[:-1] if ended.get(state)]
    counted = ended.get(COUNTED, 0)
    included = f"{counted:,} {'is' if counted == 1 else 'are'} included"
    return f"Of {total:,} annotator{'' if total == 1 else 's'}, {listing([*lost, included])}."


def _describe_lost(state: str, n: int) -> str:
    verb = {
        BLOCKED: "was " if n == 1 else "were ",
        REVIEWED: "was " if n == 1 else "were ",
        RULED: "was " if n == 1 else "were ",
        TOO_LATE: "came too late, when the ",
    }.get(state, "")
    return f"{n:,} {verb}{state}"
