from .arrays import (
    Codes as Codes,
    Counts as Counts,
    Flags as Flags,
    Floats as Floats,
    Indices as Indices,
    log_choose as log_choose,
    mean_of_known as mean_of_known,
    median_of_known as median_of_known,
    require_same_shape as require_same_shape,
)
from .bootstrap import (
    Intervals as Intervals,
    cluster_bootstrap as cluster_bootstrap,
    cluster_bootstrap_table as cluster_bootstrap_table,
    difference_bootstrap as difference_bootstrap,
    jackknife as jackknife,
    sums_bootstrap as sums_bootstrap,
)
from .cluster_interval import cluster_t as cluster_t
from .cluster_means import (
    clustered_mean as clustered_mean,
    standard_errors as standard_errors,
    t_inference as t_inference,
)
from .common_level import (
    NO_COMMON_LEVEL as NO_COMMON_LEVEL,
    CommonLevel as CommonLevel,
    find_common_level as find_common_level,
    reference_contrasts as reference_contrasts,
)
from .effect_sizes import (
    cohens_dz as cohens_dz,
    median_log_ratio as median_log_ratio,
    odds_ratio as odds_ratio,
    risk_difference as risk_difference,
    risk_ratio as risk_ratio,
    superiority_paired as superiority_paired,
    superiority_unpaired as superiority_unpaired,
)
from .interactions.other_columns import remove_other_effects as remove_other_effects
from .interactions.pair_table import PairTable as PairTable
from .intervals import (
    Interval as Interval,
    binomial_quantile_interval as binomial_quantile_interval,
    clopper_pearson_interval as clopper_pearson_interval,
    clustered_proportion_interval as clustered_proportion_interval,
    wilson_interval as wilson_interval,
)
from .krippendorff import (
    LEAST_AGREEING as LEAST_AGREEING,
    MeasurementLevel as MeasurementLevel,
    krippendorff_alpha as krippendorff_alpha,
)
from .mann_whitney import all_pairs as all_pairs
from .multiplicity import benjamini_hochberg as benjamini_hochberg, holm as holm, simes as simes
from .outliers import outlying_pairs as outlying_pairs
from .permutation import (
    Null as Null,
    exchange_test as exchange_test,
    group_gap as group_gap,
    permutation_null as permutation_null,
    sign_flip_test as sign_flip_test,
)
from .pooling import Pooled as Pooled, pool_means as pool_means, pool_rates as pool_rates
from .power import (
    POWER as POWER,
    detectable_mean_difference as detectable_mean_difference,
    detectable_preference as detectable_preference,
    detectable_rate as detectable_rate,
    effective_n as effective_n,
    per_test_level as per_test_level,
)
from .rater_agreement import (
    difference_of_means as difference_of_means,
    kappa as kappa,
    pearson as pearson,
    spearman as spearman,
    specific_agreement as specific_agreement,
)
from .rates import (
    Limited as Limited,
    difference_of_rates as difference_of_rates,
    ratio_of_rates as ratio_of_rates,
)
from .verdicts import (
    Finding as Finding,
    Harmful as Harmful,
    Verdict as Verdict,
    reach_verdicts as reach_verdicts,
)
