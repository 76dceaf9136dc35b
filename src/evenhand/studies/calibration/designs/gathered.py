"""Designs for a user's own responses: few questions, repeated participants, several raters, skewed numbers."""

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
    """Responses of participants from several groups to one or several questions.

    people: number of participants per group. questions: number of questions. same: True if each participant answers all
    questions; False if each question is answered by other participants. raters: number of raters per response, who
    differ in leniency. rate: share of negative responses. If it is None, responses are numbers: normal with SD 1, or
    log-normal like salaries, where `skew` is the SD of the logarithm. person, question: SDs of participants and
    questions, in units of the number or (for rates) in logits. beside: share of responses whose group on a second axis,
    which has no effect, corresponds to their group on the first; 0: no second axis.
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
        """Simulate the responses with the planted effect."""
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
            # Effects of participants and questions must not change the true rate of the group.
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
        """Return the responses with their group on a second axis: the corresponding group, or a random one."""
        place = frame["group"].str.tail(3).cast(pl.Int64).to_numpy()
        other = np.where(
            rng.random(frame.height) < self.beside, place, rng.integers(0, groups, size=frame.height)
        )
        return frame.with_columns(
            axis=pl.lit("beside"), group=pl.Series([f"beside {number:03}" for number in other])
        )


@dataclass(frozen=True)
class Combined:
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
    """Return the designs with two columns of groups."""

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
            "2 group columns with 2 groups each, 60 responses per combination. Group effects are additive; "
            "rates range from 10 to 50% negative.",
            Combined((2, 2), (60,)),
            quick=30,
            factors=(0.5, 1.0, 1.5),
        ),
        design(
            "2 x 2, people",
            "2 group columns with 2 groups each, 15 participants per combination, 5 responses per "
            "participant. Group effects are additive (10 to 50% negative); participants differ by 15 points "
            "(SD).",
            Combined((2, 2), (15,), 5, person=0.15),
        ),
        design(
            "2 x 2, crossed",
            "2 group columns with 2 groups each; the same 30 participants respond to all 4 combinations. "
            "Group effects are additive (10 to 50% negative); participants differ by 15 points (SD).",
            Combined((2, 2), (30,), crossed=True, person=0.15),
        ),
        design(
            "2 x 2, rare",
            "Rare events: 2 group columns with 2 groups each, 100 responses per combination. Group effects "
            "are additive; rates range from 1 to 5% negative.",
            Combined((2, 2), (100,), rates=(0.01, 0.05)),
        ),
        design(
            "2 x 4, unequal",
            "Unequal sizes: 2 group columns with 2 and 4 groups, 5 to 200 participants per combination, 3 "
            "responses each. Group effects are additive (10 to 50% negative); participants differ by 10 "
            "points (SD).",
            Combined((2, 4), (5, 200, 20, 60), 3, person=0.1),
        ),
        design(
            "3 x 5",
            "2 group columns with 3 and 5 groups, 30 responses per combination. Group effects are additive; "
            "rates range from 10 to 50% negative.",
            Combined((3, 5), (30,)),
            quick=20,
            factors=(0.5, 1.0, 1.5),
        ),
        design(
            "3 x 5, unequal",
            "Unequal sizes: 2 group columns with 3 and 5 groups, 5 to 200 responses per combination. Group "
            "effects are additive; rates range from 3 to 38% negative.",
            Combined((3, 5), (5, 200, 12, 80, 40), rates=(0.03, 0.38)),
        ),
        design(
            "3 x 4, crossed",
            "2 group columns with 3 and 4 groups; the same 30 participants respond to all 12 combinations. "
            "Group effects are additive (2 to 30% negative); participants differ by 5 points (SD).",
            Combined((3, 4), (30,), crossed=True, rates=(0.02, 0.30), person=0.05),
        ),
        design(
            "2 x 3, numbers",
            "Numeric ratings with SD 1: 2 group columns with 2 and 3 groups, 25 ratings per combination. "
            "Group effects are additive; means range from 0 to 1.",
            Combined((2, 3), (25,), rates=None),
        ),
        design(
            "3 x 4, numbers, people",
            "Numeric ratings: 2 group columns with 3 and 4 groups, 5 to 80 participants per combination, 2 "
            "ratings each. Group effects are additive (means from 0 to 1); participants differ (SD 0.7).",
            Combined((3, 4), (5, 80, 20, 40), 2, rates=None, person=0.7),
        ),
        design(
            "a third column",
            "2 group columns with 2 groups each, 200 responses per combination. A third column adds 25 points "
            "to the rate and depends on the combination of the first two, which do not interact.",
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
    """Return the designs with one column of groups."""
    return [
        _design(
            "40 people x 3 questions",
            "2 groups, 40 responses per group to each of 3 shared questions. 25% of responses are negative in "
            "both groups; questions differ (SD 0.7 logits).",
            Gathered((40, 40), 3, rate=0.25),
            quick=30,
            factors=(0.5, 1.0, 1.5),
        ),
        _design(
            "40 people, one question",
            "Only one question: 2 groups, 40 responses per group. 25% of responses are negative in both groups.",
            Gathered((40, 40), 1, rate=0.25),
        ),
        _design(
            "the same people",
            "3 groups, 40 participants per group; each participant answers all 3 questions. 25% of responses "
            "are negative in every group; participants (SD 1 logit) and questions (0.7) differ.",
            Gathered((40, 40, 40), 3, same=True, rate=0.25, person=1.0),
        ),
        _design(
            "rare answers",
            "Rare events: 2% of responses are negative in both groups. 2 groups, 200 responses per group to "
            "each of 3 shared questions.",
            Gathered((200, 200), 3, rate=0.02),
        ),
        _design(
            "unequal groups",
            "Unequal group sizes: 15, 40 or 150 responses per group to each of 3 shared questions. 25% of "
            "responses are negative in every group; questions differ (SD 0.7 logits).",
            Gathered((15, 40, 150), 3, rate=0.25),
        ),
        _design(
            "ratings",
            "2 groups, 40 ratings per group for each of 3 shared questions. Ratings are normal (SD 1.1 within "
            "a question); questions differ (SD 0.7).",
            Gathered((40, 40), 3),
            quick=30,
            factors=(0.5, 1.0, 1.5),
        ),
        _design(
            "ratings, one question",
            "Only one question: 4 groups, 25 ratings per group. Ratings are normal (SD 1.1).",
            Gathered((25,) * 4),
        ),
        _design(
            "ratings by the same people",
            "3 groups, 30 participants per group; each participant rates all 4 questions. Participants differ "
            "as much as their single ratings (SD 1 each, ICC 0.5); questions differ (SD 0.7).",
            Gathered((30, 30, 30), 4, same=True, person=1.0),
        ),
        _design(
            "ratings, unequal groups",
            "Unequal group sizes: 15, 40 or 150 ratings per group for each of 3 shared questions. Ratings are "
            "normal (SD 1.1 within a question); questions differ (SD 0.7).",
            Gathered((15, 40, 150), 3),
        ),
        _design(
            "three raters",
            "2 groups, 40 responses per group, each rated by the same 3 annotators. Annotators differ in "
            "leniency (SD 0.5), responses by SD 1.1; each rating has an error of SD 0.5.",
            Gathered((40, 40), 1, raters=3),
        ),
        _design(
            "salaries",
            "Skewed numbers such as salaries: 2 groups, 60 responses per group. Responses are log-normal (SD "
            "of the logarithm 0.5).",
            Gathered((60, 60), 1, skew=0.5, person=0.0),
        ),
        _design(
            "many questions",
            "Many questions: 3 groups, 4 ratings per group for each of 16 shared questions. Ratings are "
            "normal (SD 1.1 within a question); questions differ (SD 0.7).",
            Gathered((4, 4, 4), 16),
        ),
        _design(
            "a tied axis",
            "Two associated axes without bias: 3 groups, 60 ratings per group. For 70% of ratings the group "
            "on the second axis corresponds to that on the first; others are random.",
            Gathered((60, 60, 60), 1, beside=0.7),
            planted=False,
        ),
    ]
