"""The smallest changes that would probably be found: of one group, and between groups."""

from math import inf, sqrt

import numpy as np
from scipy import optimize, stats
from scipy.special import chdtri, fdtri, ncfdtr, ndtr

POWER = 0.8
FAR, PIECES = 1e3, 1000
"""Signal from which the library's noncentral F fails at some points, and is averaged over so many chi-squares."""


def smallest_change(
    z: float,
    variance: tuple[float, float],
    others: float,
    units: float,
    scale: float,
    rates: tuple[float, float] | None,
) -> float:
    """The d with d = z SE(d) + .84 SD(d), where a share that moves by d has another spread; inf where none is left.

    variance: of scaled residuals, paired and unpaired: what a change adds to the spread is shared by nobody.
    """
    power = float(stats.norm.ppf(POWER))
    if rates is None:
        return float((z + power) * sqrt(variance[0] * scale**2 / units + others))
    before, after = rates
    sign = 1.0 if after <= 0.5 else -1.0
    room = 1 - after if sign > 0 else after
    old = (units * before + 0.5) / (units + 1)

    def squared(rate: float) -> float:
        now = (units * rate + 0.5) / (units + 1)
        return float(old * (1 - old) + now * (1 - now))

    def beyond(d: float) -> float:
        moved = squared(after + sign * d)
        added = max(moved - squared(after), 0.0)
        found = variance[0] * (moved - added) + variance[1] * added
        return d - z * sqrt(variance[0] * moved / units + others) - power * sqrt(found / units + others)

    return float(optimize.brentq(beyond, 0.0, room)) if beyond(room) > 0 > beyond(0.0) else inf


def power_of_f(signal: float, between: float, within: float, critical: float) -> float:
    """Chance that an F of this noncentrality exceeds the critical value, at any signal.

    Far out the noncentral chi-square above is the cube of a normal (Abdel-Aty 1954), averaged over the one below.

    >>> [round(power_of_f(signal, 1.0, 8.0, 5.32), 2) for signal in (0.0, 10.0, 2467.1, 1e9)]
    [0.05, 0.79, 1.0, 1.0]
    """
    if signal < FAR and np.isfinite(below := float(ncfdtr(between, within, signal, critical))):
        return 1 - below
    noise = chdtri(within, (np.arange(PIECES) + 0.5) / PIECES)
    centre = between + signal
    spread = 2 / 9 * (centre + signal) / centre**2
    return float(
        ndtr(-(np.cbrt(critical * between / within * noise / centre) - 1 + spread) / sqrt(spread)).mean()
    )


def signal_found(between: float, within: float, level: float) -> float:
    """Noncentrality that an F test at `level` finds with 80 % power.

    >>> round(signal_found(1.0, 1e6, 0.05), 2)
    7.85
    """
    critical = float(fdtri(between, within, 1 - level))
    top = 8.0
    while power_of_f(top, between, within, critical) < POWER:
        top *= 4
    return float(optimize.brentq(lambda x: power_of_f(x, between, within, critical) - POWER, 0.0, top))
