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
    do_ranks as do_ranks,
)
from .ranks import (
    dealt as dealt,
)
from .slurm import (
    checked_slurm as checked_slurm,
)
from .stages import (
    COUNTING as COUNTING,
    HASHING as HASHING,
    Stage as Stage,
    are_repeats_known as are_repeats_known,
    count_rank as count_rank,
    find_all_repeats as find_all_repeats,
    hash_rank as hash_rank,
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
    lost_documents as lost_documents,
)
