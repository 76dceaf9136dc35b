from .counting import (
    Counts as Counts,
)
from .matching import (
    Hits as Hits,
    Matcher as Matcher,
)
from .reading import (
    Batch as Batch,
    Piece as Piece,
    Reason as Reason,
)
from .terms import (
    TermTable as TermTable,
    build_terms as build_terms,
)
