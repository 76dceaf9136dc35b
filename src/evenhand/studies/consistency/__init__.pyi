from .options import (
    check_options as check_options,
)
from .plan import (
    preview as preview,
)
from .record import (
    design_of as design_of,
)
from .result import (
    Checked as Checked,
    check_consistency as check_consistency,
    check_consistency_with as check_consistency_with,
    resumed_options as resumed_options,
)
from .terminal import (
    render_check_plan as render_check_plan,
)
