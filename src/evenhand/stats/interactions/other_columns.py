"""Remove the effects of other columns before two columns are tested for an interaction."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array, hstack
from scipy.sparse.linalg import lsmr

from evenhand.schema import UsageError, checked
from evenhand.stats.arrays import Codes, Floats, require_codes, require_same_length


@checked
def remove_other_effects(values: Floats, columns: Sequence[Codes], first: int, second: int) -> Floats:
    """Return the values without the additive effects of all columns except two.

    Use it before `PairTable` tests an interaction. A third column (such as age) may be distributed unevenly over the
    combinations of the two (gender and religion). Its effect would then look like their interaction.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
        Outcomes, one per response.
    columns : sequence of numpy.ndarray of int, each of shape (n,)
        Group of each response in each column, as codes from 0.
    first, second : int
        Positions in `columns` of the two columns whose effects are kept.

    Returns
    -------
    numpy.ndarray, shape (n,)
        Values minus the centred effects of the other columns. Their mean is unchanged.

    Notes
    -----
    The effects are from one least-squares fit with all columns.

    Examples
    --------
    >>> values, other = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 1, 0, 1])
    >>> remove_other_effects(values, [np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0]), other], 0, 1).round(6)
    array([0.5, 0.5, 0.5, 0.5])
    """
    owner = "remove_other_effects"
    require_same_length(owner, values=values, **{f"columns[{i}]": codes for i, codes in enumerate(columns)})
    for name, place in {"first": first, "second": second}.items():
        if not 0 <= place < len(columns):
            raise UsageError(
                f"{owner}: invalid {name}={place}: there are {len(columns)} columns.",
                f"Give a position from 0 to {len(columns) - 1}.",
            )
    for place, codes in enumerate(columns):
        require_codes(owner, f"columns[{place}]", codes, len(values))
    others = [place for place in range(len(columns)) if place not in (first, second)]
    if not others:
        return values.astype(float)
    rows = np.arange(len(values))
    ones = np.ones(len(values))
    dummies = [
        csr_array((ones, (rows, codes)), shape=(len(values), int(codes.max()) + 1)) for codes in columns
    ]
    design = hstack(dummies, format="csr")
    centre = values.mean()
    effects = lsmr(design, values - centre, atol=1e-13, btol=1e-13, maxiter=20 * design.shape[1] + 200)[0]
    starts = np.cumsum([0, *(part.shape[1] for part in dummies)])
    adjusted = values.astype(float)
    for place in others:
        effect = dummies[place] @ effects[starts[place] : starts[place + 1]]
        adjusted = adjusted - (effect - effect.mean())
    return adjusted
