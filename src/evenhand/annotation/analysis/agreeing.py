"""Agreement between annotators and their reliability, per question and without names."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
import polars as pl

from evenhand.annotation.analysis.tables import PREFERENCE, RATED, find_questions
from evenhand.measures import classifier_correlation, dawid_skene, item_agreement, person_agreement
from evenhand.stats import MeasurementLevel
from evenhand.stats.votes import crossed_alpha

AGREEMENT = {
    "question": pl.String,
    "measurement": pl.String,
    "alpha": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n_items": pl.Int64,
    "n_persons": pl.Int64,
    "n": pl.Int64,
    "majority_share": pl.Float64,
    "agreeing_pairs": pl.Float64,
    "undecided": pl.Float64,
}
RELIABILITY = {
    "question": pl.String,
    "n_persons": pl.Int64,
    "n_untold": pl.Int64,
    "null": pl.Float64,
    **dict.fromkeys(("lowest", "lower", "middle", "upper", "highest"), pl.Float64),
    "n_agreeing": pl.Int64,
    "n_compared": pl.Int64,
    "obstacle": pl.String,
}


def agreement(votes: pl.DataFrame, questions: Sequence[Mapping[str, Any]], *, seed: int) -> pl.DataFrame:
    """Return Krippendorff's alpha and the agreement per item (see `PeopleTables.agreement`).

    votes: included judgements. questions: as in the study, for the order of options.
    """
    order = {question.get("id"): question for question in questions}
    rows = []
    for question in find_questions(votes, (PREFERENCE, *RATED)):
        mine = votes.filter((pl.col("question") == question) & pl.col("answer").is_not_null())
        if mine.is_empty():
            continue
        level, coded = _add_codes(mine, str(mine["measurement"].first()), order.get(question, {}))
        shared = coded.filter(pl.len().over("item") > 1)
        alpha = crossed_alpha(shared["code"], shared["item"], shared["person"], level, seed=seed)
        items = item_agreement(mine, question).filter(pl.col("n") > 1)
        rows.append(
            {
                "question": question,
                "measurement": level,
                "alpha": _replace_nan(alpha.estimate),
                "low": _replace_nan(alpha.low),
                "high": _replace_nan(alpha.high),
                "n_items": items.height,
                "n_persons": shared["person"].n_unique(),
                "n": int(items["n"].sum()),
                "majority_share": items["majority_share"].mean(),
                "agreeing_pairs": items["agreeing_pairs"].mean(),
                "undecided": items["majority"].is_null().mean() if items.height else None,
            }
        )
    return pl.DataFrame(rows, schema=AGREEMENT)


def reliability(votes: pl.DataFrame, *, alpha: float, seed: int) -> pl.DataFrame:
    """Return the distribution of annotators' reliabilities (see `PeopleTables.reliability`)."""
    rows = []
    for question in find_questions(votes, (PREFERENCE, "nominal", "ordinal")):
        mine = votes.filter((pl.col("question") == question) & pl.col("answer").is_not_null())
        shared = mine.filter(pl.col("person").n_unique().over("item") > 1)
        if shared.is_empty():
            continue
        labels = dawid_skene(mine, question, resamples=0, seed=seed)
        persons, obstacles = labels.persons, labels.prevalence["obstacle"].drop_nulls()
        known = persons.filter(pl.col("obstacle").is_null())["estimate"].drop_nulls().to_numpy()
        compared = person_agreement(mine, question).filter(pl.col("q").is_not_null())
        quartiles = np.quantile(known, [0, 0.25, 0.5, 0.75, 1]) if len(known) else [None] * 5
        rows.append(
            {
                "question": question,
                "n_persons": len(known),
                "n_untold": mine["person"].n_unique() - len(known),
                "null": labels.prevalence["share"].max(),
                **dict(zip(("lowest", "lower", "middle", "upper", "highest"), quartiles, strict=True)),
                "n_agreeing": compared.filter(pl.col("q") <= alpha).height,
                "n_compared": compared.height,
                "obstacle": obstacles[0] if obstacles.len() else None,
            }
        )
    return pl.DataFrame(rows, schema=RELIABILITY)


def beside_classifiers(votes: pl.DataFrame, *, seed: int) -> pl.DataFrame:
    """Compare classifiers with annotators for each question; no rows if no classifier judged the texts."""
    judged = votes.filter(
        pl.col("measurement").is_in(RATED)
        & pl.col("judgements").is_not_null()
        & ~pl.col("judgements").is_in(["", "{}", "null"])
    )
    several = judged["model"].drop_nulls().n_unique() > 1
    found = [
        classifier_correlation(
            judged.filter(pl.col("question") == question),
            question,
            split="model" if several else None,
            seed=seed,
        )
        for question in find_questions(judged, RATED)
    ]
    return pl.concat(found) if found else pl.DataFrame()


def _add_codes(
    votes: pl.DataFrame, measurement: str, question: Mapping[str, Any]
) -> tuple[MeasurementLevel, pl.DataFrame]:
    """Return the votes with their answers as numbers in `code`.

    Ordered options without values are numbered as the study lists them; without a study they have no order.
    """
    level: MeasurementLevel = "nominal"
    if measurement in get_args(MeasurementLevel):
        level = measurement  # type: ignore[assignment]  # it was just checked to be one of the levels
    if level != "nominal":
        listed = {option["id"]: float(place) for place, option in enumerate(question.get("options", ()))}
        by_place = pl.col("answer").replace_strict(listed, default=None, return_dtype=pl.Float64)
        votes = votes.with_columns(code=pl.coalesce("value", by_place) if listed else pl.col("value"))
        if votes["code"].null_count():
            level = "nominal"
    if level == "nominal":
        votes = votes.with_columns(code=pl.col("answer").rank("dense").cast(pl.Float64))
    return level, votes.with_columns(pl.col("code").cast(pl.Float64))


def _replace_nan(value: float) -> float | None:
    return None if np.isnan(value) else value
