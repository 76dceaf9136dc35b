"""Votes of simulated people: persons and items differ on the logit scale, sides draw, one person may do much."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

NODES, MASS = np.polynomial.hermite_e.hermegauss(41)
MASS = MASS / MASS.sum()


@dataclass(frozen=True)
class Study:
    """A study of two models: how many persons, votes of each, votes an item, how much persons and items differ."""

    persons: int
    each: int = 5
    per_item: int = 2
    person_sd: float = 0.0
    item_sd: float = 0.0
    share: float = 0.5
    side: float = 0.3
    heavy: float = 0.0
    """Of all votes, the share that one person gave."""
    pool: int = 0
    """Conversations of each model, drawn with replacement into items; 0: every item has its own."""
    conversation_sd: float = 0.0

    @property
    def spread(self) -> float:
        return float(np.sqrt(self.person_sd**2 + self.item_sd**2 + 2 * self.conversation_sd**2))

    @property
    def truth(self) -> float:
        """The share of votes for the first model by endlessly many persons and items."""
        centre = intercept(self.share, self.spread)
        return sum(share_at(centre + side, self.spread) for side in (-self.side, self.side)) / 2

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
        """Votes (n,), ways in which they are related, and whether the first model stood on the left."""
        each = np.full(self.persons, self.each)
        if self.heavy:
            each[0] = round(self.heavy * (self.persons - 1) * self.each / (1 - self.heavy))
        n = int(each.sum())
        items = int(np.ceil(n / self.per_item))
        person = np.repeat(np.arange(self.persons), each)
        item = np.concatenate([rng.permutation(items) for _ in range(self.per_item)])[:n]
        drawn = intercept(self.share, self.spread) + rng.normal(0, self.person_sd, self.persons)[person]
        drawn = drawn + rng.normal(0, self.item_sd, items)[item]
        ways = [person, item]
        if self.pool:
            for sign in (1, -1):
                conversation = rng.integers(0, self.pool, items)[item]
                drawn = drawn + sign * rng.normal(0, self.conversation_sd, self.pool)[conversation]
                ways.append(conversation)
        left = rng.random(n) < 0.5
        chosen = rng.random(n) < expit(drawn + np.where(left, self.side, -self.side))
        return chosen.astype(np.float64), ways, left


def share_at(centre: float, spread: float) -> float:
    """The mean of the logistic function over a normal distribution."""
    return float((MASS * expit(centre + spread * NODES)).sum())


def intercept(share: float, spread: float) -> float:
    """The logit around which persons and items must differ to choose the first model so often."""
    return float(brentq(lambda centre: share_at(centre, spread) - share, -20, 20))
