"""Designs for somebody's own answers: people a group, few questions, raters, numbers that are skewed, axes that tie."""

from collections.abc import Sequence
from dataclasses import dataclass, replace as replaced

import numpy as np
import polars as pl

from evenhand.studies.calibration.designs.contract import (
    EVERYTHING,
    Design,
    Judged,
    Key,
    Plant,
    Role,
    Sample,
    Truth,
)
from evenhand.studies.calibration.designs.roads import benchmark_road
from evenhand.studies.calibration.designs.tables import axis_truth, planted

ROAD = benchmark_road("answers")
_ROLE = "judgement"


@dataclass(frozen=True)
class Gathered:
    """Answers of groups, simulated separately for each data set.

    people: number per group. questions: number that each person, or each group, answers. same: whether each person
    answers all questions (a unit), or each answer is from a different person. raters: raters per answer, with different
    leniency. rate: share of negative answers. None: answers are numbers, normal with SD 1, or skewed like salaries with
    `skew` as the SD of the logarithm. person, question: SDs of their effects on a number, or on the share (a rate).
    beside: strength of association between the first axis and a second axis without an effect.
    """

    people: tuple[int, ...]
    questions: int = 1
    same: bool = False
    raters: int = 0
    rate: float | None = None
    skew: float = 0.0
    person: float = 0.5
    question: float = 0.7
    beside: float = 0.0

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Draw it."""
        groups = [f"axis {place:03}" for place in range(len(self.people))]
        if self.rate is None:
            values = planted(np.zeros(len(groups)), plant, low=-np.inf, high=np.inf)
        else:
            values = planted([self.rate] * len(groups), replaced(plant, effect=plant.effect / 100))
        parts = [self._group(rng, name, place, float(values[place])) for place, name in enumerate(groups)]
        frame = self._with_questions(rng, pl.concat(parts))
        frame = self._with_outcome(rng, frame)
        spread, difference, scale = (
            ("score_spread", "score_difference", 1.0)
            if self.rate is None
            else ("disparity", "group_difference", 100.0)
        )
        truth = axis_truth("axis", groups, values, spread, difference, scale)
        if self.beside:
            frame = pl.concat([frame, self._beside(rng, frame, len(groups))])
        none = plant.pattern == "none"
        return Sample(
            (frame,), truth, frozenset() if none else frozenset({"axis"}), EVERYTHING if none else frozenset()
        )

    def _group(self, rng: np.random.Generator, name: str, place: int, value: float) -> pl.DataFrame:
        persons = self.people[place] * (1 if self.same else self.questions)
        own = rng.normal(0, self.person, size=persons)
        repeated = np.repeat(np.arange(persons), self.questions if self.same else 1)
        asked = np.arange(len(repeated)) % self.questions
        return pl.DataFrame(
            {
                "axis": "axis",
                "group": name,
                "unit": [f"{name}/{person}" for person in repeated],
                "question": [f"question {number}" for number in asked],
                "at": value + (own[repeated] if self.rate is None else 0.0),
                "own": own[repeated],
            }
        )

    def _with_questions(self, rng: np.random.Generator, frame: pl.DataFrame) -> pl.DataFrame:
        moved = rng.normal(0, self.question, size=self.questions)
        number = frame["question"].str.split(" ").list.last().cast(pl.Int64).to_numpy()
        return frame.with_columns(moved=pl.Series(moved[number]))

    def _with_outcome(self, rng: np.random.Generator, frame: pl.DataFrame) -> pl.DataFrame:
        frame = frame.with_row_index("row")
        if self.rate is None:
            noise = rng.normal(size=frame.height)
            if self.skew:
                noise = np.exp(self.skew * rng.normal(size=frame.height))
                noise = (noise - np.exp(self.skew**2 / 2)) / np.sqrt(
                    np.expm1(self.skew**2) * np.exp(self.skew**2)
                )
            frame = frame.with_columns((pl.col("at") + pl.col("moved")).add(pl.Series(noise)).alias("answer"))
        else:
            logit = pl.col("own") + (pl.col("moved") if self.questions > 1 else 0.0)
            chance = frame.with_columns(odds=logit.exp() * pl.col("at") / (1 - pl.col("at").clip(0, 0.999)))
            # Person and question effects must not change the planted share of the group.
            share = (chance["odds"] / (1 + chance["odds"])).to_numpy()
            level = frame["at"].to_numpy()
            mean = (
                chance.select((pl.col("odds") / (1 + pl.col("odds"))).mean().over("group"))
                .to_series()
                .to_numpy()
            )
            share = np.clip(share * level / np.maximum(mean, 1e-9), 0, 1)
            frame = frame.with_columns(answer=pl.Series((rng.random(frame.height) < share).astype(float)))
        if self.raters:
            lenient = rng.normal(0, 0.5, size=self.raters)
            coded = []
            for rater in range(self.raters):
                seen = frame["answer"].to_numpy() + (
                    lenient[rater] + rng.normal(0, 0.5, size=frame.height) if self.rate is None else 0.0
                )
                coded.append(frame.with_columns(answer=pl.Series(seen), rater=pl.lit(f"rater {rater}")))
            frame = pl.concat(coded)
        known = pl.col("answer")
        judged = (
            known.alias(f"{_ROLE}_score") if self.rate is None else (known > 0).alias(f"{_ROLE}_negative")
        )
        frame = frame.with_columns(
            judged,
            pl.lit(None, pl.String).alias("error"),
            prompt_id=pl.format("row-{}", "row"),
            sample=pl.lit(0),
            text=pl.lit(""),
        )
        keep = ["unit"] if self.same or self.raters else []
        return frame.drop("row", "at", "own", "moved", "answer", *({"unit"} - set(keep)))

    def _beside(self, rng: np.random.Generator, frame: pl.DataFrame, groups: int) -> pl.DataFrame:
        """A second axis: of a person the same group as on the first, or a random one."""
        place = frame["group"].str.tail(3).cast(pl.Int64).to_numpy()
        other = np.where(
            rng.random(frame.height) < self.beside, place, rng.integers(0, groups, size=frame.height)
        )
        return frame.with_columns(
            axis=pl.lit("beside"), group=pl.Series([f"beside {number:03}" for number in other])
        )


@dataclass(frozen=True)
class Combined:
    """Answers with two group columns. Effects are additive, except for the one planted in the first combination.

    shape: number of groups in each column. people: number per combination, or, with `crossed`, people who answer about
    all combinations; several numbers are used in turn. answers: per person and combination. rates: of the first and the
    last combination; None: answers are numbers with SD 1 and group effects up to 1. person: SD of the person's effect
    on a number, or on the share. third: strength of association between a third column and the combination of the first
    two; the third column also has an effect.
    """

    shape: tuple[int, int]
    people: tuple[int, ...]
    answers: int = 1
    crossed: bool = False
    rates: tuple[float, float] | None = (0.1, 0.5)
    person: float = 0.0
    third: float = 0.0

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Draw it."""
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
            outcome = pl.DataFrame({f"{_ROLE}_score": centre + lean + rng.normal(size=len(cell))})
        else:
            chance = np.clip(centre + lean, 0.0, 1.0)
            outcome = pl.DataFrame({f"{_ROLE}_negative": rng.random(len(cell)) < chance})
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
    """Designs with two columns of groups."""

    def design(
        name: str, about: str, draw: Combined, *, quick: int = 0, factors: tuple[float, ...] = ()
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
            "Two columns of two groups, 60 answers in each combination; 10 to 50 % negative.",
            Combined((2, 2), (60,)),
            quick=30,
            factors=(0.5, 1.0, 1.5),
        ),
        design(
            "2 x 2, people",
            "Fifteen people in each combination give five answers each and lean their own way.",
            Combined((2, 2), (15,), 5, person=0.15),
        ),
        design(
            "2 x 2, crossed",
            "Thirty people answer about each of four combinations.",
            Combined((2, 2), (30,), crossed=True, person=0.15),
        ),
        design(
            "2 x 2, rare",
            "1 to 5 % negative, 100 answers in each combination.",
            Combined((2, 2), (100,), rates=(0.01, 0.05)),
        ),
        design(
            "2 x 4, unequal",
            "Combinations of 5 to 200 people with three answers each.",
            Combined((2, 4), (5, 200, 20, 60), 3, person=0.1),
        ),
        design(
            "3 x 5",
            "Three and five groups, 30 answers in each combination, 10 to 50 % negative.",
            Combined((3, 5), (30,)),
            quick=20,
            factors=(0.5, 1.0, 1.5),
        ),
        design(
            "3 x 5, unequal",
            "Combinations of 5 to 200 answers, 3 to 38 % negative.",
            Combined((3, 5), (5, 200, 12, 80, 40), rates=(0.03, 0.38)),
        ),
        design(
            "3 x 4, crossed",
            "Thirty people answer about each of twelve combinations; 2 to 30 % negative.",
            Combined((3, 4), (30,), crossed=True, rates=(0.02, 0.30), person=0.05),
        ),
        design(
            "2 x 3, numbers",
            "A rating, 25 people in each combination.",
            Combined((2, 3), (25,), rates=None),
        ),
        design(
            "3 x 4, numbers, people",
            "Ratings by 5 to 80 people in each combination, two from each.",
            Combined((3, 4), (5, 80, 20, 40), 2, rates=None, person=0.7),
        ),
        design(
            "a third column",
            "A third column with an effect follows the combination of the first two; nothing is planted.",
            Combined((2, 2), (200,), third=0.7, rates=(0.1, 0.4)),
        ),
    ]


def _design(
    name: str,
    about: str,
    draw: Gathered,
    *,
    quick: int = 0,
    full: int = 300,
    planted: bool = True,
    factors: tuple[float, ...] = (1.0,),
    role: Role = "standard",
) -> Design:
    rates = draw.rate is not None
    spread, difference = ("disparity", "group_difference") if rates else ("score_spread", "score_difference")
    judged: Sequence[Judged] = (
        Judged(spread, axis="axis"),
        Judged(difference, axis="axis", group="axis 000"),
    )
    if planted:
        most = (45.0, 89.0) if rates else (float("inf"), float("inf"))
        judged = (
            Judged(spread, "half", "axis", None, largest=most[0]),
            Judged(difference, "one", "axis", "axis 000", largest=most[1]),
        )
    return Design(f"answers: {name}", about, ROAD, draw, tuple(judged), quick, full, factors, role=role)


def gathered_designs() -> list[Design]:
    """All of them."""
    return [
        _design(
            "40 people x 3 questions",
            "Forty answers a group to each of three questions that all groups met; 25 % negative.",
            Gathered((40, 40), 3, rate=0.25),
            quick=30,
            factors=(0.5, 1.0, 1.5),
        ),
        _design(
            "40 people, one question",
            "Forty answers a group to one question.",
            Gathered((40, 40), 1, rate=0.25),
        ),
        _design(
            "the same people",
            "Forty people a group answer all of three questions each.",
            Gathered((40, 40, 40), 3, same=True, rate=0.25, person=1.0),
        ),
        _design(
            "rare answers",
            "One answer of fifty is negative; 200 a group to each of three questions.",
            Gathered((200, 200), 3, rate=0.02),
        ),
        _design(
            "unequal groups",
            "Groups of 15, 40 and 150 people, three questions.",
            Gathered((15, 40, 150), 3, rate=0.25),
        ),
        _design(
            "ratings",
            "A rating of three questions by forty people a group.",
            Gathered((40, 40), 3),
            quick=30,
            factors=(0.5, 1.0, 1.5),
        ),
        _design("ratings, one question", "A rating of one question, four groups of 25.", Gathered((25,) * 4)),
        _design(
            "ratings by the same people",
            "Thirty people a group rate four questions each, and lean their own way.",
            Gathered((30, 30, 30), 4, same=True, person=1.0),
        ),
        _design(
            "ratings, unequal groups",
            "Groups of 15, 40 and 150 people, three questions.",
            Gathered((15, 40, 150), 3),
        ),
        _design(
            "three raters",
            "Forty answers a group, each rated by three raters who are strict to different degrees.",
            Gathered((40, 40), 1, raters=3),
        ),
        _design(
            "salaries",
            "Salaries, whose logarithms have a standard deviation of .5, of 60 people a group.",
            Gathered((60, 60), 1, skew=0.5, person=0.0),
        ),
        _design(
            "many questions",
            "Sixteen questions that all groups met, four answers of each group to each.",
            Gathered((4, 4, 4), 16),
        ),
        _design(
            "a tied axis",
            "A second axis whose groups are mostly those of the first; nothing is planted in either.",
            Gathered((60, 60, 60), 1, beside=0.7),
            planted=False,
        ),
    ]
