from .partial import (
    centred_means as centred_means,
    ranks_within as ranks_within,
    split_half_reliability as split_half_reliability,
)
from .relation import (
    RankRelation as RankRelation,
    rank_relation as rank_relation,
)
