"""Ratings of models and groups: shares or means, differences, and marks on turns."""

from collections.abc import Iterator, Sequence

import polars as pl

from evenhand.annotation.analysis.preferring import extract_level
from evenhand.annotation.analysis.tables import MARKS, RATED, find_questions
from evenhand.measures import rating_differences, rating_rates

UNNAMED = "(no model named)"
MARKED = "marked"
AXIS = "axis"
MARK_COLUMNS = ("question", "option", "model", "turn", "n", "n_marked", "estimate", "low", "high", "obstacle")


def ratings(
    votes: pl.DataFrame, key: str | None, *, baseline: str | None, alpha: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compute rates and differences by model, and by the items' column `key`.

    votes: included judgements. Texts without a model name form one level in the rates and are excluded from
    differences. If both models and groups are compared, q and verdicts are corrected for both together.
    """
    mine = votes.filter(pl.col("measurement").is_in(RATED))
    if mine.is_empty():
        return pl.DataFrame(), pl.DataFrame()
    split = key is not None and mine.select(extract_level(key)).to_series().null_count() < mine.height
    ways = [("model", None), *([(key, axis_of_groups(mine, key))] if key is not None and split else [])]
    rates = [rating_rates(_name_models(mine, way), by=way, within=within) for way, within in ways]
    # models and groups are two families of tests; a study of one model has only one
    families = max(1, sum(_levels(mine, way) > 1 for way, _ in ways))
    compared = [
        rating_differences(
            mine,
            by=way,
            within=within,
            baseline=baseline if way == "model" else None,
            alpha=alpha / families,
        ).with_columns(q=(pl.col("q") * families).clip(upper_bound=1.0))
        for way, within in ways
    ]
    return pl.concat(rates), pl.concat(compared)


def axis_of_groups(votes: pl.DataFrame, key: str) -> str | None:
    """Return the column within which levels of `key` are compared: the axis, if most levels belong to only one axis.

    Groups are then compared only within an axis: men with women, but not with a religion. Templates occur on every axis
    and are compared with each other.
    """
    if key == AXIS:
        return None
    told = votes.select(level=extract_level(key), axis=extract_level(AXIS)).drop_nulls().unique()
    alone = told.group_by("level").len()["len"] == 1
    return AXIS if alone.len() and 2 * int(alone.sum()) > alone.len() else None


def _levels(votes: pl.DataFrame, way: str) -> int:
    told = votes[way] if way in votes.columns else votes.select(extract_level(way)).to_series()
    return told.drop_nulls().n_unique()


def _name_models(votes: pl.DataFrame, way: str) -> pl.DataFrame:
    return votes.with_columns(pl.col("model").fill_null(UNNAMED)) if way == "model" else votes


def marks(votes: pl.DataFrame) -> pl.DataFrame:
    """Return the share of conversations with each mark, on any turn and by turn (see `PeopleTables.marks`)."""
    found = list(_marks(votes))
    return pl.concat(found) if found else pl.DataFrame()


def _marks(votes: pl.DataFrame) -> Iterator[pl.DataFrame]:
    for question in find_questions(votes, (MARKS,)):
        mine = votes.filter((pl.col("question") == question) & (pl.col("measurement") == MARKS))
        shown = mine.unique("presentation", maintain_order=True)
        # a row without a turn means that nothing was marked
        marked = mine.filter(pl.col("turn").is_not_null())
        for option in sorted(marked["answer"].unique()):
            given = marked.filter(pl.col("answer") == option)
            turns: Sequence[int | None] = [None, *sorted(given["turn"].unique())]
            for turn in turns:
                where = given if turn is None else given.filter(pl.col("turn") == turn)
                yield _rate_marks(shown, where["presentation"], question, option, turn)


def _rate_marks(
    shown: pl.DataFrame, presentations: pl.Series, question: str, option: str, turn: int | None
) -> pl.DataFrame:
    """Return the share of conversations with a mark in the form of a share of answers, with
    annotators and items as usual.
    """
    has = pl.col("presentation").is_in(presentations.unique().to_list())
    asked = shown.with_columns(
        pl.col("model").fill_null(UNNAMED),
        answer=pl.when(has).then(pl.lit(MARKED)).otherwise(pl.lit("unmarked")),
        value=has.cast(pl.Float64),
        measurement=pl.lit("nominal"),
        turn=pl.lit(None, pl.Int64),
    )
    counts = asked.group_by("model").agg(n_marked=pl.col("value").sum().cast(pl.Int64))
    rates = rating_rates(asked, question, by="model").filter(pl.col("option") == MARKED)
    return (
        rates.with_columns(pl.lit(option).alias("option"), turn=pl.lit(turn, pl.Int64), model=pl.col("level"))
        .join(counts, on="model", maintain_order="left")
        .select(MARK_COLUMNS)
    )
