from .conduct import (
    with_judges as with_judges,
)
from .result import (
    BeforeAfterReport as BeforeAfterReport,
    before_after as before_after,
    before_after_with as before_after_with,
    check_going_on as check_going_on,
    resumed_study as resumed_study,
)
