from .hits import (
    Hits as Hits,
)
from .matcher import (
    Matcher as Matcher,
)
from .published import (
    published_documents as published_documents,
)
