"""Estimate the likely true label of items and the reliability of persons with the model of Dawid and Skene."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.measures.columns import typed
from evenhand.measures.info import MeasureInfo
from evenhand.measures.people.agreeing import person_agreement
from evenhand.measures.people.selecting import PREFERENCE, RATED, by_keys, real_rows
from evenhand.schema import Card, checked_kinds
from evenhand.stats.votes import latent_classes, reliability_limits

ITEM_LABELS = (
    typed(pl.String, "question item label") | typed(pl.Float64, "probability") | typed(pl.Int64, "n")
)
PERSON_RELIABILITY = (
    typed(pl.String, "question person")
    | typed(pl.Float64, "estimate low high")
    | typed(pl.Int64, "n")
    | typed(pl.String, "obstacle")
)
CONFUSIONS = typed(pl.String, "question person label answer") | typed(pl.Float64, "probability")
PREVALENCE = typed(pl.String, "question label") | typed(pl.Float64, "share") | typed(pl.String, "obstacle")
LEAST_VOTES = 10
"""Minimum number of votes of a person. With fewer, the CI of the reliability mostly reflects the prior."""
LEVEL = 0.05
"""Level at which some person must agree with the others more than by chance (`person_agreement`, Holm).

Otherwise right and wrong cannot be distinguished: if all persons toss coins, the model overestimates their
accuracy by 12 points.
"""
LEAST_RATERS = 3
"""Number of votes that some items must have: two persons who differ do not show who is right."""


@dataclass(frozen=True)
class LatentLabels:
    """Likely true labels of items and the reliability of annotators, for each question.

    Result of `dawid_skene`. Look at the ``obstacle`` of ``prevalence`` first: it states whether labels can be trusted.

    Attributes
    ----------
    items : polars.DataFrame
        One row per question and item: its most likely ``label``, the label's ``probability``, ``n`` (judgements).
    posteriors : polars.DataFrame
        The probability of every label: question, item, label, probability.
    persons : polars.DataFrame
        One row per question and annotator (``person``).
        - ``estimate``: probability that the annotator gives the true label, with 95% CI.
        - ``n``: judgements. ``obstacle``: why there is no CI.
    confusions : polars.DataFrame
        The probability of each answer if a label is true: question, person, label, answer, probability.
    prevalence : polars.DataFrame
        ``share`` of items (0 to 1) by question and label. ``obstacle``: why labels and reliabilities are uncertain, or
        null.
    """

    items: pl.DataFrame
    posteriors: pl.DataFrame
    persons: pl.DataFrame
    confusions: pl.DataFrame
    prevalence: pl.DataFrame


@checked_kinds
def dawid_skene(
    votes: pl.DataFrame, question: str | None = None, *, resamples: int = 200, seed: int = 0
) -> LatentLabels:
    """Estimate the true labels of items and the reliability of annotators, with the model of Dawid and Skene.

    Use it if several annotators labelled the same items and some are better than others. It weighs reliable annotators
    more than a majority vote does.

    Parameters
    ----------
    votes : polars.DataFrame
        One row per judgement: answer of an annotator to a question about an item (columns: `evenhand.schema.VOTES`).
    question : str, optional
        One question. Default: all with named answers (nominal, ordinal, choices between two; ties are a class).
    resamples : int, default 200
        Number of resamples of items, for the intervals of reliabilities; 0 for none.
    seed : int, default 0
        Random seed of the resamples.

    Returns
    -------
    LatentLabels
        Labels, reliabilities, confusions and prevalence. A question to which all answers are equal has no rows.

    Raises
    ------
    DataError
        A column is missing, or the question is unknown.

    Notes
    -----
    The model estimates a confusion matrix for each annotator: the probability of each answer, given the true label. Its
    prior is two judgements for each class, seven tenths of them correct.

    Right and wrong cannot be distinguished in three cases:

    - No annotator agrees with the others beyond chance (`person_agreement`, q at most .05).
    - There are fewer than three annotators.
    - Fewer than ten items have three judgements.

    ``prevalence`` and ``persons`` then have an obstacle, and reliabilities have no interval. An annotator with fewer
    than ten judgements has no interval either.

    References
    ----------
    - Dawid & Skene 1979, Applied Statistics 28.
    """
    rows = real_rows(
        votes, "dawid_skene", [], [PREFERENCE, *(kind for kind in RATED if kind != "interval")], question
    )
    tables: dict[str, list[pl.DataFrame]] = {
        name: [] for name in ("items", "posteriors", "persons", "confusions", "prevalence")
    }
    for (name,), part in by_keys(rows.filter("counts"), ["question"]):
        if part["answer"].n_unique() > 1:
            for table, frame in _fitted(str(name), part, resamples, seed).items():
                tables[table].append(frame)
    empty = {
        "items": pl.DataFrame(schema=ITEM_LABELS),
        "posteriors": pl.DataFrame(
            schema=typed(pl.String, "question item label") | {"probability": pl.Float64}
        ),
        "persons": pl.DataFrame(schema=PERSON_RELIABILITY),
        "confusions": pl.DataFrame(schema=CONFUSIONS),
        "prevalence": pl.DataFrame(schema=PREVALENCE),
    }
    return LatentLabels(**{name: pl.concat([empty[name], *frames]) for name, frames in tables.items()})


def _fitted(name: str, part: pl.DataFrame, resamples: int, seed: int) -> dict[str, pl.DataFrame]:
    (items, of_items), (persons, of_persons), (answers, labels) = (
        _coded(part[column]) for column in ("item", "person", "answer")
    )
    fit = latent_classes(items, persons, answers, len(labels))
    per_item, per_person = np.bincount(items), np.bincount(persons)
    several = int((per_item >= LEAST_RATERS).sum())
    obstacle = _nobody_agrees(part, name)
    if several < LEAST_VOTES or len(of_persons) < LEAST_RATERS:
        obstacle = (
            f"Only {several} items have {LEAST_RATERS} votes; {LEAST_VOTES} are needed to estimate which answers are "
            "right."
        )
    few = [
        obstacle or (None if votes >= LEAST_VOTES else f"{votes} votes; at least {LEAST_VOTES} are needed.")
        for votes in per_person.tolist()
    ]
    low = high = np.full(len(of_persons), np.nan)
    if resamples and obstacle is None:
        low, high = reliability_limits(items, persons, answers, fit, resamples=resamples, seed=seed)
    told = np.array([each is None for each in few])
    classes = len(labels)
    best = fit.posterior.argmax(axis=1)
    question = pl.lit(name).alias("question")
    return {
        "items": _table(
            ITEM_LABELS,
            question=[name] * len(of_items),
            item=of_items,
            label=[labels[each] for each in best],
            probability=fit.posterior.max(axis=1),
            n=per_item,
        ),
        "posteriors": pl.DataFrame(
            {
                "item": np.repeat(of_items, classes).tolist(),
                "label": labels * len(of_items),
                "probability": fit.posterior.ravel(),
            }
        ).select(question, "item", "label", "probability"),
        "persons": _table(
            PERSON_RELIABILITY,
            question=[name] * len(of_persons),
            person=of_persons,
            estimate=fit.reliability,
            low=np.where(told, low, np.nan),
            high=np.where(told, high, np.nan),
            n=per_person,
            obstacle=few,
        ),
        "confusions": pl.DataFrame(
            {
                "person": np.repeat(of_persons, classes * classes).tolist(),
                "label": [label for label in labels for _ in labels] * len(of_persons),
                "answer": labels * (classes * len(of_persons)),
                "probability": fit.confusion.ravel(),
            }
        ).select(question, "person", "label", "answer", "probability"),
        "prevalence": _table(
            PREVALENCE,
            question=[name] * classes,
            label=labels,
            share=fit.prevalence,
            obstacle=[obstacle] * classes,
        ),
    }


def _nobody_agrees(part: pl.DataFrame, name: str) -> str | None:
    agreeing = person_agreement(part, name)["q"].drop_nulls() <= LEVEL
    if agreeing.any():
        return None
    return "No annotator agrees with the others beyond chance, so the true labels cannot be estimated."


def _table(schema: dict[str, type[pl.DataType]], **columns: object) -> pl.DataFrame:
    return pl.DataFrame(columns, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))


def _coded(column: pl.Series) -> tuple[np.ndarray, list[str]]:
    names = column.unique().sort().to_list()
    return column.rank("dense").to_numpy().astype(np.int64) - 1, [str(name) for name in names]


CARDS = (
    MeasureInfo.of(
        Card(
            name="latent_reliability",
            summary="Probability that an annotator gives the likely true label of an item, by Dawid and Skene's "
            "model.",
            construct="Whether an annotator's answers agree with the labels that all answers together make likely.",
            harm="Careless answers blur what the others say. Treating people who disagree as careless silences them.",
            groups="Each annotator, over all items judged. The true answer is not observed.",
            ideal="1: the annotator always gives the likely true label.",
            direction="Lower is worse.",
            null="The prevalence of the most common class, which an annotator who always gives this class would "
            "reach.",
            critique=(
                "The model assumes that one answer is true for each item and that annotators err independently. "
                "Neither holds for harm and offence: a minority who see harm appear unreliable. With few "
                "judgements, the reliability is not known (an obstacle states this) and mostly reflects the prior."
            ),
            citation=(
                "Dawid & Skene 1979, Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm, "
                "Applied Statistics 28"
            ),
            source="Dawid & Skene 1979, with a weak prior; CIs by a bootstrap over items",
            details="The prior is two judgements for each annotator and class, 70% of them correct. The fit is a "
            "local maximum.",
        ),
        unit="probability",
        ideal=1.0,
    ),
)
