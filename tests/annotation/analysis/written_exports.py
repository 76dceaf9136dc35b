"""Exports for the tests: votes of simulated people as files, with a study in the first line."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pydantic import TypeAdapter
from rich.console import Console

from evenhand.annotation import PeopleStudy
from evenhand.annotation.definition import Rule
from evenhand.annotation.quality import apply_rules
from evenhand.annotation.simulating import simulated_ratings, simulated_votes
from evenhand.schema import VOTES, write_votes

STUDY: Mapping[str, Any] = {
    "evenhand_study": 1,
    "name": "simulated",
    "title": "Which of two sounds better?",
    "seed": 3,
    "questions": [
        {"kind": "pair", "id": "engaging", "text": "Who would you prefer to talk to for a long conversation?"}
    ],
    "rules": [{"rule": "onboarding_below", "mark": 0.75, "action": "block"}],
    "survey": [],
}
RULES: TypeAdapter[tuple[Rule, ...]] = TypeAdapter(tuple[Rule, ...])
SCALE = {"kind": "scale", "id": "equality", "use": "sdo7", "draw": 2}


def written(path: Path, votes: pl.DataFrame, study: Mapping[str, Any] = STUDY) -> Path:
    """As an export: with what the study's rules take out marked."""
    return write_votes(path, apply_rules(votes, RULES.validate_python(study["rules"])), study)


def pairs(tmp: Path, strengths: Mapping[str, float], *, name: str = "votes.jsonl", **asked: Any) -> Path:
    return written(tmp / name, simulated_votes(strengths, **asked))


def with_survey(votes: pl.DataFrame, *, seed: int = 0) -> pl.DataFrame:
    """Two statements of SDO7 rated by each person; who chooses a more often is more for equality."""
    rng = np.random.default_rng(seed)
    real = votes.filter(pl.col("role") == "real")
    chooses = real.group_by("person").agg(share=(pl.col("answer") == "a").mean()).sort("person")
    rows = []
    for person, share in chooses.iter_rows():
        for number in rng.choice(16, size=2, replace=False) + 1:
            view = np.clip(np.round(4 + 4 * (share - 0.5) + rng.normal()), 1, 7)
            rating = int(view if number <= 8 else 8 - view)
            rows.append(
                dict.fromkeys(VOTES)
                | {
                    "study": "simulated",
                    "person": person,
                    "unit": f"{person}-1",
                    "role": "survey",
                    "question": f"sdo7-{number:02}",
                    "measurement": "interval",
                    "answer": str(rating),
                    "value": float(rating),
                }
            )
    return pl.concat([votes, pl.DataFrame(rows, schema=VOTES)])


def marked(*, persons: int = 12, items: int = 12, seed: int = 0) -> pl.DataFrame:
    """Conversations of two models, of which the ruder one gets more marks, each conversation shown to three persons."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        model = "rude" if item % 2 else "kind"
        for person in rng.choice(persons, size=3, replace=False):
            base = dict.fromkeys(VOTES) | {
                "study": "simulated",
                "person": f"p{person}",
                "unit": f"p{person}-1",
                "presentation": f"p{person}-{item}",
                "position": 0,
                "role": "real",
                "item": f"talk-{item}",
                "kind": "conversation",
                "question": "faults",
                "measurement": "marks",
                "conversation": f"talk-{item}",
                "model": model,
            }
            turns = [turn for turn in range(4) if rng.random() < (0.5 if model == "rude" else 0.1)]
            rows += [base | {"turn": turn, "answer": "offensive", "value": 1.0} for turn in turns] or [
                base | {"answer": "none"}
            ]
    return pl.DataFrame(rows, schema=VOTES)


def rated(*, rates: Mapping[tuple[str, str], Any] | None = None, **asked: Any) -> pl.DataFrame:
    planted = rates or {
        (model, group): rate
        for model, rate in (("toxic", 0.45), ("mild", 0.15))
        for group in ("women", "men")
    }
    return simulated_ratings(planted, **asked)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]


def renamed(votes: pl.DataFrame, names: Mapping[str, str], columns: Sequence[str]) -> pl.DataFrame:
    return votes.with_columns(pl.col(name).replace(dict(names)) for name in columns)


def text_of(study: PeopleStudy, width: int = 80) -> str:
    console = Console(width=width, file=None, record=True, force_terminal=False, quiet=False)
    with console.capture() as captured:
        study.render(console)
    return captured.get()
