from .flip_power import (
    correlation_within as correlation_within,
    smallest_shift as smallest_shift,
)
from .flips import (
    ClusterFlip as ClusterFlip,
    cluster_flip as cluster_flip,
    smallest_flip_p as smallest_flip_p,
)
from .resampling import (
    CELLS as CELLS,
    Statistic as Statistic,
    cluster_ways as cluster_ways,
    combine_variances as combine_variances,
    linear_variance as linear_variance,
    point_estimate as point_estimate,
    resample_counts as resample_counts,
    resampled_variance as resampled_variance,
    studentised_quantile as studentised_quantile,
)
