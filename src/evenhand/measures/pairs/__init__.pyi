from .clustered import PLANNED_CORRELATION as PLANNED_CORRELATION
from .preference import PairScores as PairScores
from .term_means import PLANNED_SPREAD as PLANNED_SPREAD
