from .conduct import (
    INSTRUCTION_FILE as INSTRUCTION_FILE,
    Revision as Revision,
)
from .options import (
    revision_config as revision_config,
)
from .page import (
    PAGE as PAGE,
    render_revision as render_revision,
    resumed_search as resumed_search,
    revise as revise,
    revise_with as revise_with,
)
from .record import (
    is_search as is_search,
)
