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
    check as check,
    check_with as check_with,
    load_classifier_of as load_classifier_of,
    resumed_options as resumed_options,
)
from .terminal import (
    render_check_plan as render_check_plan,
)
