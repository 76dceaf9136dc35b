from .conduct import (
    with_named_classifiers as with_named_classifiers,
)
from .result import (
    BeforeAfterReport as BeforeAfterReport,
    before_after as before_after,
    check_resuming as check_resuming,
    resumed_study as resumed_study,
    run_before_after as run_before_after,
)
