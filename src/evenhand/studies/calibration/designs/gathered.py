"""Designs for a user's own responses: few questions, repeated participants, several raters, skewed numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace as replaced

import numpy as np
import polars as pl

from evenhand.studies.calibration.designs.contract import (
    EVERYTHING,
    Design,
    Judged,
    Plant,
    Role,
    Sample,
)
from evenhand.studies.calibration.designs.roads import benchmark_road
from evenhand.studies.calibration.designs.tables import axis_truth, plant_effect

ROAD = benchmark_road("answers")
ROLE = "judgement"


@dataclass(frozen=True)
class ParticipantResponses:
    """Responses of participants from several groups to one or several questions.

    Attributes
    ----------
    people
        Number of participants per group.
    questions
        Number of questions.
    same
        True if each participant answers all questions; False if each question is answered by other participants.
    raters
        Number of raters per response, who differ in leniency.
    rate
        Share of negative responses. If it is None, responses are numbers: normal with SD 1, or log-normal like
        salaries, where `skew` is the SD of the logarithm.
    person, question
        SDs of participants and questions, in units of the number or (for rates) in logits.
    beside
        Share of responses whose group on a second axis, which has no effect, corresponds to their group on the first;
        0: no second axis.
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
            values = plant_effect(np.zeros(len(groups)), plant, low=-np.inf, high=np.inf)
        else:
            values = plant_effect([self.rate] * len(groups), replaced(plant, effect=plant.effect / 100))
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
            frame = pl.concat([frame, self._add_second_axis(rng, frame, len(groups))])
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
        judged = known.alias(f"{ROLE}_score") if self.rate is None else (known > 0).alias(f"{ROLE}_negative")
        frame = frame.with_columns(
            judged,
            pl.lit(None, pl.String).alias("error"),
            prompt_id=pl.format("row-{}", "row"),
            sample=pl.lit(0),
            text=pl.lit(""),
        )
        keep = ["unit"] if self.same or self.raters else []
        return frame.drop("row", "at", "own", "moved", "answer", *({"unit"} - set(keep)))

    def _add_second_axis(self, rng: np.random.Generator, frame: pl.DataFrame, groups: int) -> pl.DataFrame:
        """Return the responses with their group on a second axis: the corresponding group, or a random one."""
        place = frame["group"].str.tail(3).cast(pl.Int64).to_numpy()
        other = np.where(
            rng.random(frame.height) < self.beside, place, rng.integers(0, groups, size=frame.height)
        )
        return frame.with_columns(
            axis=pl.lit("beside"), group=pl.Series([f"beside {number:03}" for number in other])
        )


def _design(
    name: str,
    about: str,
    draw: ParticipantResponses,
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
            ParticipantResponses((40, 40), 3, rate=0.25),
            quick=30,
            factors=(0.5, 1.0, 1.5),
        ),
        _design(
            "40 people, one question",
            "Only one question: 2 groups, 40 responses per group. 25% of responses are negative in both groups.",
            ParticipantResponses((40, 40), 1, rate=0.25),
        ),
        _design(
            "the same people",
            "3 groups, 40 participants per group; each participant answers all 3 questions. 25% of responses "
            "are negative in every group; participants (SD 1 logit) and questions (0.7) differ.",
            ParticipantResponses((40, 40, 40), 3, same=True, rate=0.25, person=1.0),
        ),
        _design(
            "rare answers",
            "Rare events: 2% of responses are negative in both groups. 2 groups, 200 responses per group to "
            "each of 3 shared questions.",
            ParticipantResponses((200, 200), 3, rate=0.02),
        ),
        _design(
            "unequal groups",
            "Unequal group sizes: 15, 40 or 150 responses per group to each of 3 shared questions. 25% of "
            "responses are negative in every group; questions differ (SD 0.7 logits).",
            ParticipantResponses((15, 40, 150), 3, rate=0.25),
        ),
        _design(
            "ratings",
            "2 groups, 40 ratings per group for each of 3 shared questions. Ratings are normal (SD 1.1 within "
            "a question); questions differ (SD 0.7).",
            ParticipantResponses((40, 40), 3),
            quick=30,
            factors=(0.5, 1.0, 1.5),
        ),
        _design(
            "ratings, one question",
            "Only one question: 4 groups, 25 ratings per group. Ratings are normal (SD 1.1).",
            ParticipantResponses((25,) * 4),
        ),
        _design(
            "ratings by the same people",
            "3 groups, 30 participants per group; each participant rates all 4 questions. Participants differ "
            "as much as their single ratings (SD 1 each, ICC 0.5); questions differ (SD 0.7).",
            ParticipantResponses((30, 30, 30), 4, same=True, person=1.0),
        ),
        _design(
            "ratings, unequal groups",
            "Unequal group sizes: 15, 40 or 150 ratings per group for each of 3 shared questions. Ratings are "
            "normal (SD 1.1 within a question); questions differ (SD 0.7).",
            ParticipantResponses((15, 40, 150), 3),
        ),
        _design(
            "three raters",
            "2 groups, 40 responses per group, each rated by the same 3 annotators. Annotators differ in "
            "leniency (SD 0.5), responses by SD 1.1; each rating has an error of SD 0.5.",
            ParticipantResponses((40, 40), 1, raters=3),
        ),
        _design(
            "salaries",
            "Skewed numbers such as salaries: 2 groups, 60 responses per group. Responses are log-normal (SD "
            "of the logarithm 0.5).",
            ParticipantResponses((60, 60), 1, skew=0.5, person=0.0),
        ),
        _design(
            "many questions",
            "Many questions: 3 groups, 4 ratings per group for each of 16 shared questions. Ratings are "
            "normal (SD 1.1 within a question); questions differ (SD 0.7).",
            ParticipantResponses((4, 4, 4), 16),
        ),
        _design(
            "a tied axis",
            "Two associated axes without bias: 3 groups, 60 ratings per group. For 70% of ratings the group "
            "on the second axis corresponds to that on the first; others are random.",
            ParticipantResponses((60, 60, 60), 1, beside=0.7),
            planted=False,
        ),
    ]
