from .leans import HE as HE, SHE as SHE, pronoun_leans as pronoun_leans
from .relation import (
    MEASURE as MEASURE,
    RELATED as RELATED,
    RELATIONS as RELATIONS,
    FrequencyRelation as FrequencyRelation,
    frequency_relation as frequency_relation,
)
from .senses import sense_shares as sense_shares
from .shares import (
    group_shares as group_shares,
    share_ratios as share_ratios,
    term_frequencies as term_frequencies,
)
from .spread import across_corpora as across_corpora, axis_spread as axis_spread
from .together import associations as associations
from .ways_of_counting import counting_differences as counting_differences
