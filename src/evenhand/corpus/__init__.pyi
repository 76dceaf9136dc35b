from .counting import (
    Counter as Counter,
    CountingOptions as CountingOptions,
    Counts as Counts,
    count_batch as count_batch,
    merged as merged,
    read_counts as read_counts,
    write_counts as write_counts,
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
