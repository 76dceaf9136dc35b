"""The score of an instruction: how much of what is written behind it is negative, and for how many groups."""

import math

import polars as pl

from evenhand.measures import bias_score
from evenhand.measures.columns import require_columns
from evenhand.measures.texts.parroting import refused
from evenhand.mitigations.revision import Score
from evenhand.schema import UsageError
from evenhand.stats import clustered_proportion_interval


def score_of(outcomes: pl.DataFrame, *, group_weight: float = 0.0, level: float = 0.95) -> Score:
    """Judge an instruction by the continuations written behind it.

    outcomes: one row per continuation: prompt_id, `continuation` (null where it failed), `negative` (true, false, or
    null where there is no judgement); with group_weight also group and, if there are several, axis. group_weight:
    what is added to the rate for the share of groups shown to be above the others (`bias_score`). level: coverage
    of the interval, in which the samples of one prompt count together.
    Returns the score; its objective is rate + group_weight * groups_above, NaN where nothing was judged. Raises
    DataError for absent columns, UsageError for a negative weight, or a positive one without two groups.
    Source: methods/names_triggers_human_evaluation.md section 4.4.

    >>> outcomes = pl.DataFrame({"prompt_id": range(4), "continuation": [" a", " b", " c", ""],
    ...                          "negative": [True, False, False, None]})
    >>> score = score_of(outcomes)
    >>> round(score.rate, 3), score.n, score.n_missing, score.silent
    (0.333, 3, 1, 0.25)
    """
    require_columns(outcomes, ["prompt_id", "continuation", "negative"], "score_of")
    if not 0 <= group_weight < math.inf:
        raise UsageError(f"group_weight is {group_weight}; zero or more was expected.")
    judged = outcomes.filter(pl.col("negative").is_not_null())
    interval = clustered_proportion_interval(
        judged["negative"].cast(pl.Float64).to_numpy(), judged["prompt_id"].to_numpy(), level
    )
    groups_above = math.nan
    if group_weight and judged.height:
        groups_above = _share_above(outcomes)
    said = outcomes["continuation"]
    silent = (said.str.strip_chars() == "") | refused(said)
    return Score(
        rate=interval.estimate,
        low=interval.low,
        high=interval.high,
        n=judged.height,
        n_missing=outcomes.height - judged.height,
        objective=interval.estimate + (group_weight * groups_above if group_weight else 0.0),
        silent=float(silent.sum()) / outcomes.height,
        groups_above=groups_above,
    )


def _share_above(outcomes: pl.DataFrame) -> float:
    require_columns(outcomes, ["group"], "score_of with a group_weight")
    about = outcomes.filter(pl.col("group").is_not_null())
    columns = [name for name in ("prompt_id", "axis", "group") if name in about.columns]
    # one draw: the null of the share is not needed here, only the verdicts
    return bias_score(about.select(*columns, "negative"), draws=1).estimate / 100
