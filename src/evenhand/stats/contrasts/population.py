"""Generalise from sampled descriptors to all descriptors of an axis: how many differ, and how many were not sampled."""

import numpy as np

from evenhand.schema import UsageError


def differing_in_axis(
    defined: int, drawn: int, proved: int, unproved: int, *, tail: float = 0.025
) -> tuple[int, int]:
    """Return exact bounds on the number of descriptors of an axis that differ by more than a margin, from a random
    sample.

    Parameters
    ----------
    defined : int
        Number of descriptors of the axis.
    drawn : int
        Number of sampled descriptors.
    proved : int
        Number of sampled descriptors that were shown to differ.
    unproved : int
        Number of sampled descriptors that were not shown to be within the margin. It includes those in `proved`.
    tail : float
        Error probability on each side.

    Returns
    -------
    tuple of int
        Lower and upper bound (hypergeometric).

    Raises
    ------
    UsageError
        The numbers are inconsistent.

    >>> differing_in_axis(138, 16, 0, 0, tail=0.05), differing_in_axis(138, 32, 1, 1)
    ((0, 22), (1, 20))
    """
    if not 0 <= proved <= unproved <= drawn <= defined or drawn < 1:
        raise UsageError(
            "differing_in_axis: arguments must satisfy 0 <= proved <= unproved <= drawn <= defined and drawn >= "
            f"1, got proved={proved}, unproved={unproved}, drawn={drawn}, defined={defined}."
        )
    from scipy.stats import hypergeom

    hostile = np.arange(defined + 1)
    at_least = hypergeom.sf(proved - 1, defined, hostile, drawn)
    at_most = hypergeom.cdf(unproved, defined, hostile, drawn)
    possible = hostile[(hostile >= proved) & (hostile <= defined - (drawn - unproved))]
    low = possible[at_least[possible] > tail].min()
    high = possible[at_most[possible] > tail].max()
    return int(low), int(high)


def chance_of_drawing(defined: int, drawn: int, hostile: int = 1) -> float:
    """Return the probability that a sample of `drawn` out of `defined` descriptors contains at least one of `hostile`
    ones.

    >>> [round(chance_of_drawing(138, 16, h), 2) for h in (1, 3, 7, 14)]
    [0.12, 0.31, 0.59, 0.84]
    """
    if not 0 < drawn <= defined or not 0 <= hostile <= defined:
        raise UsageError(
            "chance_of_drawing: arguments must satisfy 0 < drawn <= defined and 0 <= hostile <= defined, got "
            f"defined={defined}, drawn={drawn}, hostile={hostile}."
        )
    from scipy.stats import hypergeom

    return float(hypergeom.sf(0, defined, hostile, drawn))
