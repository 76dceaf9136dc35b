"""Compare a classifier with human judgements of the same texts, and with the highest possible agreement."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtr

from evenhand.measures.columns import typed
from evenhand.measures.info import ROBBIE, MeasureInfo
from evenhand.measures.people.ceiling import (
    LEAST_ITEMS,
    LEAST_PROMPTS,
    People,
    few_prompts,
    people_of,
)
from evenhand.measures.people.selecting import adjusted, by_keys, codes_of, levels_of, rated
from evenhand.schema import Card, DataError, checked_kinds, parse_json
from evenhand.stats import Codes, Floats, Interval, pearson, spearman
from evenhand.stats.votes import LEAST_LEVELS, sums_of_items

CORRELATIONS = (
    typed(pl.String, "measure question classifier option taken split level")
    | typed(pl.Float64, "estimate low high null p q ceiling ceiling_low ceiling_high")
    | typed(pl.Int64, "n n_missing n_items n_persons")
    | typed(pl.String, "obstacle")
)
"""Columns of `classifier_correlation`; correlations between -1 and 1 (x 100 in published tables).

``ceiling``: in rows of a classifier, that of the items that it classified.
"""
TAKEN = {"probability": "probability", "score": "score", "label": "prediction", "negative": "prediction"}
"""Description of the classifier's number, by the key in `judgements` that it comes from."""


@checked_kinds
def classifier_correlation(
    votes: pl.DataFrame,
    question: str,
    classifier: str | None = None,
    *,
    split: str | None = "model",
    seed: int = 0,
) -> pl.DataFrame:
    """Return the correlation of a classifier's scores with the share of people who chose an option, over items.

    Use it to check a classifier against human judgements of the same texts. Compare the correlation with the ceiling:
    the largest that any classifier can be expected to reach with these annotators.

    Parameters
    ----------
    votes : polars.DataFrame
        One row per judgement (answer of an annotator to a question about an item), with the columns
        `evenhand.schema.VOTES`. The column ``judgements`` has the results of classifiers for the item (JSON).
    question : str
        A question with options, or with numbers.
    classifier : str, optional
        Name of a classifier in ``judgements``. Default: all.
    split : str or None, default "model"
        A column, or a key in the JSON of ``groups`` (for example mitigation). Each of its levels gets rows, in addition
        to the rows for all items (split and level null).
    seed : int, default 0
        Random seed of the subsets of annotators and items that the jackknife leaves out.

    Returns
    -------
    polars.DataFrame
        Rows of five measures (column ``measure``). Correlations are from -1 to 1. For each classifier, option and
        level:
        - `classifier_pearson`, `classifier_spearman`: correlation, with 95% CI over items. Items of one context are a
          cluster. The null is 0. ``q``: p adjusted by Holm across all rows of a measure.
        - `classifier_pearson_corrected`: Pearson's correlation divided by the ceiling.

        For each option and level (classifier null):
        - `human_reliability`: correlation between the shares of two independent groups of this many annotators.
        - `human_ceiling`: square root of the reliability, with CI over annotators and items, or over prompts that items
          share.

        ``obstacle`` states why there is no estimate or CI.

    Raises
    ------
    DataError
        A column is missing, a question or classifier is unknown, or the classifier results are not JSON.

    Notes
    -----
    A result of a classifier may have three numbers: its probability of the option, a score, and a prediction (1 if its
    label is the option, or if it calls the text negative). The number that most results have is used for all items, and
    ``taken`` names it. Results without it are left out.

    If ``option`` is null, people's mean ``value`` is used. If neither of two options is a label of the classifier, its
    score is compared with the option with the larger value (else the later name).

    There is an obstacle with fewer than 20 items, 15 shared prompts or 10 annotators. The reliability also needs three
    items with two judgements for the rarer answer.
    """
    known = rated(votes, "classifier_correlation", question, split, ["judgements", "context"])
    used = known.filter("counts")
    said = _read(used)
    names = sorted({name for each in said.values() for name in each})
    if classifier is not None and classifier not in names:
        raise DataError(
            f"classifier_correlation: no item was classified by {classifier!r}.",
            f"Classifiers in the votes: {', '.join(names) or 'none'}.",
        )
    options: list[str | None] = (
        [None] if used["measurement"].first() == "interval" else sorted(used["answer"].unique())
    )
    levels: list[tuple[str | None, pl.DataFrame]] = [(None, used)]
    if split is not None:
        levels += [(level, part) for (level,), part in by_keys(used.drop_nulls("level"), ["level"])]
    rows: list[dict[str, object]] = []
    for level, part in levels:
        shared = {"question": question, "split": None if level is None else split, "level": level}
        rows += _human_rows(part, options, shared, seed)
        for name in [classifier] if classifier is not None else names:
            for option in _asked_of(name, options, said, used):
                rows += _rows(part, name, option, said, shared, seed)
    for measure in ("classifier_pearson", "classifier_spearman"):
        tested = [row for row in rows if row["measure"] == measure]
        for row, q in zip(tested, adjusted(tested), strict=True):
            row["q"] = q
    return pl.DataFrame(rows, schema=CORRELATIONS).with_columns(pl.col(pl.Float64).fill_nan(None))


def _read(used: pl.DataFrame) -> dict[str, Mapping[str, Any]]:
    """Return the results of classifiers for each item."""
    found: dict[str, Mapping[str, Any]] = {}
    for item, text in used.select("item", "judgements").drop_nulls().unique("item").iter_rows():
        try:
            said = parse_json(text)
        except ValueError as error:
            raise DataError(
                f"The classifications of item {item!r} are not valid JSON: {str(text)[:60]!r}.",
                "Export the study again.",
            ) from error
        if isinstance(said, dict):
            found[item] = {name: each for name, each in said.items() if isinstance(each, dict)}
    return found


def _asked_of(
    name: str, options: list[str | None], said: Mapping[str, Mapping[str, Any]], used: pl.DataFrame
) -> list[str | None]:
    """Return the options for which the classifier has a number: its labels, or else one option against its score."""
    labels = {label for each in said.values() if name in each for label in _labels(each[name])}
    shared = [option for option in options if option in labels]
    if shared or len(options) != 2:
        return list(shared or options)
    values = used.group_by("answer").agg(pl.col("value").max().fill_null(0))
    return [values.sort("value", "answer")["answer"][-1]]


def _labels(judgement: Mapping[str, Any]) -> set[str]:
    """Return the labels that the classifier can give, according to one of its results."""
    label = judgement.get("label")
    return {*(judgement.get("scores") or {}), *([] if label is None else [label])}


def _kind(judged: Sequence[Mapping[str, Any]], option: str | None) -> str:
    """Return the kind of number that most results of a classifier have; if tied, the most informative one."""
    known = any(option in _labels(each) for each in judged)
    kinds = ("probability", "label") if known else ("score", "negative")
    return max(kinds, key=lambda kind: sum(_number(each, option, kind) is not None for each in judged))


def _number(judgement: Mapping[str, Any], option: str | None, kind: str) -> float | None:
    """Return the classifier's number of this kind for an option; None if the result has none."""
    if kind == "probability":
        found = (judgement.get("scores") or {}).get(option)
    elif kind == "label":
        found = None if judgement.get("label") is None else judgement["label"] == option
    else:
        found = judgement.get(kind)
    return None if found is None else float(found)


def _rows(
    part: pl.DataFrame,
    name: str,
    option: str | None,
    said: Mapping[str, Mapping[str, Any]],
    shared: Mapping[str, object],
    seed: int,
) -> list[dict[str, object]]:
    judged = {item: each[name] for item, each in said.items() if name in each}
    # the kind must be the same for all levels: a label that does not occur at a level has rate 0 there
    kind = _kind(list(judged.values()), option)
    found_of = {item: _number(each, option, kind) for item, each in judged.items()}
    numbers = {item: number for item, number in found_of.items() if number is not None}
    there = part.filter(pl.col("item").is_in(list(numbers)))
    items, values, contexts = _of_items(there, option)
    shares = sums_of_items(items, values)[1] if len(values) else np.zeros(0)
    row = {
        **shared,
        "classifier": name,
        "option": option,
        "taken": TAKEN[kind],
        "n": there.height,
        "n_missing": part.height - there.height,
        "n_items": len(shares),
        "n_persons": there["person"].n_unique(),
        "null": 0.0,
        "p": None,
        "obstacle": None,
    }
    x, y = np.array([numbers[item] for item in there["item"].unique().sort()]), shares
    obstacle = (
        _find_obstacle(x, y, levels_of(there, "context", absent_are_own=True), there["person"].n_unique())
        if numbers
        else "The classifier's results contain no score or label that can be compared with this answer."
    )
    if obstacle is not None:
        row["obstacle"] = obstacle
        return [
            {**row, "measure": f"classifier_{kind}"} for kind in ("pearson", "spearman", "pearson_corrected")
        ]
    found = [_tested(correlate(x, y, contexts)) for correlate in (pearson, spearman)]
    people = _people_of(there, items, values, contexts, option, seed)
    corrected: dict[str, object] = {"obstacle": f"{people.obstacle} So there is no ceiling."}
    if people.obstacle is None:
        row |= {
            "ceiling": people.reliability[0] ** 0.5,
            "ceiling_low": people.reliability[1] ** 0.5,
            "ceiling_high": people.reliability[2] ** 0.5,
        }
        if people.reliability[1] > 0:
            corrected = people.corrected(x, seed)
        else:
            corrected["obstacle"] = "Agreement of annotators is not above chance, so there is no ceiling."
    return [
        {**row, "measure": "classifier_pearson", **found[0]},
        {**row, "measure": "classifier_spearman", **found[1]},
        {**row, "measure": "classifier_pearson_corrected", "null": None, **corrected},
    ]


def _human_rows(
    part: pl.DataFrame, options: list[str | None], shared: Mapping[str, object], seed: int
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for option in options:
        items, values, contexts = _of_items(part, option)
        found = _people_of(part, items, values, contexts, option, seed)
        row: dict[str, object] = {
            **shared,
            "option": option,
            "n": part.height,
            "n_missing": 0,
            "n_items": part["item"].n_unique(),
            "n_persons": part["person"].n_unique(),
            "obstacle": found.obstacle,
        }
        for measure, power in (("human_reliability", 1.0), ("human_ceiling", 0.5)):
            numbers = [number**power for number in found.reliability] if found.obstacle is None else []
            rows.append(
                {**row, "measure": measure, **dict(zip(("estimate", "low", "high"), numbers, strict=False))}
            )
    return rows


def _people_of(
    part: pl.DataFrame, items: Codes, values: Floats, contexts: Codes, option: str | None, seed: int
) -> People:
    persons = codes_of(part, "person")
    prompts = levels_of(part, "context", absent_are_own=True)
    return people_of(
        items, persons, contexts[items], values, prompts=prompts, counted=option is not None, seed=seed
    )


def _of_items(part: pl.DataFrame, option: str | None) -> tuple[Codes, Floats, Codes]:
    """Return item codes and values of the judgements, and the context code of each item."""
    values = part["value"] if option is None else (part["answer"] == option)
    each = part.unique("item").sort("item")
    return codes_of(part, "item"), values.cast(pl.Float64).to_numpy(), codes_of(each, "context")


def _find_obstacle(x: Floats, y: Floats, prompts: int | None, persons: int) -> str | None:
    """Return why the correlation has no interval, or None.

    The interval treats texts as the sample. With few annotators, the opinions of each of them move every text, which
    it does not include: with five annotators, 95% intervals covered 88% in simulations.
    """
    if prompts is not None and prompts < LEAST_PROMPTS:
        return few_prompts(prompts)
    if persons < LEAST_LEVELS:
        return f"{persons} annotators judged these texts; at least {LEAST_LEVELS} are needed."
    if len(y) < LEAST_ITEMS:
        return f"{len(y)} items have a judgement and a vote; at least {LEAST_ITEMS} are needed."
    if np.ptp(x) == 0:
        return "The classifier's result is the same for all items."
    return "The annotators' judgement is the same for all items." if np.ptp(y) == 0 else None


def _tested(found: Interval) -> dict[str, object]:
    if not found.standard_error > 0:
        why = "The correlation stays the same whichever prompt is left out, so its precision cannot be estimated."
        return {"estimate": found.estimate, "obstacle": why}
    t = abs(found.estimate) / found.standard_error
    p = min(1.0, 2 * float(stdtr(max(found.clusters - 1, 1), -t)))
    return {"estimate": found.estimate, "low": found.low, "high": found.high, "p": p}


_SAID = {
    "construct": "Whether a classifier and people judge a text in the same way.",
    "harm": "If a classifier does not see what people see, its rates measure something else.",
    "groups": "All items, and those of each mitigation or model.",
    "direction": "Lower is worse.",
    "citation": ROBBIE,
}
CARDS = (
    MeasureInfo.of(
        Card(
            name="classifier_pearson",
            summary="Correlation of a classifier's score with the share of people who chose the option, over items.",
            ideal="The ceiling (human_ceiling): with so few judgements per item, no classifier has a higher "
            "correlation.",
            null="0. The CI is on Fisher's scale, clustered by prompt.",
            critique=(
                "The correlation is low if few people rate each item, or if items do not differ, however good the "
                "classifier: compare it with the ceiling. Correlation ignores a constant shift: a classifier that "
                "calls twice as many texts toxic may correlate well. Pooled over models, the correlation also "
                "reflects differences between models."
            ),
            source="ROBBIE, Tables 18 and 19 (times 100 there), with CIs",
            **_SAID,
        ),
        unit="correlation",
        ideal=1.0,
    ),
    MeasureInfo.of(
        Card(
            name="classifier_spearman",
            summary="Rank correlation of a classifier's score with the share of people who chose the option.",
            ideal="1, minus the effect of few judgements per item.",
            null="0. The CI is on Fisher's scale, clustered by prompt.",
            critique="Shares of three judgements are mostly ties, which lower the correlation. Scores near 0 and 1 "
            "have less weight.",
            source="Spearman 1904; Borkowf 2002 for the error",
            **_SAID,
        ),
        unit="correlation",
        ideal=1.0,
    ),
    MeasureInfo.of(
        Card(
            name="classifier_pearson_corrected",
            summary="Correlation of a classifier's score with people's shares if very many people rated each item.",
            ideal="1: the classifier ranks items as very many people would.",
            null="None. The measure is a description; the test is that of classifier_pearson.",
            critique=(
                "The value is an estimate divided by an estimate, so CIs are wide, and may exceed 1. The value is "
                "not reported if people are not shown to agree beyond chance. In simulations, 95% CIs cover the "
                "true value in 89 to 98%, least with 10 to 20 shared prompts."
            ),
            source="Spearman 1904, correction for attenuation; CIs by a jackknife over annotators and items",
            **_SAID,
        ),
        unit="correlation",
        ideal=1.0,
    ),
    MeasureInfo.of(
        Card(
            name="human_reliability",
            summary="Correlation of the shares of two independent groups of as many raters as in the study, over "
            "items.",
            ideal="1: judgements are decided by the item alone.",
            null="0: judgements do not depend on the item.",
            critique=(
                "The value is for raters drawn separately for each item: a rater's general tendency counts as "
                "noise. The value is low if items hardly differ, however careful people are. It is not reported "
                "with fewer than 10 annotators or 15 shared prompts, or if fewer than three items have two "
                "judgements for the rarer answer. CIs would then cover the true value in 12 to 90%; reported CIs "
                "cover it in 92% or more."
            ),
            source="Shrout & Fleiss 1979, ICC(1, k); CIs by a jackknife over annotators and items",
            **_SAID,
        ),
        unit="correlation",
        ideal=1.0,
    ),
    MeasureInfo.of(
        Card(
            name="human_ceiling",
            summary="Largest correlation that any classifier can have with so few judgements per item.",
            ideal="1: the items' true shares are known.",
            null="0: judgements do not depend on the item.",
            critique="As for human_reliability; the ceiling is its square root. The correlation in a sample may "
            "exceed the ceiling by chance.",
            source="Spearman 1904, correction for attenuation",
            **_SAID,
        ),
        unit="correlation",
        ideal=1.0,
    ),
)
