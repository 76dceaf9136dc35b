from .conduct import (
    with_named_classifiers as with_named_classifiers,
)
from .result import (
    BeforeAfterReport as BeforeAfterReport,
    before_after as before_after,
    before_after_with as before_after_with,
    check_going_on as check_going_on,
    resumed_study as resumed_study,
)
