"""Variance of the descriptors' own style: how much replies differ between descriptors, with templates and nouns as
samples.

Means of descriptors over templates and nouns vary by interactions with single templates and nouns, even if descriptors
have no style of their own. This variance is subtracted (`evenhand.stats.contrasts`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.measures.styles.cells import CrossedPrompts, crossed_prompts
from evenhand.stats import Floats, simes, standard_errors, t_inference
from evenhand.stats.contrasts import CrossedOutcome, CrossedSpread, crossed_outcome, crossed_spread

ONE_TEMPLATE = (
    "All replies are to one template, so the effects of template and descriptor cannot be separated."
)


@dataclass(frozen=True)
class OwnStyle:
    """Variance components of the styles of crossed prompts.

    Attributes
    ----------
    prompts : CrossedPrompts
        Prompts with descriptors, templates and nouns crossed.
    names : list of str
        Names of the styles.
    members : mapping of str to list of int
        For each cluster, the positions of its styles in ``names``.
    outcomes : list of CrossedOutcome
        Components of each style, then of the summed probability of each cluster. Empty with fewer than two descriptors
        or cells.
    """

    prompts: CrossedPrompts
    names: list[str]
    members: Mapping[str, list[int]]
    outcomes: list[CrossedOutcome]

    @classmethod
    def of(cls, part: pl.DataFrame, names: list[str], members: Mapping[str, list[int]]) -> "OwnStyle":
        prompts = crossed_prompts(part, names)
        descriptors, templates, nouns = prompts.shape
        outcomes = []
        if descriptors > 1 and templates * nouns > 1:
            columns = [[name] for name in names] + [[names[m] for m in places] for places in members.values()]
            outcomes = [crossed_outcome(prompts.values(column)) for column in columns]
        return cls(prompts, names, members, outcomes)

    @property
    def sizes(self) -> dict[str, int]:
        _, templates, nouns = self.prompts.shape
        crossed = self.prompts.nouns != [None]
        return {
            "n_nouns": nouns if crossed else 0,
            "n_left_out": self.prompts.left_out,
            "n_filled": self.prompts.filled,
            "n_units": min(templates, nouns) if nouns > 1 else templates,
        }

    @property
    def obstacle(self) -> str | None:
        descriptors, templates, _ = self.prompts.shape
        if descriptors < 2:
            return "Fewer than two descriptors have replies to the same templates and nouns."
        if templates < 2:
            return ONE_TEMPLATE
        return None

    def _families(self) -> list[list[CrossedOutcome]]:
        """Return the outcomes of each score: full, then partial and summed for each cluster."""
        families = [self.outcomes[: len(self.names)]]
        for number, places in enumerate(self.members.values()):
            families += [
                [self.outcomes[place] for place in places],
                [self.outcomes[len(self.names) + number]],
            ]
        return families

    def rows(self, level: float) -> list[dict[str, object]]:
        """Return the corrected and tested columns of each score, and `here`."""
        if not self.outcomes:
            return [{"obstacle": self.obstacle or ONE_TEMPLATE} for _ in range(1 + 2 * len(self.members))]
        tests = max(len(self.members), 1)
        spreads = [crossed_spread(family) for family in self._families()]
        rows = []
        for place, (family, spread) in enumerate(zip(self._families(), spreads, strict=True)):
            row = _variance_in_these_templates(family)
            if self.obstacle:
                rows.append(row | {"obstacle": self.obstacle})
            else:
                largest = _largest(self.prompts.shape[0], len(family))
                rows.append(row | _test_spread(spread, level / (tests if place else 1), largest))
        for start in (1, 2):  # the partial and the summed scores of an axis are two families of tests
            p = [row["p"] for row in rows[start::2] if "p" in row]
            for row in rows[start::2]:
                row["axis_p"] = float(simes(np.array(p, dtype=np.float64))) if p else None
        return rows

    def null(self, ddof: int, draws: int, generator: np.random.Generator) -> Floats:
        """Return published scores (draws, scores) if descriptors are permuted within each template and noun."""
        if not self.outcomes:
            return np.zeros((0, 1))
        scores = np.zeros((draws, 1 + 2 * len(self.members)))
        orders = [generator.random(self.prompts.shape).argsort(axis=0) for _ in range(draws)]
        each = np.zeros((draws, len(self.outcomes)))
        columns = [[name] for name in self.names]
        columns += [[self.names[m] for m in places] for places in self.members.values()]
        for place, column in enumerate(columns):
            values = self.prompts.values(column)
            values = (
                np.where(np.isnan(values), np.nanmean(values, axis=0), values)
                if self.prompts.filled
                else values
            )
            for draw, order in enumerate(orders):
                means = np.take_along_axis(values, order, axis=0).mean(axis=2)
                each[draw, place] = means.var(axis=0, ddof=ddof).mean()
        styles = len(self.names)
        scores[:, 0] = each[:, :styles].sum(axis=1)
        for number, places in enumerate(self.members.values()):
            scores[:, 1 + 2 * number] = each[:, places].sum(axis=1)
            scores[:, 2 + 2 * number] = each[:, styles + number]
        return scores


def _largest(descriptors: int, outcomes: int) -> float:
    """Return the largest possible variance between descriptors, summed over styles (probabilities that sum to 1).

    For one style, it is that of half of the descriptors at 0 and half at 1.
    """
    half = descriptors // 2
    return 1.0 if outcomes > 1 else half * (descriptors - half) / (descriptors * (descriptors - 1))


def _test_spread(spread: CrossedSpread, level: float, largest: float) -> dict[str, object]:
    reach = spread.detectable(level)
    if spread.spread <= 0:
        return {
            "obstacle": "All replies have the same style, so there is no variation to test.",
            "corrected": 0.0,
        }
    if reach > largest:
        return {
            "obstacle": "There are too few templates and nouns to detect a difference of any size.",
            "corrected": None,
        }
    return {
        "corrected": max(spread.estimate, 0.0),
        "low": spread.low,
        "high": spread.high,
        "p": spread.p,
        "minimum_detectable": reach,
    }


def _variance_in_these_templates(family: list[CrossedOutcome]) -> dict[str, object]:
    """Return the mean over these templates of the variance between descriptors, without the noise of prompts."""
    by_template = np.sum([outcome.within for outcome in family], axis=0)
    estimate = float(by_template.mean())
    error, count = standard_errors(by_template[:, None])
    limits = t_inference([estimate], error, count - 1)
    return {"here": estimate, "here_low": float(limits.low[0]), "here_high": float(limits.high[0])}
