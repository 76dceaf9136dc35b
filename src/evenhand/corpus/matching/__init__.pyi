from .hits import (
    Hits as Hits,
)
from .matcher import (
    Matcher as Matcher,
)
