from .choice import (
    HIGHER as HIGHER,
    LOWER as LOWER,
    NOT_DETECTED as NOT_DETECTED,
    compare_finalists as compare_finalists,
    score_outcomes as score_outcomes,
)
from .revisers import (
    RULES as RULES,
    Reviser as Reviser,
    load_reviser as load_reviser,
)
from .screen import (
    Screen as Screen,
    normalise_wording as normalise_wording,
    words_of_groups as words_of_groups,
)
from .searching import (
    KEPT as KEPT,
    NONE as NONE,
    REFERENCE as REFERENCE,
    InstructionSearch as InstructionSearch,
    Score as Score,
    SearchOptions as SearchOptions,
    fit_seeds as fit_seeds,
    history_frame as history_frame,
    lineage as lineage,
    search as search,
)
