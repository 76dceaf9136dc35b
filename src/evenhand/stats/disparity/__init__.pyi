from .additive import (
    Departures as Departures,
    departures as departures,
    planned_excess as planned_excess,
)
from .approximation import Approximation as Approximation, approximate as approximate
from .changes.change import group_changes as group_changes
from .changes.non_inferiority import no_worse as no_worse
from .changes.results import GroupChanges as GroupChanges
from .comparison import (
    SKEWED as SKEWED,
    Comparison as Comparison,
    compare_units as compare_units,
    compare_with_others as compare_with_others,
    with_common_level as with_common_level,
)
from .corrected import (
    CorrectedRates as CorrectedRates,
    LabelCounts as LabelCounts,
    compare_corrected as compare_corrected,
)
from .deals import (
    Deals as Deals,
    all_pair_contrasts as all_pair_contrasts,
    deal as deal,
    largest_means as largest_means,
    least_units_of_two as least_units_of_two,
    leave_one_out as leave_one_out,
    smallest_p as smallest_p,
)
from .differences import (
    Differences as Differences,
    calibrated_differences as calibrated_differences,
    recovered_limits as recovered_limits,
)
from .effects import (
    Design as Design,
    critical_z as critical_z,
    group_level as group_level,
    planned_effects as planned_effects,
    smallest_differences as smallest_differences,
    smallest_effects as smallest_effects,
    smallest_spread as smallest_spread,
)
from .limits import GroupLimits as GroupLimits
from .missing import (
    EQUAL as EQUAL,
    MissingExcess as MissingExcess,
    excess_missing as excess_missing,
    explained_by_excess as explained_by_excess,
    extremes_of_missing as extremes_of_missing,
    missing_shares as missing_shares,
    p_of_equal_shares as p_of_equal_shares,
    spread_explained_by_excess as spread_explained_by_excess,
    tail_mean as tail_mean,
)
from .pairs import (
    LargestGap as LargestGap,
    largest_gap as largest_gap,
    pairs_of_groups as pairs_of_groups,
    tukey_quantile as tukey_quantile,
)
from .smallest import PLANNED_CORRELATION as PLANNED_CORRELATION
from .spread import Spread as Spread, burden as burden, spread_of_groups as spread_of_groups
from .spread_limits import limits_of_spread as limits_of_spread
from .supports import Supports as Supports, Z as Z, combine_by_cauchy as combine_by_cauchy
from .units import Units as Units
