"""No worse by more than a margin: whether that is shown, refuted, or could not have been seen."""

import numpy as np
import numpy.typing as npt
from scipy import stats

from evenhand.schema import UsageError

POWER = 0.8


def no_worse(
    estimate: npt.ArrayLike, standard_error: npt.ArrayLike, degrees_of_freedom: float, margin: float
) -> list[str]:
    """Whether groups fared no worse by more than a margin: passes, fails, undecided, or could not have been seen.

    estimate, standard_error: (groups,) of `GroupChanges`, larger is worse. margin: what would still be accepted, in
    the same unit. In this order: fails, where the lower one-sided 95 % limit lies above the margin; could not have been
    seen, where fewer than 80 % of comparisons would pass if nothing had changed; passes, where the upper limit lies
    below the margin; undecided. Raises UsageError for a margin that is not positive. Source: ICH E9, 1998, section
    3.3.2.

    >>> no_worse([0.0, 9.0, 2.0, 0.0, 9.0], [1.0, 1.0, 1.0, 3.0, 3.0], 50.0, 3.0)
    ['passes', 'fails', 'undecided', 'could not have been seen', 'fails']
    """
    if not margin > 0:
        raise UsageError(
            f"The margin is {margin}; it must be above 0.", "Say how much worse is still accepted."
        )
    tail, power = stats.t.ppf([0.95, POWER], degrees_of_freedom)
    answers = []
    for value, error in zip(np.atleast_1d(estimate), np.atleast_1d(standard_error), strict=True):
        if error > 0 and value - tail * error > margin:
            answers.append("fails")
        elif not error > 0 or margin < (tail + power) * error:
            answers.append("could not have been seen")
        else:
            answers.append("passes" if value + tail * error < margin else "undecided")
    return answers
