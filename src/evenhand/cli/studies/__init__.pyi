from .redditbias import (
    app as app,
)
