from .choice import (
    HIGHER as HIGHER,
    LOWER as LOWER,
    NOT_DETECTED as NOT_DETECTED,
    compare_finalists as compare_finalists,
    score_of as score_of,
)
from .revisers import (
    RULES as RULES,
    Reviser as Reviser,
    load_reviser as load_reviser,
)
from .screen import (
    Screen as Screen,
    normalised as normalised,
    words_of_groups as words_of_groups,
)
from .searching import (
    KEPT as KEPT,
    NONE as NONE,
    REFERENCE as REFERENCE,
    Score as Score,
    Search as Search,
    SearchOptions as SearchOptions,
    fit_seeds as fit_seeds,
    history_frame as history_frame,
    lineage as lineage,
    search as search,
)
