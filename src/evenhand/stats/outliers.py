"""Find pairs with an outlying value by the three-standard-deviations rule."""

import numpy as np
import numpy.typing as npt

from evenhand.schema import checked_kinds
from evenhand.stats.arrays import Flags, require_same_length

DEVIATIONS = 3.0


@checked_kinds
def outlying_pairs(first: npt.ArrayLike, second: npt.ArrayLike, *, by_value: bool = False) -> Flags:
    """Return which pairs have a value that is more than three standard deviations from the mean of its list.

    Use it to reproduce the outlier rule of RedditBias.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        Two lists of paired values, for example the perplexities of two texts.
    by_value : bool, default False
        Use the published rule. A pair is then also an outlier if one of its values equals an outlying value of
        another pair in either list.

    Returns
    -------
    numpy.ndarray of bool, shape (n,)
        True for pairs with an outlier.

    Notes
    -----
    The standard deviation has the divisor n.

    References
    ----------
    - The published code of Barikeri et al. 2021.

    Examples
    --------
    >>> outlying_pairs(np.r_[np.ones(19), 100.0], np.ones(20)).nonzero()[0].tolist()
    [19]
    """
    require_same_length("outlying_pairs", first=first, second=second)
    lists = [np.asarray(values, dtype=np.float64) for values in (first, second)]
    far = [np.abs(values - values.mean()) > DEVIATIONS * values.std() for values in lists]
    if by_value:
        outlying = np.concatenate([values[flags] for values, flags in zip(lists, far, strict=True)])
        far = [np.isin(values, outlying) for values in lists]
    return np.asarray(far[0] | far[1])
