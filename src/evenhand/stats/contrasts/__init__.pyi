from .alike import alike_contrasts as alike_contrasts
from .here import shifts_in_these_sentences as shifts_in_these_sentences
from .population import chance_of_drawing as chance_of_drawing, differing_in_axis as differing_in_axis
from .shifts import (
    Shifts as Shifts,
    moderated_shifts as moderated_shifts,
    pairwise_shifts as pairwise_shifts,
)
from .sign_flips import (
    FlippedMean as FlippedMean,
    detectable_by_flips as detectable_by_flips,
    flipped_mean as flipped_mean,
)
from .skewness import (
    SkewedMean as SkewedMean,
    skewed_mean as skewed_mean,
    smallest_mean as smallest_mean,
    smallest_mean_of_sample as smallest_mean_of_sample,
)
from .smallest import planned_shift as planned_shift, smallest_shift as smallest_shift
from .spread import (
    Spread as Spread,
    SpreadChange as SpreadChange,
    change_of_spread as change_of_spread,
    least_spread as least_spread,
    shift_spread as shift_spread,
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
