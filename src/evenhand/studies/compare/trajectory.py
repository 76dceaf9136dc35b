"""Disparity and level of several models, ordered by size, by date, or by numbers that the user gave."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from evenhand.schema import UsageError
from evenhand.studies.compare.changes import LEVEL_CHANGE, SPREADS

SIZE, DATE = "size", "date"
FORMS = (
    "Give --by size (parameters), --by date (when each run began), or --by NAME=NUMBER,NUMBER,... in the order of the "
    "runs."
)
COURSE = {
    "benchmark": pl.String,
    "outcome": pl.String,
    "axis": pl.String,  # null: all responses together
    "measure": pl.String,  # DISPARITY or LEVEL
    "model": pl.String,
    "at": pl.Float64,  # position of the model: parameters, seconds since 1970, or the number that the user gave
    "estimate": pl.Float64,  # value of this model
    "change": pl.Float64,  # from the first model; low and high are the bounds of its 95% CI
    "low": pl.Float64,
    "high": pl.Float64,
    "q": pl.Float64,
    "verdict": pl.String,
    "unit": pl.String,
}
DISPARITY, LEVEL = "disparity", "level"


@dataclass(frozen=True)
class Order:
    """The variable that orders models: its name, and a number for each model in the given order."""

    name: str
    at: tuple[float, ...]

    @property
    def logarithmic(self) -> bool:
        """Return True if the axis is logarithmic: for sizes, and for positive numbers more than 20 times apart."""
        return (
            self.name != DATE and min(self.at) > 0 and (self.name == SIZE or max(self.at) > 20 * min(self.at))
        )

    def shown(self, value: float) -> str:
        """Return a value of the variable as text: a date if the models are ordered by date, otherwise a number."""
        if self.name == DATE:
            return datetime.fromtimestamp(value).strftime("%Y-%m-%d %H:%M")
        return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def read_order(
    by: str, sizes: Sequence[int | None], dates: Sequence[str | None], names: Sequence[str]
) -> Order:
    """Return the order of models that `--by` requests.

    `sizes` and `dates` are those of the models `names`; None if unknown. Raises UsageError for an unknown form, for a
    wrong number of values, and if all values are equal.

    >>> read_order("step=100,200", [None, None], [None, None], ["a", "b"])
    Order(name='step', at=(100.0, 200.0))
    """
    if by in (SIZE, DATE):
        known: list[Any] = list(sizes if by == SIZE else dates)
        silent = [name for name, value in zip(names, known, strict=True) if not value]
        if silent:
            what = "number of parameters" if by == SIZE else "start time"
            raise UsageError(
                f"`--by {by}` cannot order the runs: the {what} of the run {silent[0]!r} is unknown.",
                "Give a number for each run, in the order of the runs, under a name of your choice: --by "
                "NAME=NUMBER,NUMBER,...",
            )
        at = [float(value) if by == SIZE else datetime.fromisoformat(value).timestamp() for value in known]
        order = Order(by, tuple(at))
    else:
        name, equals, values = by.partition("=")
        try:
            numbers = tuple(float(value) for value in values.split(","))
        except ValueError as error:
            raise UsageError(
                f"`--by {by}` is neither size nor date, nor a name with a list of numbers.", FORMS
            ) from error
        if not (name.strip() and equals) or not all(map(math.isfinite, numbers)):
            raise UsageError(
                f"`--by {by}` lacks the name before the =, or contains a number that is not finite.", FORMS
            )
        if len(numbers) != len(names):
            raise UsageError(
                f"`--by {by}` has {len(numbers)} numbers, but there are {len(names)} runs.", FORMS
            )
        order = Order(name.strip(), numbers)
    if len(set(order.at)) < 2:
        raise UsageError(
            f"`--by {by}`: all runs have the same value, {order.shown(order.at[0])}, so they cannot be ordered.",
            FORMS,
        )
    return order


def course(changes: pl.DataFrame, names: Sequence[str], order: Order) -> pl.DataFrame:
    """Return the disparity and the level of each axis in each model, in the given order (columns: COURSE).

    Parameters
    ----------
    changes
        Changes of the comparison (columns: CHANGES). The disparity is the spread between the groups of an axis. The
        value of the first model is `before`; that of the others is `after`, with its paired change from the first.
    """
    at = dict(zip(names, order.at, strict=True))
    about = changes.filter(
        pl.col("group").is_null()
        & (pl.col("measure").str.contains(SPREADS) | (pl.col("measure") == LEVEL_CHANGE))
    )
    rows: list[dict[str, Any]] = []
    keys = ["benchmark", "outcome", "axis", "measure"]
    for (benchmark, outcome, axis, measure), part in about.group_by(keys, maintain_order=True):
        what = LEVEL if measure == LEVEL_CHANGE else DISPARITY
        place = {"benchmark": benchmark, "outcome": outcome, "axis": axis, "measure": what}
        found = part.to_dicts()
        rows.append(
            place
            | {
                "model": names[0],
                "at": at[names[0]],
                "estimate": found[0]["before"],
                "unit": found[0]["unit"],
            }
        )
        rows += [place | _make_course_row(row) | {"at": at[row["model"]]} for row in found]
    return pl.DataFrame(rows, schema=COURSE).sort(pl.col("measure") == LEVEL, "at", maintain_order=True)


def _make_course_row(row: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("model", "low", "high", "q", "verdict", "unit")
    return {name: row[name] for name in kept} | {"estimate": row["after"], "change": row["estimate"]}
