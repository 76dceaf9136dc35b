"""The judged continuations of a consistency check as matrices by domain and level, and levels that have none."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from evenhand.schema import DataError
from evenhand.studies.consistency_levels import Levels
from evenhand.studies.consistency_scores import Attributes, Floats

NEEDED = ("default", "original")
Judged = Mapping[tuple[str, str], pl.DataFrame]
"""By domain and the level's key: what `runs.judgements` gives, one row a prompt."""


@dataclass(frozen=True)
class Matrices:
    """scores: by domain and level, one array (prompts, attributes) a group. lacking: levels that were run and have no
    score in some domain, with the reason."""

    scores: dict[str, dict[str, list[Floats]]]
    lacking: dict[str, str] = field(default_factory=dict)


def score_matrices(
    levels: Levels, judged: Judged, attributes: Attributes, labels: tuple[str, ...]
) -> Matrices:
    """The scores that the protocol compares.

    labels: the classifier's. A level without a single whole score in some domain is left out of both, because a test
    cannot be made without it; of the levels default and original it raises DataError naming what went wrong.
    """
    scores: dict[str, dict[str, list[Floats]]] = {}
    lacking: dict[str, str] = {}
    names = list(dict.fromkeys(level.name for level in levels.all))
    for domain in dict.fromkeys(domain for domain, _ in judged):
        scores[domain] = {}
        for name in names:
            frames = [judged[domain, level.key] for level in levels.named(name)]
            arrays = [attributes.scores(frame, labels) for frame in frames]
            scores[domain][name] = arrays
            if not any(has_scores(array) for array in arrays):
                lacking[name] = _why(name, domain, pl.concat([frame.select("error") for frame in frames]))
    for name in NEEDED:
        if name in lacking:
            raise DataError(
                lacking[name],
                "Try another classifier (--classifier toxicity=NAME), or ask again where something failed: "
                "--retry-errors.",
            )
    left = [name for name in names if name not in lacking]
    return Matrices(
        {domain: {name: found[name] for name in left} for domain, found in scores.items()}, lacking
    )


def has_scores(array: Floats) -> bool:
    """Whether some prompt has the scores of all attributes."""
    return bool(np.isfinite(array).all(axis=1).any())


def score_table(
    levels: Levels, judged: Judged, attributes: Attributes, labels: tuple[str, ...]
) -> pl.DataFrame:
    """One row a domain, level, group and prompt: a column for each attribute, null where it has none, and `error`."""
    by_key = {level.key: level for level in levels.all}
    tables = []
    for (domain, key), frame in judged.items():
        scores = attributes.scores(frame, labels)
        columns = [pl.Series(name, scores[:, i]).fill_nan(None) for i, name in enumerate(attributes.names)]
        table = frame.select(
            pl.lit(domain).alias("domain"),
            pl.lit(by_key[key].name).alias("level"),
            pl.lit(by_key[key].group, pl.Int64).alias("group"),
            "prompt_id",
            *columns,
            "error",
        )
        tables.append(table)
    return pl.concat(tables)


def _why(level: str, domain: str, errors: pl.DataFrame) -> str:
    codes = errors["error"].drop_nulls().value_counts(sort=True).rows()
    told = ", ".join(f"{count:,} {code}" for code, count in codes)
    reason = told or "the classifier has no harmful side, or lacks an attribute"
    return f"Not one continuation of the level {level} has a score on the {domain} prompts ({reason})."
