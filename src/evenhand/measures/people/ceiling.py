"""Reliability of the shares of annotators who chose an option, and correlations that are corrected for it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from evenhand.stats import LEAST_AGREEING, Codes, Floats
from evenhand.stats.votes import (
    LEAST_LEVELS,
    group_reliability,
    sums_of_items,
    two_way_jackknife,
    weighted_correlations,
)

Kept = npt.NDArray[np.bool_]
LEAST_ITEMS = 20
"""Minimum number of items. With fewer, the confidence interval of a correlation is too wide to exclude anything."""
LEAST_PROMPTS = 15
"""Number of shared prompts below which intervals are too narrow: 95% CIs cover 90% with 5 or 8, and 94% with 15."""


@dataclass(frozen=True)
class People:
    """Judgements (n,) of items, with the obstacle to estimating their reliability.

    Attributes
    ----------
    items, persons, prompts : numpy.ndarray of int, shape (n,)
        Codes of item, annotator and prompt of each judgement.
    values : numpy.ndarray, shape (n,)
        The judgements as numbers.
    obstacle : str or None
        Reason why the reliability has no valid interval.
    """

    items: Codes
    persons: Codes
    prompts: Codes
    values: Floats
    obstacle: str | None
    seed: int

    @cached_property
    def reliability(self) -> tuple[float, float, float]:
        """Return the reliability (0 to 1) with its CI over annotators and items (or prompts)."""
        whole = self._noise(np.ones(len(self.items), dtype=np.bool_))
        error = two_way_jackknife(self._noise, self.prompts, self.persons, seed=self.seed)
        half = float(stdtrit(error.freedom, 0.975)) * error.standard_error
        centre = whole - error.bias
        low, high, estimate = (
            float(np.clip(1 - np.exp(end), 0.0, 1.0)) for end in (centre + half, centre - half, whole)
        )
        return estimate, min(low, estimate), max(high, estimate)

    def corrected(self, scores: Floats, seed: int) -> dict[str, object]:
        """Return the correlation of scores (items,) with the items' shares, divided by its ceiling, or an obstacle."""

        def ratio(kept: Kept) -> float:
            items, codes = np.unique(self.items[kept], return_inverse=True)
            sums = sums_of_items(codes.reshape(-1), self.values[kept])
            ceiling = float(group_reliability(*sums).ceiling[0])
            if not ceiling > 0:
                return float("nan")
            return float(weighted_correlations(scores[items], sums[1], np.ones((1, len(items))))[0]) / ceiling

        whole = ratio(np.ones(len(self.items), dtype=np.bool_))
        error = two_way_jackknife(ratio, self.prompts, self.persons, seed=seed)
        if not (np.isfinite(whole) and np.isfinite(error.standard_error)):
            return {"obstacle": "Agreement of annotators is not above chance, so there is no ceiling."}
        half = float(stdtrit(error.freedom, 0.975)) * error.standard_error
        return {"estimate": whole, "low": whole - half, "high": whole + half}

    def _noise(self, kept: Kept) -> float:
        """Return log(1 - reliability) of the kept judgements."""
        codes = np.unique(self.items[kept], return_inverse=True)[1].reshape(-1)
        return float(np.log(group_reliability(*sums_of_items(codes, self.values[kept])).noise[0]))


def people_of(
    items: Codes,
    persons: Codes,
    contexts: Codes,
    values: Floats,
    *,
    prompts: int | None,
    counted: bool,
    seed: int,
) -> People:
    """Return the judgements with the obstacle to estimating their reliability.

    Parameters
    ----------
    items, persons, contexts : numpy.ndarray of int, shape (n,)
        Codes of item, annotator and prompt of each judgement.
    values : numpy.ndarray, shape (n,)
        The judgements as numbers.
    prompts : int or None
        Number of prompts that items share. None: each item has its own.
    counted : bool
        True if values are 1 for one answer and 0 for all others, so that the answer may be too rare.
    seed : int
        Random seed of the jackknife.
    """
    return People(items, persons, contexts, values, _obstacle(items, persons, values, prompts, counted), seed)


def few_prompts(prompts: int) -> str:
    """Return the reason why results of so few prompts do not generalise."""
    return f"Items share {prompts} prompt{'' if prompts == 1 else 's'}; at least {LEAST_PROMPTS} are needed."


def _obstacle(items: Codes, persons: Codes, values: Floats, prompts: int | None, counted: bool) -> str | None:
    sizes = np.bincount(items) if len(items) else np.zeros(0)
    several, people = int((sizes > 1).sum()), len(np.unique(persons))
    if several < LEAST_ITEMS:
        return f"{several} items have two votes; at least {LEAST_ITEMS} are needed."
    if people < LEAST_LEVELS:
        return f"{people} persons voted; at least {LEAST_LEVELS} are needed."
    if prompts is not None and prompts < LEAST_PROMPTS:
        return few_prompts(prompts)
    if np.ptp(values) == 0:
        return "No vote differs from another."
    if counted:
        rarer = values if values.mean() <= 0.5 else 1 - values
        agreeing = int((np.bincount(items, rarer) > 1).sum())
        if agreeing < LEAST_AGREEING:
            return (
                f"{agreeing} items have two votes for the rarer side of the question; at least {LEAST_AGREEING} are "
                "needed."
            )
    whole = group_reliability(*sums_of_items(items, values))
    return None if np.isfinite(whole.noise[0]) else "Votes on an item do not differ at all."
