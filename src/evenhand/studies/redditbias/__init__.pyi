from .options import (
    RedditBiasConfig as RedditBiasConfig,
)
from .record import (
    is_study as is_study,
)
from .result import (
    RedditBiasTables as RedditBiasTables,
    redditbias as redditbias,
    redditbias_config as redditbias_config,
    redditbias_with as redditbias_with,
    resumed_study as resumed_study,
)
