from .keeping import (
    kept_ranks as kept_ranks,
    merged_ranks as merged_ranks,
    rank_file as rank_file,
)
from .local import (
    run_in_processes as run_in_processes,
)
from .places import (
    PLACES as PLACES,
    CountingPlace as CountingPlace,
    do_ranks as do_ranks,
)
from .ranks import (
    divide_pieces as divide_pieces,
)
from .slurm import (
    check_slurm_options as check_slurm_options,
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
    CorpusWork as CorpusWork,
    Counters as Counters,
    RankDone as RankDone,
    broken_documents as broken_documents,
    lost_documents as lost_documents,
)
