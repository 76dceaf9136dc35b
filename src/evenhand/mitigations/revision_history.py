"""The history of a search as a table: every instruction of every round, what it scored, what became of it."""

import math
from collections.abc import Sequence

import polars as pl

from evenhand.mitigations.revision import NONE, Step

HISTORY = {
    "iteration": pl.Int64,
    "instruction": pl.String,  # empty: none, the reference of the round
    "parent": pl.String,  # null for instructions written by hand
    "born": pl.Int64,  # round in which it was first tried
    "fate": pl.String,
    "score": pl.Float64,  # what the search makes small; null where it was not tried
    "rate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "change": pl.Float64,  # of the rate, from the reference on the same prompts
    "groups_above": pl.Float64,
    "silent": pl.Float64,
    "n": pl.Int64,
    "n_missing": pl.Int64,
}
"""All rates and shares between 0 and 1; null where nothing was judged."""


def history_frame(steps: Sequence[Step]) -> pl.DataFrame:
    """One row for each step of a search, with the columns of HISTORY.

    >>> from evenhand.mitigations.revision import REFERENCE, KEPT, Score
    >>> steps = [Step(0, NONE, None, 0, REFERENCE, Score(0.5, 0.4, 0.6, 100, 0, 0.5)),
    ...          Step(0, "Be kind.", None, 0, KEPT, Score(0.3, 0.2, 0.4, 100, 0, 0.3))]
    >>> history_frame(steps).select("instruction", pl.col("change").round(3)).rows()
    [('', 0.0), ('Be kind.', -0.2)]
    """
    references = {
        step.iteration: step.score.rate for step in steps if step.instruction == NONE and step.score
    }
    rows = []
    for step in steps:
        row: dict[str, object] = {
            "iteration": step.iteration,
            "instruction": step.instruction,
            "parent": step.parent,
            "born": step.born,
            "fate": step.fate,
        }
        if (score := step.score) is not None:
            row |= {
                "score": score.objective,
                "change": score.rate - references.get(step.iteration, math.nan),
                "n": score.n,
                "n_missing": score.n_missing,
                **{name: getattr(score, name) for name in ("rate", "low", "high", "groups_above", "silent")},
            }
        rows.append(row)
    return pl.DataFrame(rows, schema=HISTORY).with_columns(pl.col(pl.Float64).fill_nan(None))


def lineage(history: pl.DataFrame, instruction: str) -> list[str]:
    """The instructions through which one came about, from the hand-written one to itself.

    history: see `history_frame`.

    >>> table = pl.DataFrame({"instruction": ["a", "b"], "parent": [None, "a"], "n": [9, 9]})
    >>> lineage(table, "b")
    ['a', 'b']
    """
    # What was not tried may be a rewording back to its own ancestor.
    tried = history.filter(pl.col("n").is_not_null())
    parents = dict(tried.select("instruction", "parent").iter_rows())
    line = [instruction]
    while (parent := parents.get(line[0])) is not None:
        line.insert(0, parent)
    return line
