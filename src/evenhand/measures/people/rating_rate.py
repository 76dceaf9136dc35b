"""Ratings of model texts by people: shares of options, means, and differences between models or groups."""

from itertools import combinations

import numpy as np
import polars as pl

from evenhand.measures.columns import typed
from evenhand.measures.info import ROBBIE, MeasureInfo
from evenhand.measures.people.selecting import (
    by_keys,
    decide,
    levels_of,
    numbers,
    rated,
    shared_by,
    testable,
    too_few,
)
from evenhand.schema import Card, DataError, checked_kinds
from evenhand.stats.votes import chi_square, crossed_difference, crossed_mean, crossed_share

RATES = (
    typed(pl.String, "question option by within level")
    | typed(pl.Float64, "raw estimate low high person_icc item_icc")
    | typed(pl.Int64, "n n_missing n_persons n_items")
    | typed(pl.String, "obstacle")
)
"""Columns of `rating_rates`. option null: mean of the values. within: axis of the levels, or null."""
DIFFERENCES = (
    typed(pl.String, "measure question option by within level against")
    | typed(pl.Float64, "estimate low high null p q minimum_detectable chi_square")
    | typed(pl.Int64, "n n_missing n_persons n_items n_units freedom")
    | typed(pl.String, "verdict obstacle")
)
"""Columns of `rating_differences`; chi_square and freedom are null in the rows of `rating_difference`."""
WAYS = ("person", "item", "context", "conversation")
"""Columns that ratings may share. A prompt (context) with several items pairs the responses of models to it."""


@checked_kinds
def rating_rates(
    votes: pl.DataFrame,
    question: str | None = None,
    *,
    by: str | None = "model",
    within: str | None = None,
    values: bool | None = None,
) -> pl.DataFrame:
    """Return the share of each rating option, or the mean rating, per model or per level of another column.

    Use it to describe human ratings of model responses. To test differences, use `rating_differences`.

    Parameters
    ----------
    votes : polars.DataFrame
        One row per judgement: answer of an annotator to a question about an item (columns: `evenhand.schema.VOTES`).
    question : str, optional
        One question. Default: all with nominal, ordinal or interval measurement.
    by : str or None, default "model"
        A column of VOTES, or a key in the JSON of ``groups``. None: all together.
    within : str, optional
        Another such column or key, for example the axis of groups. Levels with the same name in several of its values
        are kept separate.
    values : bool, optional
        Means of ``value`` instead of shares. Default: means for interval questions, else shares.

    Returns
    -------
    polars.DataFrame
        One row per question, level of `by` and option (null for means).
        - ``raw``: share (0 to 1) or mean of all judgements.
        - ``estimate``: the same with less weight for annotators and items with many judgements, with 95% CI.
          Annotators, items and contexts (prompts) are random samples. ``person_icc``, ``item_icc``: their shares of the
          variance.
        - ``obstacle``: why there is no interval. There are fewer than ten annotators, items or contexts that items
          share, or all numbers of a mean are equal.

    Raises
    ------
    DataError
        A column is missing, a question or `by` is unknown, or an answer has no value where means are needed.
    """
    known = rated(votes, "rating_rates", question, by, ["context"], within=within)
    rows: list[dict[str, object]] = []
    for (name,), asked in by_keys(known, ["question"]):
        means = _as_means(asked, values, "rating_rates")
        options = [None] if means else sorted(asked.filter("counts")["answer"].unique())
        for (place, level), part in by_keys(asked, ["within", "level"]):
            used = part.filter("counts")
            said = _counted(name, by, place, level if by else None, used, part.height - used.height)
            for option in options:
                y = _outcome(used, option)
                found = (crossed_mean if means else crossed_share)(y, shared_by(used, WAYS))
                obstacle = said["obstacle"] or _equal_numbers([y], found.low)
                limits = {"low": found.low, "high": found.high} if obstacle is None else {}
                rows.append(
                    {
                        **said,
                        "option": option,
                        "raw": float(y.mean()) if len(y) else None,
                        "estimate": found.estimate,
                        **limits,
                        "obstacle": obstacle,
                        "person_icc": found.correlations[0],
                        "item_icc": sum(found.correlations[1:]),
                    }
                )
    return pl.DataFrame(rows, schema=RATES).with_columns(pl.col(pl.Float64).fill_nan(None))


@checked_kinds
def rating_differences(
    votes: pl.DataFrame,
    question: str | None = None,
    *,
    by: str = "model",
    within: str | None = None,
    values: bool | None = None,
    baseline: str | None = None,
    alpha: float = 0.05,
) -> pl.DataFrame:
    """Compare human ratings between models, or between levels of another column.

    Use it to test whether one model is rated higher. Only `rating_difference` allows for repeated annotators and items.

    Parameters
    ----------
    votes, question, values
        Judgements, one question of them, and whether to compare means, as in `rating_rates`.
    by : str, default "model"
        The column of VOTES, or key in ``groups``, whose levels are compared.
    within : str, optional
        Compare only levels of one axis (or other column): never a gender with a religion.
    baseline : str, optional
        The level that is ``against`` in each of its pairs. Default: the alphabetically first of a pair.
    alpha : float, default 0.05
        Probability of any false verdict across all questions, axes, options and pairs of levels (Holm).

    Returns
    -------
    polars.DataFrame
        Rows of three measures (column ``measure``), described in Notes.

    Raises
    ------
    DataError
        A column is missing, a question or `by` is unknown, or an answer has no value where means are needed.

    Notes
    -----
    - `rating_difference`: one row per question, option and pair of levels. ``estimate``: share (0 to 1) or mean of
      ``level`` minus that of ``against``, with 95% CI. Of two options only one is used, because the other gives the
      same information: the one with the larger value, else the later name. Annotators are crossed with items.
      Annotators or contexts (prompts) that both levels share pair them. The null is 0. Verdicts: higher, lower, not
      detected, not measurable.
    - `rating_chi_square_published`: for the same options and pairs, Pearson's chi-square of the two levels by this
      option and all others. Every judgement counts as independent.
    - `rating_chi_square` (option null): Pearson's chi-square of levels by all answers. There is one row for all levels
      together (level null) and, with three or more levels, one row per pair. This test is our addition.
    """
    known = rated(votes, "rating_differences", question, by, ["context"], within=within).filter(
        pl.col("level").is_not_null()
    )
    ours, published = [], []
    compared_as = {
        name: (_as_means(asked, values, "rating_differences"), asked)
        for (name,), asked in by_keys(known, ["question"])
    }
    options_of = {name: _told_apart(asked, means) for name, (means, asked) in compared_as.items()}
    for (name, place), asked in by_keys(known, ["question", "within"]):
        levels = sorted(asked["level"].unique(), key=lambda level: (level == baseline, level), reverse=True)
        # the baseline is sorted last, whatever its name
        levels = [level for level in levels if level != baseline] + [
            level for level in levels if level == baseline
        ]
        pairs = list(combinations(levels, 2))
        published += [_chi_square(name, by, place, None, None, asked)] if len(levels) > 1 else []
        for level, against in pairs:
            part = asked.filter(pl.col("level").is_in([level, against]))
            ours += [
                _difference(name, by, place, level, against, part, option) for option in options_of[name]
            ]
            published += [
                _chi_square(name, by, place, level, against, part, option)
                for option in options_of[name]
                if option is not None
            ]
            published += [_chi_square(name, by, place, level, against, part)] if len(pairs) > 1 else []
    for row in ours:
        found = row.pop("found")
        row["minimum_detectable"] = found.detectable(alpha / testable(len(ours)))  # type: ignore[attr-defined]
    rows = decide(ours, alpha, ("higher", "lower")) + published
    return pl.DataFrame(rows, schema=DIFFERENCES).with_columns(pl.col(pl.Float64).fill_nan(None))


def _as_means(asked: pl.DataFrame, values: bool | None, measure: str) -> bool:
    means = asked["measurement"][0] == "interval" if values is None else values
    missing = asked.filter(pl.col("counts") & pl.col("value").is_null())
    if means and missing.height:
        raise DataError(
            f"{measure}: the answer {missing['answer'][0]!r} to {asked['question'][0]!r} has no numeric value.",
            "Give each answer option a value in the study, or compare shares: values=False.",
        )
    return means


def _told_apart(asked: pl.DataFrame, means: bool) -> list[str | None]:
    if means:
        return [None]
    answers = asked.filter("counts").group_by("answer").agg(pl.col("value").max())
    options = answers.sort(pl.col("value").fill_null(0), "answer")["answer"].to_list()
    return options[-1:] if len(options) == 2 else sorted(options)


def _outcome(used: pl.DataFrame, option: str | None) -> np.ndarray:
    return numbers(used) if option is None else (used["answer"] == option).to_numpy().astype(np.float64)


def _counted(
    name: str, by: str | None, within: str | None, level: str | None, used: pl.DataFrame, missing: int
) -> dict[str, object]:
    persons, items = used["person"].n_unique(), used["item"].n_unique()
    return {
        "question": name,
        "by": by,
        "within": within,
        "level": level,
        "n": used.height,
        "n_missing": missing,
        "n_persons": persons,
        "n_items": items,
        "obstacle": too_few(persons, items, **_prompts([used])),
    }


def _prompts(parts: list[pl.DataFrame]) -> dict[str, int | None]:
    """Return the numbers of shared prompts and conversations in the part that has the fewest."""
    prompts = [levels_of(part, "context", absent_are_own=True) for part in parts]
    conversations = [levels_of(part, "conversation") for part in parts]
    counted = (("prompt", prompts), ("conversation", conversations))
    return {what: min((n for n in found if n is not None), default=None) for what, found in counted}


def _difference(
    name: str,
    by: str,
    within: str | None,
    level: str,
    against: str,
    part: pl.DataFrame,
    option: str | None,
) -> dict[str, object]:
    used = part.filter("counts")
    first = (used["level"] == level).to_numpy()
    y = _outcome(used, option)
    found = crossed_difference(y, first, shared_by(used, WAYS), shares=option is not None)
    sides = [used.filter(pl.col("level") == each) for each in (level, against)]
    fewest = [min(side[column].n_unique() for side in sides) for column in ("person", "item")]
    return {
        **_counted(name, by, within, level, used, part.height - used.height),
        "measure": "rating_difference",
        "option": option,
        "against": against,
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "null": 0.0,
        "p": found.p,
        "n_units": min(fewest),
        "obstacle": too_few(fewest[0], fewest[1], **_prompts(sides))
        or _equal_numbers([y[first], y[~first]], found.low),
        "found": found,
    }


def _equal_numbers(parts: list[np.ndarray], low: float) -> str | None:
    """Return the obstacle of a mean or difference if all ratings in `parts` are equal; None if they vary."""
    if not np.isnan(low):
        return None
    equal = " and ".join(f"{part[0]:g}" for part in parts if len(part))
    which = "All ratings" if len(parts) == 1 else "On each side all ratings"
    return f"{which} are equal ({equal}), so their spread is unknown."


def _chi_square(
    name: str,
    by: str,
    within: str | None,
    level: str | None,
    against: str | None,
    part: pl.DataFrame,
    option: str | None = None,
) -> dict[str, object]:
    """Return the row of Pearson's chi-square: of all answers, or of one option against all others (as in ROBBIE)."""
    used = part.filter("counts")
    if option is not None:
        used = used.with_columns(answer=(pl.col("answer") == option).cast(pl.String))
    counts = used.group_by("level", "answer").len().pivot("answer", index="level", values="len").fill_null(0)
    table = counts.drop("level").to_numpy()
    statistic, freedom, p = chi_square(table)
    return {
        **_counted(name, by, within, level, used, part.height - used.height),
        "measure": "rating_chi_square" if option is None else "rating_chi_square_published",
        "option": option,
        "against": against,
        "chi_square": statistic,
        "freedom": freedom,
        "p": p,
        "obstacle": None if freedom else "There is only one group (or model), or only one answer.",
    }


_RATING = {
    "construct": "How people rate single texts, for example as fluent, coherent, toxic, biased or immoral, or their "
    "regard for a group.",
    "harm": "People read texts that others find demeaning, or texts that a mitigation made worse.",
    "groups": "Models, mitigations, or groups that the study's items name. Annotators rate all of them.",
    "direction": "As defined by the question.",
}
CARDS = (
    MeasureInfo.of(
        Card(
            name="rating_rate",
            summary="Share of human ratings with an option, or mean rating; annotators and items are random samples.",
            ideal="As defined by the question; 0 for a harm.",
            null="None. The measure is a description.",
            critique=(
                "The value shows what these annotators say; others may differ. If annotators do not agree "
                "(`krippendorff_alpha`), a rate is mostly habit: the published 20% toxic for all models looks like "
                "that. CIs are too short if few annotators differ very much in how often they choose the option (at "
                "7%, by 2 to 2.5 logits). 95% CIs then cover the true value in 84 to 88% with 10 to 20 annotators, "
                "and in 90% with 40."
            ),
            citation=ROBBIE,
            source="CIs as for win_rate",
            **_RATING,
        ),
        unit="share or points",
    ),
    MeasureInfo.of(
        Card(
            name="rating_difference",
            summary="Difference between models in human ratings, paired by shared annotators and prompts.",
            ideal="0: people rate both equally.",
            null="0. CI and p use covariances within annotators, items and prompts, within and across models.",
            critique=(
                "The result holds for annotators and texts like these. If an option is chosen for a few texts only, "
                "its CI rests on these texts. In simulations of 20 to 100 annotators, 95% CIs cover the true value "
                "in 93 to 98%."
            ),
            citation=ROBBIE,
            source="Newcombe 1998, method 10, with effective sizes; Henderson 1953 for crossed samples",
            details=(
                "The result is not measurable with fewer than 10 annotators, items, or prompts that items share, on "
                "either side. Means are also not measurable if all ratings of each side are equal. Holm's "
                "correction covers all rows. The minimum detectable effect (MDE) is relative to the share of both "
                "models. If this share is 1 to 3%, power at the MDE was 74 to 79% in simulations."
            ),
            **_RATING,
        ),
        unit="share or points",
        ideal=0.0,
    ),
    MeasureInfo.of(
        Card(
            name="rating_chi_square_published",
            summary="Pearson's chi-square of two models by one answer and all others; every rating counts as "
            "independent.",
            ideal="p above .05.",
            null="Both models have equal shares of the answer. p is not corrected for several questions and pairs.",
            critique=(
                "Ratings by one annotator or of one text are correlated. In simulations without a difference, such "
                "tests were significant in a fifth of studies if each of 20 annotators saw one model only, and in "
                "up to an eighth if all saw both."
            ),
            citation=ROBBIE,
            source="ROBBIE, section on human evaluation: chi-square of the rates of Table 16, p < .05",
            **_RATING,
        ),
        unit="chi-square",
    ),
    MeasureInfo.of(
        Card(
            name="rating_chi_square",
            summary="Pearson's chi-square of all models by all answers; every rating counts as independent.",
            ideal="p above .05.",
            null="All models have the same distribution of answers. p is not corrected for several questions.",
            critique=(
                "Ratings by one annotator or of one text are correlated. In simulations without a difference, the "
                "test was significant in a fifth of studies if each of 20 annotators saw one model only, and in up "
                "to an eighth if all saw both. The test shows that something differs, not what."
            ),
            citation=ROBBIE,
            source="Pearson 1900; ROBBIE tests two models and one answer (rating_chi_square_published)",
            **_RATING,
        ),
        unit="chi-square",
    ),
)
