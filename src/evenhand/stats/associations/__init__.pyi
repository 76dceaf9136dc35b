from .partial import (
    centred_means as centred_means,
    ranks_within as ranks_within,
)
from .relation import (
    RankRelation as RankRelation,
    rank_relation as rank_relation,
)
