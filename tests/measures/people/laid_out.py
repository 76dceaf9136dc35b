"""Votes in the columns of exports, laid out by hand or drawn."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from evenhand.schema import VOTES
from evenhand.studies.calibration.simulators.people import PairedVotes

PAIR = {"role": "real", "kind": "pair", "question": "engaging", "measurement": "preference"}
RATING = {"role": "real", "kind": "text", "question": "toxic", "measurement": "nominal", "model": "base"}


def table(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows as VOTES; what a row does not say is null."""
    return pl.DataFrame([{**dict.fromkeys(VOTES), **row} for row in rows], schema=VOTES)


def pair(person: int, item: int, answer: str | None, **said: Any) -> dict[str, Any]:
    """One vote on a pair of base (a) and tuned (b), each item with conversations of its own."""
    return {
        **PAIR,
        "person": f"p{person}",
        "item": f"i{item}",
        "answer": answer,
        "a": f"base-{item}",
        "b": f"tuned-{item}",
        "model_a": "base",
        "model_b": "tuned",
        "shown_left": "a" if (person + item) % 2 else "b",
        **said,
    }


def rating(person: int, item: int | str, answer: str | None, **said: Any) -> dict[str, Any]:
    return {**RATING, "person": f"p{person}", "item": f"i{item}", "answer": answer, **said}


def drawn(study: PairedVotes, seed: int = 0, **said: Any) -> pl.DataFrame:
    """Votes of simulated people; tuned is the model of the study's share."""
    votes, ways, left = study.draw(np.random.default_rng(seed))
    return table(
        pair(
            int(ways[0][n]),
            int(ways[1][n]),
            "b" if votes[n] else "a",
            shown_left="b" if left[n] else "a",
            **said,
        )
        for n in range(len(votes))
    )
