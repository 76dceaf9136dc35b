from .batches import (
    read_batches as read_batches,
    write_hashes as write_hashes,
)
from .documents import (
    FOLDS as FOLDS,
    KINDS as KINDS,
    LONGEST as LONGEST,
    Batch as Batch,
    Piece as Piece,
    Reason as Reason,
    assign_fold as assign_fold,
)
from .duplicates import (
    find_repeats as find_repeats,
    read_repeats as read_repeats,
)
from .options import (
    Documents as Documents,
    ReadingOptions as ReadingOptions,
)
from .planning import (
    LARGEST as LARGEST,
    Survey as Survey,
    pieces as pieces,
    survey as survey,
)
from .sources import (
    parse_sources as parse_sources,
)
