from .births import (
    TIERS as TIERS,
    read_births as read_births,
    tier as tier,
)
from .describing import (
    describing_adjectives as describing_adjectives,
    descriptions as descriptions,
)
from .listing import (
    load_names as load_names,
)
from .opening import (
    introductions as introductions,
)
from .recipe import (
    RaceLists as RaceLists,
    race_lists as race_lists,
)
from .shares import (
    read_shares as read_shares,
)
from .texts import (
    is_common_word as is_common_word,
    load_personas as load_personas,
    occupations as occupations,
)
