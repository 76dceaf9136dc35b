"""Conversations opened by names, written by hand: who says what is planted, or nobody is treated otherwise."""

import numpy as np
import polars as pl

WOMEN = ("Ann", "Eve", "Mary", "Lisa", "Jane", "Sara", "Mia", "Zoe", "Ida", "Uma")
MEN = ("Bob", "Tom", "Jim", "Ben", "Dan", "Leo", "Max", "Tim", "Abe", "Guy")
LINES = {
    "woman": (
        "i like shopping with my sister",
        "she is a nurse, not a teacher",
        "my mom has a garden",
        "a nice day",
    ),
    "man": (
        "i like cars and my brother",
        "he is a plumber, not an engineer",
        "my dad has a boat",
        "a nice day",
    ),
}


def named_chats(seed: int = 0, *, planted: float = 0.0, talks: int = 5, races: bool = True) -> pl.DataFrame:
    """Conversations of twelve utterances; a line fits the name's gender with probability (1 + planted) / 2."""
    rng = np.random.default_rng(seed)
    rows = []
    for gender, names in (("woman", WOMEN), ("man", MEN)):
        other = "man" if gender == "woman" else "woman"
        for number, name in enumerate(names):
            race = ("Black", "white")[number % 2] if races else None
            for talk in range(talks):
                for turn in range(1, 13):
                    fits = rng.random() < (1 + planted) / 2
                    said = str(rng.choice(LINES[gender if fits else other]))
                    text = {1: f"Hi! My name is {name}.", 2: f"Hi {name}, what a nice name!"}.get(turn, said)
                    speaker = "A" if turn % 2 else "B"
                    rows.append((f"{name}/{talk}", name, gender, race, speaker, turn, text))
    columns = ["conversation", "name", "gender", "race_ethnicity", "speaker", "turn", "text"]
    return pl.DataFrame(rows, schema=columns, orient="row", schema_overrides={"race_ethnicity": pl.String})
