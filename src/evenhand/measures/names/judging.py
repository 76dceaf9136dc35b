"""The row of a number whose sampled units are names: interval, test and smallest effect from one standard error."""

from collections.abc import Mapping

import polars as pl
from scipy.special import stdtrit

from evenhand.measures.columns import typed
from evenhand.stats import POWER, t_inference

ROW = (
    typed(pl.Float64, "estimate low high p null minimum_detectable")
    | typed(pl.Int64, "n n_missing n_units")
    | typed(pl.String, "obstacle")
)
"""n utterances or tokens, n_units names; obstacle says why there is no estimate, or no test of it."""


def judged(estimate: float, standard_error: float, freedom: float, level: float) -> dict[str, float]:
    """Estimate with 95 % limits and two-sided p by Student's t, and the smallest effect that a test at `level` finds in
    80 % of samples, against a null of 0.

    >>> {name: round(value, 2) for name, value in judged(1.0, 0.5, 30, 0.05).items()}
    {'estimate': 1.0, 'low': -0.02, 'high': 2.02, 'p': 0.05, 'null': 0.0, 'minimum_detectable': 1.45}
    """
    found = t_inference([estimate], [standard_error], [freedom])
    reach = float(stdtrit(freedom, 1 - level / 2) + stdtrit(freedom, POWER))
    return {
        "estimate": estimate,
        "low": float(found.low[0]),
        "high": float(found.high[0]),
        "p": float(found.p[0]),
        "null": 0.0,
        "minimum_detectable": reach * standard_error,
    }


def row_table(*rows: Mapping[str, object], keys: tuple[str, ...] = ()) -> pl.DataFrame:
    """Rows with the columns `keys` (names or null) and those of ROW; what a row lacks is null."""
    schema = typed(pl.String, " ".join(keys)) | ROW
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)
