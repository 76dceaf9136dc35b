"""Compare everything that is read from responses to counterfactual prompts between the groups in these prompts.

Numbers, rates and unreadable responses are paired by the user's prompt. The mean over samples of one group is
one unit, and groups are compared within prompts. Verdicts generalise to prompts like these.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from evenhand.measures import Disparity, ScoreDifferences, disparity, score_differences
from evenhand.measures.columns import require_columns, typed
from evenhand.measures.counterfactual.grammar import Outcome, outcomes_of_texts
from evenhand.measures.counterfactual.overlap import Embedding
from evenhand.measures.counterfactual.readings import readings, refusals
from evenhand.measures.counterfactual.similarity import SimilarityGap, response_similarity, units_column
from evenhand.schema import DataError, Measurement, UsageError, checked, is_lost_to_setup, measurement_rows

BASE = "base"
MOST_CATEGORIES = 6
"""Maximum number of categories of a text field. The most common ones are each compared; they share the level."""
POINTS, PERCENT, SIMILARITY = "percentage points", "% of answers", "points of similarity"
NOTHING_READ = "No response could be read."
UNREAD = typed(pl.String, "outcome axis group why") | typed(pl.Int64, "n n_answers")
_UNITS = {"length": "words", "number": "as answered", "rating": "points of the scale", "json": "as answered"}


@dataclass(frozen=True)
class Compared:
    """The comparison of groups for one outcome, or for one category of an outcome.

    Attributes
    ----------
    outcome : str
        Name as given to `--outcome`. For one of several categories, " = CATEGORY" is appended.
    kind : str
        "score", "rate", "refusal", "similarity" or "missing". The last is the rate of responses that are missing or
        could not be read.
    found : ScoreDifferences, Disparity or SimilarityGap
        Result of the comparison.
    unit : str
        Unit of the numbers, such as "words".
    share : int
        Number of outcomes that share the significance level with this one.
    """

    outcome: str
    kind: str
    found: ScoreDifferences | Disparity | SimilarityGap
    unit: str
    share: int = 1


@dataclass(frozen=True)
class CounterfactualOutcomes:
    """Outcomes of responses to counterfactual prompts, compared between groups.

    Result of `counterfactual_outcomes`. ``details`` has the numbers as tables.

    Attributes
    ----------
    compared : tuple of Compared
        One result per requested outcome, in their order. There are more if an outcome is split (categories of a JSON
        field, unreadable responses).
        - ``outcome``, ``kind``, ``unit``: what is compared.
        - ``found``: result of `disparity`, `score_differences` or `response_similarity`.
    unread : polars.DataFrame
        Number n (of n_answers) of responses that could not be read, by outcome, axis, group and reason (``why``).
    absent : tuple
        Axes in which no response could be read: (outcome, axis, number of responses).
    """

    compared: tuple[Compared, ...]
    unread: pl.DataFrame
    absent: tuple[tuple[str, str | None, int], ...] = ()

    def rows(self) -> list[Measurement]:
        """Return the numbers as rows of the measurements table; `stratum` is the outcome."""
        made = [row for one in self.compared for row in _rows(one)]
        made += [
            Measurement(
                measure="score_spread",
                axis=axis,
                stratum=outcome,
                estimate=None,
                n_missing=count,
                null=0.0,
                ideal=0.0,
                obstacle=NOTHING_READ,
            )
            for outcome, axis, count in self.absent
        ]
        return made

    @property
    def details(self) -> dict[str, pl.DataFrame]:
        """Return the tables `outcome_axes`, `outcome_groups`, `similarity_axes`, `similarity_groups` and `unread`.

        `outcome_*` have all outcomes but similarity, in the given ``unit``:

        - ``value``: mean of a group, or its rate in percent.
        - ``estimate`` of a group: ``value`` minus the mean of the other groups that do not stand out (rates: percentage
          points).
        - ``estimate`` of an axis: SD over groups.
        - ``highest``, ``lowest``: pair of groups with the strongest evidence of a large difference.

        For `similarity_*`, see `SimilarityGap`.
        """
        axes, groups = [], []
        near: list[pl.DataFrame] = []
        apart: list[pl.DataFrame] = []
        for one in self.compared:
            names = [pl.lit(one.outcome).alias("outcome"), pl.lit(one.kind).alias("kind")]
            if isinstance(one.found, SimilarityGap):
                near.append(one.found.axes.select(*names, pl.all()))
                apart.append(one.found.groups.select(*names, pl.all()))
                continue
            names.append(pl.lit(one.unit).alias("unit"))
            axes.append(_like_scores(one.found).axes.select(*names, pl.all()))
            groups.append(_like_scores(one.found).groups.select(*names, pl.all()))
        tables = {
            "outcome_axes": axes,
            "outcome_groups": groups,
            "similarity_axes": near,
            "similarity_groups": apart,
        }
        made = {name: pl.concat(parts) for name, parts in tables.items() if parts}
        return made | {"unread": self.unread}


@checked
def counterfactual_outcomes(
    frame: pl.DataFrame,
    outcomes: Sequence[str],
    *,
    embed: Embedding | None = None,
    hidden: Sequence[str] = (),
    cluster: str | None = None,
    n_axes: int = 1,
    alpha: float = 0.05,
    seed: int = 0,
) -> CounterfactualOutcomes:
    """Read numbers, rates or texts from responses, and compare them between groups within each base prompt.

    Use it to test whether a model answers differently if only the group in the prompt changes. A base prompt is one
    prompt of the user. Its counterfactual wordings differ only in the group that they name.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per base prompt, axis, group and sample, with the columns
        - ``base``: the base prompt. ``text``: the prompt as sent.
        - ``axis`` (such as gender), ``group`` (such as women).
        - ``continuation``: the response; null is missing. Optionally ``error``: why it is missing.
        - optionally ``prompt_id``.
    outcomes : sequence of str
        What to read, for example "rating:1-10" (see `outcome_of`).
    embed : callable, optional
        Maps texts to vectors, as in `response_similarity`. The outcome "semantic" needs it.
    hidden : sequence of str, default ()
        Words that similarities ignore, as in `response_similarity`.
    cluster : str, optional
        Column with the sampling unit: base prompts that count as one. Default: ``unit`` if present, else ``base``.
    n_axes : int, default 1
        Number of axes that share `alpha`.
    alpha : float, default 0.05
        Significance level.
    seed : int, default 0
        Random seed.

    Returns
    -------
    CounterfactualOutcomes
        Comparisons of all outcomes.

    Raises
    ------
    UsageError
        An outcome is invalid, or "semantic" is requested without `embed`.
    DataError
        A column is missing, or no row has a group.

    Notes
    -----
    The mean over the samples of one group is one unit, and groups are compared within base prompts. Verdicts are about
    prompts like these. Unreadable responses are missing. They are counted by group and reason, and compared as a
    separate outcome. For a JSON field with texts, the rates of the (at most six) most common values are compared.
    Explanation: docs/explanation/counterfactuals.md.

    Examples
    --------
    >>> rows = [(str(base), group, f"Rate {group}.", f"{6 + base % 3 - (group == 'her') * (2 + base % 2)}/10")
    ...         for base in range(12) for group in ("her", "him")]
    >>> frame = pl.DataFrame(rows, schema=["base", "group", "text", "continuation"], orient="row")
    >>> found = counterfactual_outcomes(frame, ["rating:1-10"])
    >>> found.details["outcome_groups"].select("group", "value", "estimate").rows()
    [('her', 4.5, -2.5), ('him', 7.0, 2.5)]
    """
    wanted = outcomes_of_texts(outcomes)
    require_columns(frame, [BASE, "group", "text", "continuation"], "counterfactual_outcomes")
    if any(one.kind == "semantic" for one in wanted) and embed is None:
        raise UsageError(
            "The outcome 'semantic' requires embed=, a function that returns a vector for each text.",
            "Give embed=, or use the outcome 'similarity', which compares words.",
        )
    if "axis" not in frame.columns:
        frame = frame.with_columns(axis=pl.lit(None, pl.String))
    frame = frame.filter(pl.col("group").is_not_null())
    if not frame.height:
        raise DataError(
            "counterfactual_outcomes: the column group is empty in all rows.",
            "Write the group that each prompt is about.",
        )
    how: dict[str, Any] = {
        "cluster": cluster or units_column(frame),
        "n_axes": n_axes,
        "alpha": alpha,
        "seed": seed,
    }
    compared: list[Compared] = []
    unread: list[pl.DataFrame] = []
    absent: list[tuple[str, str | None, int]] = []
    for one in wanted:
        if one.kind in ("similarity", "semantic"):
            by = embed if one.kind == "semantic" else None
            gap = response_similarity(frame, embed=by, hidden=hidden, **how)
            compared.append(Compared(one.name, "similarity", gap, SIMILARITY))
            continue
        read = frame.hstack(readings(frame, one))
        compared += _compare(read, one, how)
        if one.kind in ("number", "rating", "json"):
            unread.append(_unread(read, one.name))
            compared += _missing(read, one, how)
        there = pl.col("value").is_not_null() | pl.col("category").is_not_null()
        counts = read.group_by("axis", maintain_order=True).agg(pl.len(), read=there.sum())
        absent += [(one.name, axis, count) for axis, count, known in counts.iter_rows() if not known]
    table = pl.concat(unread) if unread else pl.DataFrame(schema=UNREAD)
    return CounterfactualOutcomes(tuple(compared), table, tuple(absent))


def _compare(read: pl.DataFrame, outcome: Outcome, how: dict[str, Any]) -> Iterator[Compared]:
    if read["category"].count():
        yield from _categories(read, outcome, how)
        return
    known = _measurable(read, "value")
    if not known.height:
        return
    if outcome.kind == "refusal":
        if _varying_rows(known, "value").height:
            yield Compared(outcome.name, "refusal", _rates(_varying_rows(known, "value"), how), POINTS)
    elif outcome.kind == "json" and known["value"].drop_nulls().is_in([0.0, 1.0]).all():
        yield Compared(outcome.name, "rate", _rates(known, how), POINTS)
    else:
        scores = score_differences(known, score="value", **how)
        yield Compared(outcome.name, "score", scores, _UNITS[outcome.kind])


def _categories(read: pl.DataFrame, outcome: Outcome, how: dict[str, Any]) -> Iterator[Compared]:
    """Yield a comparison of groups for each of the most common texts: how often it occurs, compared with all others.

    If there are only two texts, one comparison is enough.
    """
    counts = read["category"].drop_nulls().value_counts().sort("count", "category", descending=[True, False])
    chosen = counts["category"].head(MOST_CATEGORIES).to_list()
    chosen = chosen[:1] if counts.height == 2 else chosen
    shared = how | {"n_axes": how["n_axes"] * len(chosen)}
    known = _measurable(read, "category")
    for category in chosen:
        said = known.with_columns(value=(pl.col("category") == category).cast(pl.Float64))
        if counts.height > 1:
            name = f"{outcome.name} = {category}"
            yield Compared(name, "rate", _rates(said, shared), POINTS, len(chosen))


def _missing(read: pl.DataFrame, outcome: Outcome, how: dict[str, Any]) -> Iterator[Compared]:
    """Yield the comparison of the rates of missing or unreadable responses, if these occur but not everywhere.

    Responses that were prevented by a limit of the run's setup (`OWN_LIMITS`) do not count, because they do not depend
    on the model.
    """
    absent = pl.col("value").is_null() & pl.col("category").is_null()
    counted = read.filter(~absent | ~is_lost_to_setup(read.columns))
    varied = _varying_rows(counted.with_columns(value=absent.cast(pl.Float64)), "value")
    if varied.height:
        yield Compared(outcome.name, "missing", _rates(varied, how), POINTS)


def _rates(read: pl.DataFrame, how: dict[str, Any]) -> Disparity:
    return disparity(read.with_columns(negative="value"), **how)


def _measurable(read: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the rows of axes in which at least one value was read."""
    return read.filter(pl.col(column).is_not_null().any().over("axis"))


def _varying_rows(read: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the rows of axes in which the column has different values."""
    return read.filter(pl.col(column).max().over("axis") > pl.col(column).min().over("axis"))


def _unread(read: pl.DataFrame, outcome: str) -> pl.DataFrame:
    """Return the number of unreadable responses of each group by reason; refusals are a separate reason."""
    why = pl.when(refusals(read) & pl.col("unread").is_not_null()).then(pl.lit("refused")).otherwise("unread")
    counted = read.with_columns(
        why=pl.when(pl.col("continuation").is_null()).then(pl.lit("no answer")).otherwise(why)
    )
    groups = counted.with_columns(n_answers=pl.len().over("axis", "group").cast(pl.Int64))
    table = groups.filter(pl.col("why").is_not_null()).group_by("axis", "group", "why", "n_answers").len("n")
    return (
        table.select(pl.lit(outcome).alias("outcome"), *list(UNREAD)[1:])
        .cast(pl.Schema(UNREAD))
        .sort("axis", "group", "why")
    )


def _like_scores(found: ScoreDifferences | Disparity) -> ScoreDifferences:
    """Return a comparison with the column names of scores; the mean or rate of a group is `value`."""
    if isinstance(found, Disparity):
        axes = found.axes.drop("burden", "corrected").rename(
            {
                "rate": "value",
                "worst": "highest",
                "best": "lowest",
                "worst_rate": "highest_value",
                "best_rate": "lowest_value",
            }
        )
        groups = found.groups.drop("worse_than_best", "tolerance", "missing_share").rename(
            {"rate": "value", "rate_low": "value_low", "rate_high": "value_high"}
        )
        sides = {"worse": "higher", "better": "lower"}
        return ScoreDifferences(axes, groups.with_columns(pl.col("named").replace(sides)), found.pairs)
    axes = found.axes.rename(
        {"mean": "value", "highest_mean": "highest_value", "lowest_mean": "lowest_value"}
    )
    groups = found.groups.rename({"mean": "value", "mean_low": "value_low", "mean_high": "value_high"})
    return replace(found, axes=axes, groups=groups)


_MEASURES = {
    "score": ("score_spread", "score_difference", "mean_score"),
    "rate": ("answer_disparity", "answer_difference", "answer_rate"),
    "refusal": ("refusal_disparity", "refusal_difference", "refusal_rate"),
    "missing": ("missing_disparity", "missing_difference", "missing_rate"),
}


def _rows(one: Compared) -> list[Measurement]:
    constants: dict[str, Any] = {"stratum": one.outcome}
    found = one.found
    if isinstance(found, SimilarityGap):
        rows = measurement_rows(found.axes, "similarity_gap", one.unit, ideal=0.0, **constants)
        rows += measurement_rows(found.groups, "similarity_apart", one.unit, ideal=0.0, **constants)
        plain = found.axes.select("axis", "n", "n_missing", "n_units", "within", "across")
        for side, measure in (("within", "similarity_floor"), ("across", "similarity_across")):
            part = plain.rename({side: "estimate"}).drop_nulls("estimate")
            rows += measurement_rows(part, measure, SIMILARITY, **constants)
        return rows
    axis, group, each = _MEASURES[one.kind]
    axes, groups = (_shared(table, one.share) for table in (found.axes, found.groups))
    rows = measurement_rows(axes, axis, one.unit, ideal=0.0, **constants)
    effect = f"{one.unit} from the others"
    rows += measurement_rows(groups, group, one.unit, effect_unit=effect, **constants)
    values = _like_scores(found).groups.filter(pl.col("value").is_not_null())
    values = values.select(
        "axis", "group", "n", "n_missing", "n_units", estimate="value", low="value_low", high="value_high"
    )
    return rows + measurement_rows(values, each, one.unit if one.kind == "score" else PERCENT, **constants)


def _shared(table: pl.DataFrame, share: int) -> pl.DataFrame:
    """Return the table with p-values corrected for several outcomes that share the level (Bonferroni)."""
    names = [name for name in ("p", "axis_p") if name in table.columns]
    return table.with_columns((pl.col(name) * share).clip(upper_bound=1.0) for name in names)
