from .two_way import (
    CrossedGroups as CrossedGroups,
    CrossedOutcome as CrossedOutcome,
    CrossedSpread as CrossedSpread,
    crossed_groups as crossed_groups,
    crossed_outcome as crossed_outcome,
    crossed_spread as crossed_spread,
    sliding_interval as sliding_interval,
)
