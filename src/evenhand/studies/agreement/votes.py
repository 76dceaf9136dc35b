"""Read ratings from an export of an annotation study, and determine the scale of each question."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.measures import rater_agreement
from evenhand.schema import DataError
from evenhand.stats import MeasurementLevel

SCALES: Mapping[str, MeasurementLevel] = {
    "nominal": "nominal",
    "ordinal": "ordinal",
    "interval": "interval",
    "preference": "nominal",
}
"""Measurement of VOTES to that of alpha; free texts and marks have none."""
NONE = {
    "text": "free texts are not ratings",
    "marks": "marks on turns: the file does not list the turns without a mark",
}


@dataclass(frozen=True)
class Question:
    """One question's ratings, ready to be compared."""

    name: str
    measurement: MeasurementLevel
    ratings: pl.DataFrame
    """Table with the columns unit, rater, rating and question."""


def agreement_in_votes(
    votes: pl.DataFrame, study: Mapping[str, Any], *, seed: int = 0
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return Krippendorff's alpha for each question of a study, and sentences about what was left out.

    Parameters
    ----------
    votes : polars.DataFrame
        Judgements (VOTES). Only real items count, without judgements that a rule or review excludes. Units are items;
        for pairs, the rating is the chosen conversation, on either side.
    study : mapping
        Definition of the study, for the order of options.
    seed : int
        Random seed of the bootstrap.

    Raises
    ------
    DataError
        There are no ratings.
    """
    real = votes.filter(pl.col("role") == "real")
    counted = real.filter(pl.col("excluded").is_null())
    notes = []
    if out := real.height - counted.height:
        people = real.filter(pl.col("excluded").is_not_null())["person"].n_unique()
        notes.append(
            f"{out:,} judgements of {people:,} annotators are excluded, by the study's rules or by a reviewer."
        )
    rows = [
        rater_agreement(question.ratings, question.measurement, seed=seed)
        for question in _questions(counted, study, notes)
    ]
    if not rows:
        raise DataError(
            "No question of this study has rating judgements that count under the exclusion rules.",
            " ".join(notes) or None,
        )
    return pl.concat(rows), tuple(notes)


def _questions(counted: pl.DataFrame, study: Mapping[str, Any], notes: list[str]) -> Iterator[Question]:
    for part in counted.partition_by("question", maintain_order=True):
        name, measurement = part["question"][0], part["measurement"][0]
        if measurement in NONE:
            notes.append(f"{name} is left out: {NONE[measurement]}.")
            continue
        level, rating = SCALES[measurement], part["answer"]
        if level != "nominal":
            numbers = _numbers(part, study)
            if numbers is None:
                notes.append(
                    f"{name} is treated as nominal: the file does not state the order of its options."
                )
                level = "nominal"
            else:
                rating = numbers
        yield Question(
            name,
            level,
            part.select("question", unit="item", rater="person").with_columns(rating=rating.alias("rating")),
        )


def _numbers(part: pl.DataFrame, study: Mapping[str, Any]) -> pl.Series | None:
    """Return answers as numbers: their own values, or else the values or positions of the options in the study."""
    answers = part["answer"]
    numbers = answers.cast(pl.Float64, strict=False)
    if (numbers.is_not_null() | answers.is_null()).all():
        return numbers
    asked = [one for one in study.get("questions", []) if one.get("id") == part["question"][0]]
    options = asked[0].get("options", []) if asked else []
    places = {option["id"]: float(place) for place, option in enumerate(options)}
    if set(answers.drop_nulls()) <= places.keys():
        return answers.replace_strict(places, return_dtype=pl.Float64)
    values = part["value"]
    return values if (values.is_not_null() | answers.is_null()).all() else None
