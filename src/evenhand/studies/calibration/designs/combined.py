"""Designs for a user's own responses with two columns of groups: interactions of two axes."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.studies.calibration.designs.contract import (
    Design,
    Judged,
    Key,
    Plant,
    Sample,
    Truth,
)
from evenhand.studies.calibration.designs.gathered import ROAD, ROLE


@dataclass(frozen=True)
class TwoColumnResponses:
    """Responses with two group columns, whose effects are additive except for a planted interaction.

    The interaction shifts the first combination of groups. shape: number of groups in each column. people: number of
    participants per combination (several numbers are used in turn) or, if `crossed`, number of participants who respond
    about all combinations. answers: responses per participant and combination. rates: of the first and the last
    combination; None: responses are numbers with SD 1 and group effects of up to 1. person: SD of participants, in
    units of the number or of the rate. third: share of responses for which a third column, which has an effect, is
    determined by the combination of the first two; 0: no third column.
    """

    shape: tuple[int, int]
    people: tuple[int, ...]
    answers: int = 1
    crossed: bool = False
    rates: tuple[float, float] | None = (0.1, 0.5)
    person: float = 0.0
    third: float = 0.0

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the responses with the planted effect."""
        first, second = (np.arange(number) for number in self.shape)
        steps = first[:, None] / (self.shape[0] - 1) / 2 + second[None, :] / (self.shape[1] - 1) / 2
        low, high = self.rates or (0.0, 1.0)
        values = (low + (high - low) * steps).ravel()
        effect = plant.effect / 100 if self.rates else plant.effect
        none = plant.pattern == "none"
        values[0] += 0.0 if none else effect
        frame = self._answers(rng, values)
        axis = "first × second"
        truth: dict[Key, Truth] = {
            ("interaction", axis, None): Truth((100 if self.rates else 1) * (0.0 if none else effect), none)
        }
        touched: frozenset[str | None] = frozenset() if none else frozenset({axis, "first", "second"})
        return Sample((frame,), truth, touched, frozenset({"interaction"}) if none else frozenset())

    def _answers(self, rng: np.random.Generator, values: np.ndarray) -> pl.DataFrame:
        cells = len(values)
        if self.crossed:
            person = np.repeat(np.arange(self.people[0]), cells * self.answers)
            cell = np.tile(np.repeat(np.arange(cells), self.answers), self.people[0])
        else:
            sizes = np.resize(self.people, cells)
            person = np.repeat(np.arange(sizes.sum()), self.answers)
            cell = np.repeat(np.repeat(np.arange(cells), sizes), self.answers)
        lean = rng.normal(0, self.person, person.max() + 1)[person]
        centre = values[cell]
        third = rng.integers(0, 2, len(cell))
        if self.third:
            first, second = np.divmod(cell, self.shape[1])
            third = np.where(rng.random(len(cell)) < self.third, (first + second) % 2, third)
            centre = centre + 0.25 * third
        if self.rates is None:
            outcome = pl.DataFrame({f"{ROLE}_score": centre + lean + rng.normal(size=len(cell))})
        else:
            chance = np.clip(centre + lean, 0.0, 1.0)
            outcome = pl.DataFrame({f"{ROLE}_negative": rng.random(len(cell)) < chance})
        names = {"first": cell // self.shape[1], "second": cell % self.shape[1]}
        names |= {"third": third} if self.third else {}
        columns = {f"beside_{name}": [f"{name} {code}" for code in codes] for name, codes in names.items()}
        table = pl.DataFrame(columns | {"unit": [f"person {number}" for number in person]}).hstack(outcome)
        table = table.with_row_index("row").with_columns(
            pl.lit(None, pl.String).alias("error"),
            pl.format("row-{}", "row").alias("prompt_id"),
            pl.lit(0).alias("sample"),
            pl.lit("").alias("text"),
        )
        parts = [table.with_columns(axis=pl.lit(name), group=pl.col(f"beside_{name}")) for name in names]
        return pl.concat(parts).drop("row", *([] if self.answers > 1 or self.crossed else ["unit"]))


def combined_designs() -> list[Design]:
    """Return the designs with two columns of groups."""

    def design(
        name: str, about: str, draw: TwoColumnResponses, *, quick: int = 0, factors: tuple[float, ...] = ()
    ) -> Design:
        planted = not draw.third
        judged = Judged(
            "interaction",
            "one" if planted else "none",
            "first × second",
            None,
            89.0 if draw.rates else float("inf"),
        )
        return Design(f"combinations: {name}", about, ROAD, draw, (judged,), quick, 400, factors or (1.0,))

    return [
        design(
            "2 x 2",
            "2 group columns with 2 groups each, 60 responses per combination. Group effects are additive; "
            "rates range from 10 to 50% negative.",
            TwoColumnResponses((2, 2), (60,)),
            quick=30,
            factors=(0.5, 1.0, 1.5),
        ),
        design(
            "2 x 2, people",
            "2 group columns with 2 groups each, 15 participants per combination, 5 responses per "
            "participant. Group effects are additive (10 to 50% negative); participants differ by 15 points "
            "(SD).",
            TwoColumnResponses((2, 2), (15,), 5, person=0.15),
        ),
        design(
            "2 x 2, crossed",
            "2 group columns with 2 groups each; the same 30 participants respond to all 4 combinations. "
            "Group effects are additive (10 to 50% negative); participants differ by 15 points (SD).",
            TwoColumnResponses((2, 2), (30,), crossed=True, person=0.15),
        ),
        design(
            "2 x 2, rare",
            "Rare events: 2 group columns with 2 groups each, 100 responses per combination. Group effects "
            "are additive; rates range from 1 to 5% negative.",
            TwoColumnResponses((2, 2), (100,), rates=(0.01, 0.05)),
        ),
        design(
            "2 x 4, unequal",
            "Unequal sizes: 2 group columns with 2 and 4 groups, 5 to 200 participants per combination, 3 "
            "responses each. Group effects are additive (10 to 50% negative); participants differ by 10 "
            "points (SD).",
            TwoColumnResponses((2, 4), (5, 200, 20, 60), 3, person=0.1),
        ),
        design(
            "3 x 5",
            "2 group columns with 3 and 5 groups, 30 responses per combination. Group effects are additive; "
            "rates range from 10 to 50% negative.",
            TwoColumnResponses((3, 5), (30,)),
            quick=20,
            factors=(0.5, 1.0, 1.5),
        ),
        design(
            "3 x 5, unequal",
            "Unequal sizes: 2 group columns with 3 and 5 groups, 5 to 200 responses per combination. Group "
            "effects are additive; rates range from 3 to 38% negative.",
            TwoColumnResponses((3, 5), (5, 200, 12, 80, 40), rates=(0.03, 0.38)),
        ),
        design(
            "3 x 4, crossed",
            "2 group columns with 3 and 4 groups; the same 30 participants respond to all 12 combinations. "
            "Group effects are additive (2 to 30% negative); participants differ by 5 points (SD).",
            TwoColumnResponses((3, 4), (30,), crossed=True, rates=(0.02, 0.30), person=0.05),
        ),
        design(
            "2 x 3, numbers",
            "Numeric ratings with SD 1: 2 group columns with 2 and 3 groups, 25 ratings per combination. "
            "Group effects are additive; means range from 0 to 1.",
            TwoColumnResponses((2, 3), (25,), rates=None),
        ),
        design(
            "3 x 4, numbers, people",
            "Numeric ratings: 2 group columns with 3 and 4 groups, 5 to 80 participants per combination, 2 "
            "ratings each. Group effects are additive (means from 0 to 1); participants differ (SD 0.7).",
            TwoColumnResponses((3, 4), (5, 80, 20, 40), 2, rates=None, person=0.7),
        ),
        design(
            "a third column",
            "2 group columns with 2 groups each, 200 responses per combination. A third column adds 25 points "
            "to the rate and depends on the combination of the first two, which do not interact.",
            TwoColumnResponses((2, 2), (200,), third=0.7, rates=(0.1, 0.4)),
        ),
    ]
