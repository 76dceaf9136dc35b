from .options import (
    RedditBiasConfig as RedditBiasConfig,
)
from .result import (
    RedditBiasTables as RedditBiasTables,
    perform_redditbias as perform_redditbias,
    redditbias as redditbias,
)
from .study import (
    REDDITBIAS as REDDITBIAS,
)
