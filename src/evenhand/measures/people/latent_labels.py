"""What is likely true of items, and how reliable persons are, by the model of Dawid and Skene."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.measures.columns import typed
from evenhand.measures.info import MeasureInfo
from evenhand.measures.people.agreeing import person_agreement
from evenhand.measures.people.selecting import PREFERENCE, RATED, by_keys, real_rows
from evenhand.schema import Card
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
"""Of a person, below which limits of the reliability say little beyond what was assumed."""
LEVEL = 0.05
"""At which a person must agree with the others more than by chance (`person_agreement`, Holm), for any to be told right
from wrong: of persons who all throw coins the model says that they are right 12 points more often than they are."""
LEAST_RATERS = 3
"""Votes on an item that the model needs of some: two who differ do not say who is right."""


@dataclass(frozen=True)
class LatentLabels:
    """What is likely true, for each question.

    items: ITEM_LABELS, every item's likeliest label, its probability and its votes. posteriors: question, item, label,
    probability of every label. persons: PERSON_RELIABILITY, chance that the person says what is true. confusions:
    CONFUSIONS, chance of each answer given each label. prevalence: PREVALENCE, with the obstacle of the question.
    """

    items: pl.DataFrame
    posteriors: pl.DataFrame
    persons: pl.DataFrame
    confusions: pl.DataFrame
    prevalence: pl.DataFrame


def dawid_skene(
    votes: pl.DataFrame, question: str | None = None, *, resamples: int = 200, seed: int = 0
) -> LatentLabels:
    """Fit the model of Dawid and Skene to the answers to each question.

    votes: VOTES. question: None: all with named answers (nominal, ordinal, choices between two; ties are a class).
    resamples: of items, for the limits of reliabilities; 0: none. seed: of these.

    A person's matrix starts from two assumed votes for each class, seven tenths of them right. Where nobody agrees with
    the others beyond chance (`person_agreement`), and without three votes on ten items at least, nobody can be told
    right from wrong: labels are given with an obstacle, reliabilities without limits; and so are those of persons with
    fewer than ten votes. Raises DataError for absent columns and an unknown question.
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
            f"Only {several} items have {LEAST_RATERS} votes; {LEAST_VOTES} are needed to tell who is right."
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
    return "Nobody is shown to agree with the others beyond chance, so nothing tells who is right."


def _table(schema: dict[str, type[pl.DataType]], **columns: object) -> pl.DataFrame:
    return pl.DataFrame(columns, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))


def _coded(column: pl.Series) -> tuple[np.ndarray, list[str]]:
    names = column.unique().sort().to_list()
    return column.rank("dense").to_numpy().astype(np.int64) - 1, [str(name) for name in names]


CARDS = (
    MeasureInfo.of(
        Card(
            name="latent_reliability",
            summary="Chance that a person's answer is what is likely true of the item, by Dawid and Skene's model.",
            construct="Whether a person's answers follow what all persons' answers together make likely.",
            harm="Answers given without looking blur what the others say; a dissenter taken for one is silenced.",
            groups="Each person, all items judged; the true answer is not observed.",
            ideal="1: always what is likely true.",
            direction="Lower is worse.",
            null="The prevalence of the commonest class: what always giving it would reach.",
            critique=(
                "Supposes that one answer is true of each item and that persons err independently. Of harm and offence "
                "neither holds: a minority who see it come out as unreliable. Not known with few votes (an obstacle "
                "says so); then it mostly repeats what was assumed."
            ),
            citation=(
                "Dawid & Skene 1979, Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm, "
                "Applied Statistics 28"
            ),
            source="Dawid & Skene 1979, with a weak prior; limits by a bootstrap over items",
            details="Prior: two votes for each person and class, 70 % of them right. The fit is a local maximum.",
        ),
        unit="probability",
        ideal=1.0,
    ),
)
