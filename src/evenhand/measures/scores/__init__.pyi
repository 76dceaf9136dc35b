from .group_scores import ScoreDifferences as ScoreDifferences, score_differences as score_differences
from .interaction import Interactions as Interactions, interactions as interactions
