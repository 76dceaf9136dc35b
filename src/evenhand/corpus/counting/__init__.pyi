from .batches import (
    count_batch as count_batch,
)
from .counter import (
    Counter as Counter,
    Finder as Finder,
)
from .counts import (
    CONTEXTS as CONTEXTS,
    GROUP_COUNTS as GROUP_COUNTS,
    PAIR_COUNTS as PAIR_COUNTS,
    PUBLISHED_COUNTS as PUBLISHED_COUNTS,
    PUBLISHED_GROUPS as PUBLISHED_GROUPS,
    SKIPPED as SKIPPED,
    SOURCES as SOURCES,
    TABLES as TABLES,
    TERM_COUNTS as TERM_COUNTS,
    TOTALS as TOTALS,
    Counts as Counts,
    empty_counts as empty_counts,
)
from .merging import (
    merged as merged,
)
from .options import (
    NEAR as NEAR,
    PERSON_KINDS as PERSON_KINDS,
    WINDOW as WINDOW,
    CountingOptions as CountingOptions,
)
from .storing import (
    is_counts as is_counts,
    read_counts as read_counts,
    write_counts as write_counts,
)
