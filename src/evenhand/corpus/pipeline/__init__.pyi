from .keeping import (
    kept_ranks as kept_ranks,
    merged_ranks as merged_ranks,
    rank_file as rank_file,
)
from .local import (
    over_processes as over_processes,
)
from .places import (
    PLACES as PLACES,
    Place as Place,
    count_at as count_at,
)
from .ranks import (
    dealt as dealt,
)
from .slurm import (
    checked_slurm as checked_slurm,
)
from .steps import (
    CorpusReader as CorpusReader,
    CountsMerger as CountsMerger,
    TermCounter as TermCounter,
)
from .work import (
    Counters as Counters,
    RankDone as RankDone,
    Work as Work,
    broken_documents as broken_documents,
    count_rank as count_rank,
)
