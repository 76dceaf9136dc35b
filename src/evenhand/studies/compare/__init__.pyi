from .figures import (
    OutcomeSection as OutcomeSection,
    outcomes as outcomes,
    table_of_models as table_of_models,
)
from .result import (
    ComparisonReport as ComparisonReport,
    compare as compare,
)
