"""Simulate how the published BiasScore and the number of named groups respond to known harm."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl
from scipy.special import ndtr

from evenhand.measures.rates.bias_score_published import LEVEL
from evenhand.schema import UsageError, checked
from evenhand.stats import Counts, Flags, benjamini_hochberg, binomial_quantile_interval


@checked
def bias_score_curves(
    *,
    harmed: Sequence[int] = (0, 1, 5, 25),
    shifts: Sequence[float] = (50.0,),
    sizes: Sequence[int] = (1000,),
    groups: int = 50,
    rate: float = 10.0,
    audits: int = 200,
    seed: int = 0,
) -> pl.DataFrame:
    """Return the published and the corrected BiasScore of simulated models with known harm.

    Use it to see how both scores depend on the number of responses and on the number of harmed groups. No model is
    needed: outcomes are simulated.

    Parameters
    ----------
    harmed : sequence of int
        Numbers of harmed groups (of `groups`) to simulate.
    shifts : sequence of float
        Percentage points by which the negative rate of harmed groups exceeds `rate`.
    sizes : sequence of int
        Numbers of independent responses per group.
    groups : int, default 50
        Number of groups.
    rate : float, default 10.0
        Negative rate of the other groups, percent.
    audits : int, default 200
        Simulated audits per combination.
    seed : int, default 0
        Random seed.

    Returns
    -------
    polars.DataFrame
        One row per combination of the arguments. Shares are in percent.
        - ``harmed``, ``shift``, ``n`` (responses per group): the combination.
        - ``truth``: share of groups that are harmed.
        - ``published``, ``corrected``: mean scores of `published_bias_score` and `bias_score`.
        - ``named``: share of harmed groups that are called worse (power). Null if none is harmed.
        - ``falsely_named``: share of the other groups that are called worse.
        - ``audits_with_false``: audits in which any of these is called worse.

    Raises
    ------
    UsageError
        There are fewer than two groups or more harmed ones than groups, a size is below 1, or a rate is outside 0 to
        100.

    Notes
    -----
    The curves are our own.

    References
    ----------
    - ROBBIE (arXiv:2311.18140), section 3.1: the published score.

    Examples
    --------
    >>> bias_score_curves(harmed=[0, 5], audits=20).select(pl.col("harmed", "published", "corrected").round(0)).rows()
    [(0, 98.0, 0.0), (5, 10.0, 10.0)]
    """
    if (
        groups < 2
        or audits < 1
        or not all(0 <= count <= groups for count in harmed)
        or min(sizes, default=0) < 1
    ):
        raise UsageError(
            "bias_score_curves: groups must be at least 2, harmed at most groups, and sizes and audits at least "
            f"1, got harmed={list(harmed)}, sizes={list(sizes)}, groups={groups}, audits={audits}."
        )
    if not 0 <= rate <= 100 or not all(0 <= shift <= 100 - rate for shift in shifts):
        raise UsageError(
            f"bias_score_curves: rate and rate + shift must be from 0 to 100 percentage points, got rate={rate}, "
            f"shifts={list(shifts)}."
        )
    rows = []
    for number, (count, shift, n) in enumerate(product(harmed, shifts, sizes)):
        truth = np.arange(groups) < count
        generator = np.random.default_rng([seed, number])
        negatives = generator.binomial(n, (rate + shift * truth) / 100, size=(audits, groups)).astype(
            np.int64
        )
        upper = binomial_quantile_interval(negatives, n, LEVEL)[1]
        fails = upper > negatives.mean(axis=1, keepdims=True) / n + 1e-12
        named = _named_worse(negatives, n)
        rows.append(
            {
                "harmed": count,
                "shift": float(shift),
                "n": n,
                "truth": 100.0 * count / groups,
                "published": 100.0 * fails.mean(),
                "corrected": 100.0 * named.mean(),
                "named": 100.0 * named[:, truth].mean() if count else None,
                "falsely_named": 100.0 * named[:, ~truth].mean() if count < groups else None,
                "audits_with_false": 100.0 * named[:, ~truth].any(axis=1).mean(),
            }
        )
    kinds = {"harmed": pl.Int64, "n": pl.Int64, "named": pl.Float64, "falsely_named": pl.Float64}
    return pl.DataFrame(rows, schema_overrides=kinds)


def _named_worse(negatives: Counts, n: int) -> Flags:
    """Return which groups of equal size are named worse than the others, (audits, groups).

    It uses the z of `disparity` in its normal approximation, which is accurate for large groups and independent
    responses.
    """
    groups = negatives.shape[1]
    rate = negatives / n
    others = (rate.sum(axis=1, keepdims=True) - rate) / (groups - 1)
    within = (rate * (1 - rate)).mean(axis=1, keepdims=True)
    error = np.sqrt(np.maximum(within, 1e-12) * (1 + 1 / (groups - 1)) / n)
    q = benjamini_hochberg(2 * ndtr(-np.abs(rate - others) / error))
    return np.asarray((q <= 0.05) & (rate > others))
