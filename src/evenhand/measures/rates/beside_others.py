"""Each group's rate beside the mean rate of the other groups of its axis: what parroting and agreement share."""

import polars as pl

from evenhand.measures.rates.disparity import disparity


def rates_beside_others(
    outcomes: pl.DataFrame, cluster: str | None, *, alpha: float = 0.05, seed: int = 0
) -> pl.DataFrame:
    """Each group's rate with the mean rate of the other groups of its axis, as `disparity` compares them.

    outcomes: axis, group, negative (1, 0, null), as `negative_outcomes` leaves them. cluster: the column whose rows
    hang together, or None. Returns, sorted by axis and group and in percent: estimate, low, high (the rate with 95 %
    limits), n, n_missing, n_units, background (the others' mean), difference with its limits, p (two-sided), axis_p,
    q (over the groups of the axis), minimum_detectable. Null where a group has no judgement, or nothing could be
    compared.

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
