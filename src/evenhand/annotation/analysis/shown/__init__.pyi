from .agreements import agreement_section as agreement_section, classifier_section as classifier_section
from .data import (
    amount as amount,
    data_section as data_section,
    rules_section as rules_section,
    texts_section as texts_section,
    told_changes as told_changes,
    told_rules as told_rules,
)
from .preferences import (
    preference_section as preference_section,
    side_section as side_section,
)
from .rated import marks_section as marks_section, ratings_section as ratings_section
from .views import views_section as views_section
