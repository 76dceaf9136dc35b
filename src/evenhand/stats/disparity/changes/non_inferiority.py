"""Non-inferiority tests: whether a group's change is worse than that of the others by less than a margin."""

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from evenhand.schema import UsageError

POWER = 0.8


def no_worse(
    estimate: npt.ArrayLike, standard_error: npt.ArrayLike, degrees_of_freedom: float, margin: float
) -> list[str]:
    """Test for each group whether its change is worse than that of the others by less than a margin (non-inferiority).

    Parameters
    ----------
    estimate, standard_error : array_like, shape (groups,)
        From `GroupChanges`; larger is worse.
    degrees_of_freedom : float
        Degrees of freedom of the t distribution.
    margin : float
        Largest acceptable difference, in the same unit; above 0.

    Returns
    -------
    list of str, length groups
        - "fails": the lower one-sided 95% bound is above the margin.
        - "could not have been seen": with these standard errors, fewer than 80% of comparisons would pass without any
          change.
        - "passes": the upper bound is below the margin.
        - "undecided": otherwise.

    Raises
    ------
    UsageError
        The margin is not positive.

    References
    ----------
    - ICH E9, 1998, section 3.3.2.

    >>> no_worse([0.0, 9.0, 2.0, 0.0, 9.0], [1.0, 1.0, 1.0, 3.0, 3.0], 50.0, 3.0)
    ['passes', 'fails', 'undecided', 'could not have been seen', 'fails']
    """
    if not margin > 0:
        raise UsageError(
            f"margin must be above 0, got {margin}.", "Give the largest change for the worse that you accept."
        )
    tail, power = stdtrit(degrees_of_freedom, [0.95, POWER])
    answers = []
    for value, error in zip(np.atleast_1d(estimate), np.atleast_1d(standard_error), strict=True):
        if error > 0 and value - tail * error > margin:
            answers.append("fails")
        elif not error > 0 or margin < (tail + power) * error:
            answers.append("could not have been seen")
        else:
            answers.append("passes" if value + tail * error < margin else "undecided")
    return answers
