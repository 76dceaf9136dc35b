"""People who judge, as rows of VOTES: honest ones whose opinions differ, and those who do not read."""

import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from evenhand.schema import VOTES

BEGAN = datetime(2025, 3, 1, 9, tzinfo=UTC)
WORDS = (
    "this one sounds more like somebody I know and answers what was asked while the other repeats itself never says "
    "why changes topic is polite rude funny dull warm cold honest short long knows much little about music work food"
)


def vote(**given: Any) -> dict[str, Any]:
    """One answer: a pair judged by its conversations, unless something else is said."""
    row: dict[str, Any] = {
        **dict.fromkeys(VOTES),
        "study": "pairs",
        "person": "p1",
        "unit": "u1",
        "presentation": f"{given.get('person', 'p1')}-{given.get('item', 'i1')}-{given.get('role', 'real')}",
        "position": 0,
        "role": "real",
        "item": "i1",
        "kind": "pair",
        "question": "engaging",
        "measurement": "preference",
        "answer": "a",
        "shown_left": "a",
        "shown_at": BEGAN,
        "answered_at": BEGAN + timedelta(seconds=20),
        "seconds": 20.0,
        **given,
    }
    if row["expected"] is not None and row["correct"] is None:
        row["correct"] = row["answer"] == row["expected"]
    return row


def table(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=VOTES)


def text_vote(**given: Any) -> dict[str, Any]:
    """One answer to a yes/no question about a text."""
    answer = given.get("answer", "no")
    return vote(
        **{
            "study": "labels",
            "kind": "text",
            "question": "toxicity",
            "measurement": "nominal",
            "shown_left": None,
            "answer": answer,
            "value": {"yes": 1.0, "no": 0.0}.get(answer),
            "text": f"text of {given.get('item', 'i1')}",
            "model": "some-model",
            "groups": json.dumps({"axis": "gender", "group": "women"}),
            **given,
        }
    )


def judge_pairs(
    person: str,
    rng: random.Random,
    *,
    pairs: int = 20,
    gold: int = 4,
    duplicates: int = 4,
    onboarding: int = 4,
    accuracy: float = 0.95,
    repeats: float = 0.85,
    balanced: bool = True,
    how: str = "honest",
) -> list[dict[str, Any]]:
    """All rows of one person who judges pairs with a reason.

    accuracy: of an honest person on known answers. repeats: how often they answer a repetition as before. balanced:
    whether a stands on the left in exactly half of the pairs. how: honest; random (clicks), left (always), fast,
    copied (reasons again and again).
    """
    sides = ["a", "b"] * ((pairs + 1) // 2) if balanced else [rng.choice("ab") for _ in range(pairs)]
    sides = rng.sample(sides, len(sides))
    taste = rng.uniform(0.3, 0.8)
    plan = [("onboarding", f"onboarding-{i}") for i in range(onboarding)]
    plan += [("real", f"pair-{i}") for i in range(pairs)] + [("gold", f"gold-{i}") for i in range(gold)]
    plan += [("duplicate", f"pair-{i}") for i in range(duplicates)]
    said: dict[str, str] = {}
    rows = []
    for position, (role, item) in enumerate(plan):
        left = sides[position - onboarding] if role == "real" else rng.choice("ab")
        expected = rng.choice("ab") if role in ("gold", "onboarding") else None
        if how == "random":
            answer = rng.choice("ab")
        elif how == "left":
            answer = left
        elif expected is not None:
            answer = expected if rng.random() < accuracy else {"a": "b", "b": "a"}[expected]
        elif role == "duplicate":
            answer = said[item] if rng.random() < repeats else {"a": "b", "b": "a"}[said[item]]
        else:
            answer = "a" if rng.random() < taste else "b"
        said[item] = answer
        seconds = rng.uniform(0.8, 2.5) if how == "fast" else rng.lognormvariate(3.2, 0.6)
        reason = " ".join(rng.choices(WORDS.split(), k=9))
        if how == "copied" and rng.random() < 0.8:
            reason = "good answer, I like it"
        shown = BEGAN + timedelta(minutes=position)
        rows.append(
            vote(
                person=person,
                unit=f"{person}-u",
                presentation=f"{person}-{position}",
                position=position,
                role=role,
                item=item,
                answer=answer,
                reason=reason,
                shown_left=left,
                expected=expected,
                shown_at=shown,
                answered_at=shown + timedelta(seconds=seconds),
                seconds=seconds,
            )
        )
    return rows
