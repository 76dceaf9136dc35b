from .clustered import PLANNED_CORRELATION as PLANNED_CORRELATION
from .phrases import phrase_clusters as phrase_clusters
from .preference import PairScores as PairScores
from .redditbias import PLANNED_DIFFERENCE as PLANNED_DIFFERENCE
from .term_means import PLANNED_SPREAD as PLANNED_SPREAD
