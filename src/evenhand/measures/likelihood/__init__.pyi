from .contrasted import (
    Contrasts as Contrasts,
    contrasts_by_axis as contrasts_by_axis,
    nouns_are_own as nouns_are_own,
)
from .likelihood_bias_published import PublishedLikelihoodBias as PublishedLikelihoodBias
from .likelihood_spread import LikelihoodSpread as LikelihoodSpread
from .perplexity import inverse_perplexity as inverse_perplexity
from .valence import ValenceShift as ValenceShift
