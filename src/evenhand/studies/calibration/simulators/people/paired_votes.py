"""Simulate judgements of pairs by annotators, with effects of annotators, items, conversations and sides."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.studies.calibration.simulators.crossed import intercept, mean_rate

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PairedVotes:
    """A simulated study in which annotators compare responses of two models.

    Attributes
    ----------
    persons, each : int
        Number of annotators, and of judgements per annotator.
    per_item : int
        Maximum number of judgements per item.
    share : float
        True share of judgements for the second model, without the effect of its position (left or right).
    side : float
        Effect of the left position, in logits.
    heavy : float
        Share of all judgements that one annotator gave (0: no such annotator).
    baseline : int
        Number of conversations of the first model in the pool (0: as for the second model).

    Notes
    -----
    SDs are on the logit scale: of annotators, of items, and of conversations of each model. Conversations are sampled
    from a pool with replacement (0: every item has its own).
    """

    persons: int
    each: int = 5
    per_item: int = 2
    person_sd: float = 0.0
    item_sd: float = 0.0
    share: float = 0.5
    side: float = 0.3
    heavy: float = 0.0
    pool: int = 0
    baseline: int = 0
    conversation_sd: float = 0.0

    @property
    def spread(self) -> float:
        """Return the standard deviation of the logits of judgements."""
        return float(np.sqrt(self.person_sd**2 + self.item_sd**2 + 2 * self.conversation_sd**2))

    @property
    def truth(self) -> float:
        """Return the share of judgements for the second model in the limit of many annotators and items."""
        centre = float(intercept(self.share, self.spread))
        return sum(float(mean_rate(centre + side, self.spread)) for side in (-self.side, self.side)) / 2

    def draw(self, rng: np.random.Generator) -> tuple[Floats, list[Codes], npt.NDArray[np.bool_]]:
        """Simulate judgements (n,), 1 for the second model, with annotator, item, conversations and position."""
        each = np.full(self.persons, self.each)
        if self.heavy:
            each[0] = round(self.heavy * (self.persons - 1) * self.each / (1 - self.heavy))
        n = int(each.sum())
        items = int(np.ceil(n / self.per_item))
        person = np.repeat(np.arange(self.persons), each)
        item = np.concatenate([rng.permutation(items) for _ in range(self.per_item)])[:n]
        drawn = (
            float(intercept(self.share, self.spread)) + rng.normal(0, self.person_sd, self.persons)[person]
        )
        drawn = drawn + rng.normal(0, self.item_sd, items)[item]
        ways = [person, item]
        if self.pool:
            for sign, pool in ((1, self.pool), (-1, self.baseline or self.pool)):
                conversation = rng.integers(0, pool, items)[item]
                drawn = drawn + sign * rng.normal(0, self.conversation_sd, pool)[conversation]
                ways.append(conversation)
        left = rng.random(n) < 0.5
        chosen = rng.random(n) < 1 / (1 + np.exp(-drawn - np.where(left, self.side, -self.side)))
        return chosen.astype(np.float64), ways, left

    def frame(self, rng: np.random.Generator, question: str = "preferred") -> pl.DataFrame:
        """Return simulated judgements in the columns of exports: "base" is model a, "tuned" model b."""
        chosen, ways, left = self.draw(rng)
        tuned, base = ways[2:] if self.pool else (ways[1], ways[1])
        return pl.DataFrame(
            {
                "person": [f"p{each}" for each in ways[0]],
                "item": [f"i{each}" for each in ways[1]],
                "answer": np.where(chosen == 1, "b", "a").tolist(),
                "shown_left": np.where(left, "b", "a").tolist(),
                "a": [f"base-{each}" for each in base],
                "b": [f"tuned-{each}" for each in tuned],
            }
        ).with_columns(
            role=pl.lit("real"),
            question=pl.lit(question),
            measurement=pl.lit("preference"),
            model_a=pl.lit("base"),
            model_b=pl.lit("tuned"),
            excluded=pl.lit(None, pl.String),
        )
