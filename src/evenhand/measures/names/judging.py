"""Estimates whose sampling units are names: interval, test and minimum detectable effect from one standard error."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from scipy.special import stdtrit

from evenhand.measures.columns import typed
from evenhand.stats import POWER, Floats, t_inference

NO_ERROR = 1e-9
"""A standard error below this (percentage points) is due to rounding: names do not vary."""
ROW = (
    typed(pl.Float64, "estimate low high p null minimum_detectable")
    | typed(pl.Int64, "n n_missing n_units")
    | typed(pl.String, "obstacle")
)
"""Columns of an estimate. n: utterances or tokens. n_units: names. obstacle: why there is no estimate or no test."""


def judged(estimate: float, standard_error: float, freedom: float, level: float) -> dict[str, float]:
    """Return an estimate with 95% CI, two-sided p (null 0) and minimum detectable effect, by Student's t.

    The minimum detectable effect has 80% power at `level`.

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


def over_names(influences: Sequence[Floats], weights: Sequence[Floats]) -> tuple[float, float]:
    """Return the standard error and degrees of freedom of a sum of weighted means over names, one mean per group.

    Parameters
    ----------
    influences : sequence of numpy.ndarray, each of shape (names,)
        For each group, the contribution of each name's deviation to the estimate.
    weights : sequence of numpy.ndarray, each of shape (names,)
        For each group, the weight of each name in its mean.

    Notes
    -----
    A name with a large share s of a mean attracts the mean, so its deviation is too small. Squared deviations are
    therefore divided by the smaller of two factors. The first is 1 - s, if names with more tokens vary less. The second
    is 1 - 2 s + sum of s squared, if names vary equally. The degrees of freedom are those of the variance as a
    quadratic form if names vary equally (Bell & McCaffrey 2002), combined as by Welch: n - 1 for n names of equal
    weight, fewer for unequal weights.

    >>> error, freedom = over_names([np.array([0.5, -0.5]), np.array([0.0, 0.0])], [np.ones(2), np.ones(2)])
    >>> round(error, 6), round(freedom, 6)
    (1.0, 1.0)
    """
    pairs = [of_weights(weight) for weight in weights]
    variances = np.array(
        [(influence**2 * factor).sum() for influence, (factor, _) in zip(influences, pairs, strict=True)]
    )
    joined = float((variances**2 / np.array([freedom for _, freedom in pairs])).sum())
    total = float(variances.sum())
    return total**0.5, total**2 / joined if joined else 1.0


def of_weights(weight: Floats) -> tuple[Floats, float]:
    """Return the factor of each name's squared deviation, (names,), and the degrees of freedom (see `over_names`)."""
    share = weight / max(float(weight.sum()), 1.0)
    left = np.minimum(1 - share, 1 - 2 * share + (share**2).sum())
    factor = np.divide(1.0, left, out=np.zeros(len(share)), where=share < 1)
    residual = np.eye(len(share)) - share
    form = residual.T @ (residual * (share**2 * factor)[:, None])
    squared = float((form**2).sum())
    return factor, max(1.0, float(np.trace(form)) ** 2 / squared) if squared else 1.0


def too_few(group: str, names: int, needed: int) -> str:
    """Return why a group with few names is not measurable.

    >>> too_few("woman", 1, 3)
    'There is only 1 name of the group woman. At least 3 are needed.'
    """
    there = "is only 1 name" if names == 1 else f"are only {names} names"
    return f"There {there} of the group {group}. At least {needed} are needed."


def row_table(*rows: Mapping[str, object], keys: tuple[str, ...] = ()) -> pl.DataFrame:
    """Return rows with the columns `keys` (names or null) and those of ROW; missing values are null."""
    schema = typed(pl.String, " ".join(keys)) | ROW
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)
