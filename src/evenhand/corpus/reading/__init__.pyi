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
    fold_of as fold_of,
)
from .duplicates import (
    find_repeats as find_repeats,
    repeats_of as repeats_of,
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
