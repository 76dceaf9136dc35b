"""The smallest change of one group that would probably be found."""

from math import inf, sqrt

from scipy import optimize, stats

POWER = 0.8


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
