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
from .normalising import (
    normalise as normalise,
)
from .pipeline import (
    CorpusReader as CorpusReader,
    CountsMerger as CountsMerger,
    TermCounter as TermCounter,
    divide_pieces as divide_pieces,
    merged_ranks as merged_ranks,
)
from .reading import (
    Batch as Batch,
    Piece as Piece,
    ReadingOptions as ReadingOptions,
    Reason as Reason,
    pieces as pieces,
    read_batches as read_batches,
)
from .terms import (
    TermTable as TermTable,
    build_terms as build_terms,
)
