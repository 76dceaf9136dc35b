from .axis_rates import AxisRates as AxisRates
from .beside_others import rates_beside_others as rates_beside_others
from .bias_score_published import PublishedBiasScore as PublishedBiasScore
from .disparity import Disparity as Disparity
from .group_comparison import compare_groups as compare_groups, spread_p as spread_p
from .max_subgroup_rate import MaxSubgroupRate as MaxSubgroupRate
