from .likelihood_bias import (
    LikelihoodBias as LikelihoodBias,
    detectable_log_ratio as detectable_log_ratio,
    flagging_level as flagging_level,
)
from .likelihood_bias_published import PublishedLikelihoodBias as PublishedLikelihoodBias
from .perplexity import inverse_perplexity as inverse_perplexity
from .valence import ValenceShift as ValenceShift
