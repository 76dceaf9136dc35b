from .agreements import agreement_section as agreement_section, classifier_section as classifier_section
from .data import (
    amount as amount,
    data_section as data_section,
    describe_changes as describe_changes,
    describe_rules as describe_rules,
    rules_section as rules_section,
    texts_section as texts_section,
)
from .preferences import (
    preference_section as preference_section,
    side_section as side_section,
)
from .rated import marks_section as marks_section, ratings_section as ratings_section
from .views import views_section as views_section
