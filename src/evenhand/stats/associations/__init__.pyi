from .partial import (
    centred_means as centred_means,
    ranks_within as ranks_within,
    reliability_of as reliability_of,
)
from .relation import (
    RankRelation as RankRelation,
    rank_relation as rank_relation,
)
