from .sign_flips import (
    FlippedMean as FlippedMean,
    detectable_by_flips as detectable_by_flips,
    flipped_mean as flipped_mean,
)
from .two_way import (
    LARGEST_ABSENT_SHARE as LARGEST_ABSENT_SHARE,
    CrossedGroups as CrossedGroups,
    CrossedOutcome as CrossedOutcome,
    CrossedSpread as CrossedSpread,
    PlannedCrossing as PlannedCrossing,
    crossed_groups as crossed_groups,
    crossed_outcome as crossed_outcome,
    crossed_spread as crossed_spread,
    planned_crossing as planned_crossing,
    sliding_interval as sliding_interval,
)
