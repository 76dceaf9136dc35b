"""Two-way jackknife: standard error of any statistic of judgements with annotators and items crossed.

Leaving out items estimates the variance due to items, and leaving out annotators that due to annotators. Both contain
the noise of single judgements, which leaving out judgements estimates, so it is subtracted once.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import Codes

Kept = npt.NDArray[np.bool_]
PARTS = 60
"""Number of parts into which items, annotators and judgements are divided if they are more numerous."""


@dataclass(frozen=True)
class TwoWayError:
    """Standard error over persons and items, its degrees of freedom, and the bias of the statistic in small samples.

    Subtract ``bias`` from the statistic to correct it.
    """

    standard_error: float
    freedom: float
    bias: float


def two_way_jackknife(
    statistic: Callable[[Kept], float], items: Codes, persons: Codes, *, seed: int = 0
) -> TwoWayError:
    """Return the standard error of any statistic of votes, if it should generalise to similar persons and items.

    Parameters
    ----------
    statistic : callable
        Maps a boolean array (n,), the votes to use, to a float that is approximately normal, or NaN if it is undefined.
    items, persons : numpy.ndarray of int, shape (n,)
        Codes of item and person of each vote.
    seed : int
        Random seed. Items and persons are divided into at most 60 parts, which are left out in turn.

    Returns
    -------
    TwoWayError
        Standard error, degrees of freedom (Satterthwaite) and bias. NaN if more than 10% of the left-out parts give no
        value.

    References
    ----------
    - Quenouille 1956; Tukey 1958; Owen 2007; Cameron, Gelbach & Miller 2011.

    >>> rng = np.random.default_rng(0)
    >>> items, persons, values = np.repeat(np.arange(30), 4), np.tile(np.arange(20), 6), rng.normal(size=120)
    >>> found = two_way_jackknife(lambda kept: float(values[kept].mean()), items, persons)
    >>> bool(0.5 < found.standard_error * 120**0.5 < 1.6)
    True
    """
    whole = statistic(np.ones(len(items), dtype=np.bool_))
    generator = np.random.default_rng(seed)
    votes = np.argsort(np.lexsort((persons, items)))  # the parts must not depend on the order of rows
    found = [_left_out(statistic, whole, _parts(way, generator)) for way in (items, persons, votes)]
    (of_items, bias_items, m), (of_persons, bias_persons, g), (of_votes, bias_votes, _) = found
    # variance due to annotators, without the noise of single judgements
    own = max(of_persons - of_votes, 0.0)
    variance = of_items + own
    if not np.isfinite(variance) or not variance > 0:
        nan = float("nan")
        return TwoWayError(nan, nan, nan)
    doubt = of_items**2 / (m - 1) + own**2 / (g - 1)
    return TwoWayError(
        float(variance**0.5),
        max(1.0, variance**2 / doubt),
        bias_items + bias_persons - bias_votes,
    )


def _parts(way: Codes, generator: np.random.Generator) -> Codes:
    codes = np.unique(way, return_inverse=True)[1].reshape(-1)
    levels = int(codes.max()) + 1
    if levels <= PARTS:
        return codes
    return np.asarray((generator.permutation(levels) % PARTS)[codes])


def _left_out(statistic: Callable[[Kept], float], whole: float, parts: Codes) -> tuple[float, float, int]:
    """Return the jackknife variance and bias from leaving out each part in turn, and the number of parts.

    `whole` is the statistic of all judgements, and `parts` (n,) the code of each judgement's part.
    """
    number = int(parts.max()) + 1
    without = np.array([statistic(parts != part) for part in range(number)])
    known = without[np.isfinite(without)]
    if number < 2 or len(known) < 0.9 * number or len(known) < 2:
        return float("nan"), float("nan"), number
    spread = (number - 1) * float(np.mean((known - known.mean()) ** 2))
    return spread, (number - 1) * (float(known.mean()) - whole), number
