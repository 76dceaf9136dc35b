from .options import (
    CheckOptions as CheckOptions,
)
from .result import (
    Checked as Checked,
    check_consistency as check_consistency,
    perform_check as perform_check,
    print_plan as print_plan,
)
from .study import (
    CONSISTENCY as CONSISTENCY,
)
