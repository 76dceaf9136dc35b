"""Split phrases into training, validation and test parts with the same rows as the published code.

The published code calls scikit-learn. This module draws the same random numbers without that package.
"""

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from evenhand.schema import DataError

SEED = 1
"""Random seed of both published splits."""
VALID_SHARE = 0.5

Places = NDArray[np.int64]


def draw_split(
    n: int, share: float, seed: int = SEED, strata: ArrayLike | None = None
) -> tuple[Places, Places]:
    """Return the row numbers of a random part of n rows and of the other rows, like scikit-learn's train_test_split.

    The first part has `share` of the rows, rounded down. `seed` is the random seed. With `strata`, labels of shape
    (n,), the first part has about this share of each stratum. Raises a DataError if a part would be empty.

    >>> [part.tolist() for part in draw_split(5, 0.5)]
    [[0, 3], [2, 1, 4]]
    """
    first = int(np.floor(n * share))
    if not 0 < first < n:
        raise DataError(
            f"{n:,} rows cannot be split at a share of {share:g}: one part would be empty.",
            "Give a table with more rows.",
        )
    # the published code uses this generator; a newer one would give other numbers
    generator = np.random.RandomState(seed)
    if strata is None:
        order = generator.permutation(n)
        return order[n - first :].astype(np.int64), order[: n - first].astype(np.int64)
    _, codes = np.unique(np.asarray(strata), return_inverse=True)
    sizes = np.bincount(codes)
    of_first = _dealt(sizes, first, generator)
    of_second = _dealt(sizes - of_first, n - first, generator)
    parts: tuple[list[Places], list[Places]] = ([], [])
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    for inside, one, other in zip(members, of_first, of_second, strict=True):
        shuffled = inside[generator.permutation(len(inside))]
        parts[0].append(shuffled[:one])
        parts[1].append(shuffled[one : one + other])
    together = [generator.permutation(np.concatenate(part)) for part in parts]
    return together[0].astype(np.int64), together[1].astype(np.int64)


def train_and_held_out(
    phrases: pl.DataFrame, train_share: float, *, stratified: bool = True
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split the biased phrases into a training part and a held-out part, in the published order.

    Parameters
    ----------
    phrases : DataFrame
        Phrases annotated as biased, in the order of the annotated table.
    train_share : float
        Share of the training part.
    stratified : bool
        Whether the published split of this bias type was stratified. All phrases have the same label, so this only
        changes which random numbers are drawn. The published files of religion1 and religion2 were split without
        strata.

    Returns
    -------
    tuple of DataFrame
        The training phrases and the held-out phrases.

    References
    ----------
    Barikeri et al. 2021, RedditBias, released code (reddit_data_text_train_test.py).
    """
    strata = np.zeros(phrases.height) if stratified else None
    train, rest = draw_split(phrases.height, train_share, strata=strata)
    return phrases[train], phrases[rest]


def valid_and_test(pairs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split the held-out pairs in half: a validation part for choosing models and a test part for final results.

    `pairs` are the pairs without outliers, in the order of `train_and_held_out`. Source: Barikeri et al. 2021.

    >>> [part["n"].to_list() for part in valid_and_test(pl.DataFrame({"n": range(5)}))]
    [[0, 3], [2, 1, 4]]
    """
    valid, test = draw_split(pairs.height, VALID_SHARE)
    return pairs[valid], pairs[test]


def _dealt(sizes: Places, number: int, generator: np.random.RandomState) -> Places:
    """Return how many rows each stratum contributes to a part of `number` rows.

    The numbers are proportional to `sizes`, rounded down; the largest remainders are rounded up, equal ones at random.
    """
    exact = sizes / sizes.sum() * number  # keep this order of operations: ties depend on the last bit
    dealt: Places = np.floor(exact).astype(np.int64)
    lacking = number - int(dealt.sum())
    remainders = exact - dealt
    for remainder in np.unique(remainders)[::-1]:
        if lacking <= 0:
            break
        equal = np.flatnonzero(remainders == remainder)
        raised = generator.choice(equal, size=min(len(equal), lacking), replace=False)
        dealt[raised] += 1
        lacking -= len(raised)
    return dealt
