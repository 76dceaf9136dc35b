"""Does any descriptor of an axis differ: Simes over descriptors, and whole contrasts turned about."""

import numpy as np

from evenhand.stats.arrays import Floats
from evenhand.stats.multiplicity import simes

_EXACT_UP_TO = 13
_DRAWN = 4096


def flips_help(contrasts: int, level: float, *, own_nouns: bool) -> bool:
    """Whether flipping contrasts can reach the level at all; crossed nouns are not exchangeable under flips."""
    return own_nouns and 2.0 ** (1 - contrasts) <= level / 2


def flip_contrasts(by_contrast: Floats, *, margin: float = 0.0, seed: int = 0) -> float:
    """p of "no descriptor's shift is beyond the margin" by turning the signs of whole contrasts.

    by_contrast: (contrasts, descriptors) shifts, NaN where unknown (they add nothing however turned). What lies
    within `margin` is taken off first. All sign patterns up to 13 contrasts, else 4,096 drawn ones.
    Holds whatever the dependence between descriptors. Source: Fisher 1935, section 21, of vectors.

    >>> flip_contrasts(np.array([[1.0, -1.0], [1.2, -1.2], [0.8, -0.8], [1.0, -1.0]]))
    0.125
    """
    return Flips(len(by_contrast), seed).p(by_contrast, margin)


class Flips:
    """The sign patterns for a number of contrasts, to be used for several margins."""

    def __init__(self, contrasts: int, seed: int) -> None:
        if contrasts <= _EXACT_UP_TO:
            # a pattern and its opposite give the same sum of squares: the last sign is fixed
            bits = (np.arange(1 << max(0, contrasts - 1))[:, None] >> np.arange(contrasts)) & 1
        else:
            bits = np.random.default_rng(seed).integers(0, 2, size=(_DRAWN - 1, contrasts))
            bits = np.vstack([np.zeros((1, contrasts), dtype=bits.dtype), bits])
        self._signs = np.asarray(1.0 - 2.0 * bits, dtype=np.float64)

    def p(self, by_contrast: Floats, margin: float) -> float:
        """Share of patterns whose sum is as far from nothing as the observed one."""
        number = np.maximum(np.count_nonzero(~np.isnan(by_contrast), axis=0), 1)
        inner = np.clip(np.nansum(by_contrast, axis=0) / number, -margin, margin)
        rows = np.nan_to_num(by_contrast - inner)
        products = rows @ rows.T
        sums = np.einsum("sc,sc->s", self._signs @ products, self._signs)
        # the first pattern is the observed one
        threshold = sums[0] - 1e-12 * float(np.abs(products).sum())
        return float(np.mean(sums >= threshold))


def axis_p(p: Floats, by_contrast: Floats, margin: float, flips: Flips | None) -> float:
    """p of the axis: Simes' over the p of descriptors, with flips twice the smaller of the two."""
    simple = simes(p)
    if flips is None:
        return simple
    return min(1.0, 2 * min(simple, flips.p(by_contrast, margin)))
