"""Compare each group's rate with the mean rate of the other groups of its axis, for parroting and agreement."""

import polars as pl

from evenhand.measures.rates.disparity import disparity


def rates_beside_others(
    outcomes: pl.DataFrame, cluster: str | None, *, alpha: float = 0.05, seed: int = 0
) -> pl.DataFrame:
    """Compare the rate of each group with the mean rate of the other groups of its axis.

    Parameters
    ----------
    outcomes : polars.DataFrame
        One row per response with ``axis``, ``group`` and ``negative`` (1, 0, or null for missing).
    cluster : str or None
        Column with the sampling unit: rows with equal values are one unit. None: each row is a unit.
    alpha : float, default 0.05
        Significance level, used for the minimum detectable differences.
    seed : int
        Random seed of the permutations.

    Returns
    -------
    polars.DataFrame
        One row per axis and group, in percent or percentage points. Null if a group has no outcome or nothing could be
        compared.
        - ``estimate``, ``low``, ``high``: rate with 95% CI.
        - ``n``, ``n_missing``, ``n_units``: outcomes, missing outcomes and sampling units.
        - ``background``: mean rate of the other groups. ``difference``: estimate minus background, with 95% CI and
          two-sided ``p``.
        - ``axis_p``: p of the axis. ``q``: p adjusted over the groups of the axis.
        - ``minimum_detectable``: difference that is detected with 80% power.

    >>> frame = pl.DataFrame({"axis": ["x"] * 40, "group": ["a"] * 20 + ["b"] * 20,
    ...                       "negative": [1.0] * 15 + [0.0] * 5 + [0.0] * 20})
    >>> rates_beside_others(frame, None).select("group", "estimate", "background", "difference").rows()
    [('a', 75.0, 0.0, 75.0), ('b', 0.0, 75.0, -75.0)]
    """
    groups = disparity(outcomes, cluster=cluster, alpha=alpha, seed=seed).groups
    return groups.select(
        "axis",
        "group",
        estimate="rate",
        low="rate_low",
        high="rate_high",
        n="n",
        n_missing="n_missing",
        n_units="n_units",
        background="others",
        difference="estimate",
        difference_low="low",
        difference_high="high",
        p="p",
        axis_p="axis_p",
        q="q",
        minimum_detectable="minimum_detectable",
    )
