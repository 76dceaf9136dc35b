"""How far a number can be believed: intervals, nulls, multiplicity, power, effect sizes, verdicts.

Knows no model, file or progress bar: arrays in; numbers, arrays or small frozen dataclasses out.
"""

from evenhand.stats.bootstrap import (
    Intervals as Intervals,
    cluster_bootstrap as cluster_bootstrap,
    cluster_bootstrap_table as cluster_bootstrap_table,
    difference_bootstrap as difference_bootstrap,
)
from evenhand.stats.effect_sizes import (
    cohens_dz as cohens_dz,
    median_log_ratio as median_log_ratio,
    odds_ratio as odds_ratio,
    risk_difference as risk_difference,
    risk_ratio as risk_ratio,
    superiority_paired as superiority_paired,
    superiority_unpaired as superiority_unpaired,
)
from evenhand.stats.intervals import (
    Interval as Interval,
    binomial_quantile_interval as binomial_quantile_interval,
    clopper_pearson_interval as clopper_pearson_interval,
    clustered_proportion_interval as clustered_proportion_interval,
    wilson_interval as wilson_interval,
)
from evenhand.stats.multiplicity import (
    benjamini_hochberg as benjamini_hochberg,
    holm as holm,
    simes as simes,
)
from evenhand.stats.permutation import (
    Null as Null,
    group_gap as group_gap,
    permutation_null as permutation_null,
    sign_flip_test as sign_flip_test,
)
from evenhand.stats.pooling import Pooled as Pooled, pool_means as pool_means, pool_rates as pool_rates
from evenhand.stats.power import (
    detectable_mean_difference as detectable_mean_difference,
    detectable_preference as detectable_preference,
    detectable_rate as detectable_rate,
    effective_n as effective_n,
    per_test_level as per_test_level,
)
from evenhand.stats.rank_tests import signed_rank as signed_rank
from evenhand.stats.verdicts import Finding as Finding, Verdict as Verdict, judge as judge
