from .changes import (
    CHANGES as CHANGES,
    add_verdicts as add_verdicts,
    outcome_changes as outcome_changes,
)
from .conduct import (
    SILENT as SILENT,
    Comparison as Comparison,
    compare_outputs as compare_outputs,
)
from .figures import (
    OutcomeSection as OutcomeSection,
    choose_unit as choose_unit,
    outcomes as outcomes,
    table_of_models as table_of_models,
    write_headlines as write_headlines,
)
from .rate_words import (
    PERCENT as PERCENT,
    scale_row as scale_row,
)
from .result import (
    ComparisonReport as ComparisonReport,
    compare as compare,
)
from .texts import (
    LEVELS as LEVELS,
    QUALITY as QUALITY,
    SAME_ANSWER as SAME_ANSWER,
    TEXT_MEASURES as TEXT_MEASURES,
    judged_texts as judged_texts,
    levels as levels,
    overall_change as overall_change,
    quality_changes as quality_changes,
    scaled_row as scaled_row,
    text_places as text_places,
)
from .wording import (
    DISPARITY as DISPARITY,
    STANDING_NOW as STANDING_NOW,
    disparity_lines as disparity_lines,
    moved_word as moved_word,
)
