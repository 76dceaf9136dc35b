from .alpha import crossed_alpha as crossed_alpha
from .crossed import (
    crossed_balanced as crossed_balanced,
    crossed_difference as crossed_difference,
    crossed_mean as crossed_mean,
    crossed_share as crossed_share,
    crossed_slope as crossed_slope,
)
from .dawid_skene import (
    LatentClasses as LatentClasses,
    latent_classes as latent_classes,
    reliability_limits as reliability_limits,
)
from .estimates import LEAST_LEVELS as LEAST_LEVELS, CrossedEstimate as CrossedEstimate
from .exact import (
    binomial_p as binomial_p,
    chi_square as chi_square,
    minimal_significant as minimal_significant,
    published_agreement as published_agreement,
    stars as stars,
)
from .jackknife import TwoWayError as TwoWayError, two_way_jackknife as two_way_jackknife
from .reliability import (
    Reliability as Reliability,
    group_reliability as group_reliability,
    sums_of_items as sums_of_items,
    weighted_correlations as weighted_correlations,
)
