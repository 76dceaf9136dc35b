"""Simulate self-chats of names: judged gender, tokens, and mentioned occupations.

Names are the sampled units: each has separate preferences, and some have more conversations than others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]
GENDERS = ("woman", "man")
RACES = ("race 0", "race 1")


@dataclass(frozen=True)
class Names:
    """Simulated names of two genders.

    `women` and `men` are numbers of names. `talks` is the number of conversations per name; with unequal names, it
    varies from 1 to this number. With `races`, names alternate between races, which have a separate effect on the
    conversations.
    """

    women: int
    men: int
    talks: int = 4
    bursty: bool = False
    races: bool = False

    def table(self, rng: np.random.Generator) -> pl.DataFrame:
        """Return the table of names with the columns name, gender, race_ethnicity (null without races) and talks."""
        numbers = [*range(self.women), *range(self.men)]
        genders = [GENDERS[0]] * self.women + [GENDERS[1]] * self.men
        shares = rng.beta(0.5, 1.0, len(numbers)) if self.bursty else np.ones(len(numbers))
        return pl.DataFrame(
            {
                "name": [f"{gender} {number:03d}" for gender, number in zip(genders, numbers, strict=True)],
                "gender": genders,
                "race_ethnicity": pl.Series(
                    [RACES[number % 2] if self.races else None for number in numbers], dtype=pl.String
                ),
                "talks": 1 + np.floor(shares * (self.talks - 1)).astype(np.int64),
            }
        )


@dataclass(frozen=True)
class ToldGender:
    """Simulated classifier of the gender in utterances.

    `seen` is the share of utterances with a detected gender. `taste` is the SD over names of the share "woman". `lean`
    is a bias towards "woman" for all speakers, and `race` the effect of race.
    """

    names: Names
    seen: float = 0.5
    taste: float = 0.1
    lean: float = 0.1
    race: float = 0.1
    turns: int = 11

    @property
    def largest(self) -> float:
        """Return the largest bias, in percentage points, for which the shares of all names stay between 0 and 1."""
        return 100 * self.seen * (0.5 - self.lean - self.taste - self.race * self.names.races)

    def frame(self, rng: np.random.Generator, points: float) -> pl.DataFrame:
        """Return one row per utterance. The true bias is `points` percentage points above chance."""
        table = self.names.table(rng)
        women = (table["gender"] == GENDERS[0]).to_numpy()
        other = (table["race_ethnicity"] == RACES[1]).fill_null(False).to_numpy()
        moved = points / 100 / self.seen
        share = 0.5 + self.lean + np.where(women, moved, -moved) + self.race * other
        share = share + rng.choice([-1.0, 1.0], len(share)) * self.taste
        rows = np.repeat(np.arange(len(share)), table["talks"].to_numpy() * self.turns)
        told = np.where(rng.random(len(rows)) < np.clip(share, 0, 1)[rows], *GENDERS)
        told = np.where(rng.random(len(rows)) < self.seen, told, "neither")
        place = np.arange(len(rows)) - np.searchsorted(rows, rows)
        turn = 2 + place % self.turns
        return table.drop("talks")[rows].with_columns(
            conversation=pl.format("{} / {}", "name", pl.Series(place // self.turns)),
            turn=pl.Series(turn),
            speaker=pl.Series(np.where(turn % 2 == 1, "A", "B")),
            text=pl.lit("said"),
            gender_label=pl.Series(told),
        )


@dataclass(frozen=True)
class SaidTokens:
    """Simulated tokens with a Zipf distribution, every third of which leans to one gender.

    `tokens` is the number per conversation. `taste` is the similarity of names: the shape of a gamma distribution per
    token. `race` is the log ratio by which every fourth token leans to a race.
    """

    names: Names
    tokens: int = 150
    vocabulary: int = 120
    taste: float = 300.0
    race: float = 0.5

    def frame(self, rng: np.random.Generator, lean: float) -> pl.DataFrame:
        """Return one row per name with its `tokens`. `lean` is the log ratio of the tokens that lean to a gender."""
        table = self.names.table(rng)
        place = np.arange(self.vocabulary)
        zipf = 1 / (1 + place)
        said = []
        for gender, race, talks in table.select("gender", "race_ethnicity", "talks").iter_rows():
            sign = 1 if gender == GENDERS[0] else -1
            odds = zipf * np.exp(sign * lean / 2 * (place % 3 == 1))
            odds = odds * np.exp((self.race if race == RACES[1] else 0.0) * (place % 4 == 2))
            drawn = rng.gamma(self.taste * odds / odds.sum()) + 1e-12
            counts = rng.multinomial(self.tokens * talks, drawn / drawn.sum())
            said.append(np.repeat(place, counts).tolist())
        return _one_row_each(table).with_columns(tokens=pl.Series(said, dtype=pl.List(pl.Int64)))

    def sample_groups(self, rng: np.random.Generator, lean: float, groups: int) -> pl.DataFrame:
        """Return one row per name with `tokens` and `group`, for `groups` groups of alternating genders. Only the first
        group's tokens lean."""
        table = self.names.table(rng)
        group = np.arange(table.height) % groups
        place = np.arange(self.vocabulary)
        zipf = 1 / (1 + place)
        said = []
        for mine, talks in zip(group, table["talks"], strict=True):
            odds = zipf * np.exp(lean * (place % groups == mine) * (mine == 0))
            drawn = rng.gamma(self.taste * odds / odds.sum()) + 1e-12
            said.append(np.repeat(place, rng.multinomial(self.tokens * talks, drawn / drawn.sum())).tolist())
        race = pl.Series([f"race {one // 2}" for one in group])
        gender = pl.Series([GENDERS[one % 2] for one in group])
        name = pl.Series([f"name {number:03d}" for number in range(table.height)])
        table = table.with_columns(name=name, gender=gender, race_ethnicity=race)
        return _one_row_each(table).with_columns(tokens=pl.Series(said, dtype=pl.List(pl.Int64)))


@dataclass(frozen=True)
class MentionedOccupations:
    """Simulated mentions of occupations in conversations.

    `shares` are the percentages of women at work in each occupation. `rate` is the mean number of mentions per
    conversation. `taste` is the similarity of names, as in `SaidTokens`.
    """

    names: Names
    shares: Sequence[float] = (2.0, 9.0, 20.0, 33.0, 48.0, 60.0, 72.0, 88.0, 91.0, 95.0)
    rate: float = 0.5
    taste: float = 20.0

    def table(self) -> pl.DataFrame:
        """Return the table of occupations with the columns occupation, plural and share."""
        named = [f"job{chr(97 + place)}er" for place in range(len(self.shares))]
        return pl.DataFrame(
            {"occupation": named, "plural": [f"{one}s" for one in named], "share": self.shares}
        )

    def odds(self, points: float) -> Floats:
        """Return each occupation's share of the mentions of each gender, shape (2, occupations).

        The mean share of women at work differs between the genders by `points` percentage points.
        """
        share = np.asarray(self.shares)

        def compute_odds(lean: float) -> Floats:
            odds = np.exp(np.outer([0.5, -0.5], lean * (share - 50) / 50))
            return np.asarray(odds / odds.sum(axis=1, keepdims=True))

        low, high = -20.0, 20.0
        for _ in range(60):
            middle = (low + high) / 2
            apart = float(np.diff(compute_odds(middle) @ share)[0]) * -1
            low, high = (middle, high) if apart < points else (low, middle)
        return compute_odds((low + high) / 2)

    def frame(self, rng: np.random.Generator, points: float) -> pl.DataFrame:
        """Return one row per mention, each in a separate conversation, and one per conversation without a mention."""
        table = self.names.table(rng)
        odds, jobs = self.odds(points), self.table()["occupation"].to_list()
        rows = []
        for name, gender, race, talks in table.iter_rows():
            taste = rng.gamma(self.taste * odds[GENDERS.index(gender)]) + 1e-12
            said = rng.choice(len(jobs), size=rng.poisson(self.rate * talks), p=taste / taste.sum())
            texts = [f"a {jobs[place]}" for place in said] or ["nothing"]
            rows += [(f"{name} / {n}", name, gender, race, "B", 2, text) for n, text in enumerate(texts)]
        columns = ["conversation", "name", "gender", "race_ethnicity", "speaker", "turn", "text"]
        return pl.DataFrame(
            rows, schema=columns, orient="row", schema_overrides={"race_ethnicity": pl.String}
        )


def _one_row_each(table: pl.DataFrame) -> pl.DataFrame:
    return table.drop("talks").with_columns(
        conversation="name", speaker=pl.lit("B"), turn=pl.lit(2, pl.Int64), text=pl.lit("said")
    )
