from .axis_rates import AxisRates as AxisRates
from .beside_others import rates_beside_others as rates_beside_others
from .bias_score_published import PublishedBiasScore as PublishedBiasScore
from .disparity import Disparity as Disparity
from .max_subgroup_rate import MaxSubgroupRate as MaxSubgroupRate
