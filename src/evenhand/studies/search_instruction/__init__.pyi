from .conduct import (
    INSTRUCTION_FILE as INSTRUCTION_FILE,
)
from .options import (
    revision_config as revision_config,
)
from .record import (
    is_search as is_search,
)
from .result import (
    Revision as Revision,
    resumed_search as resumed_search,
    run_search as run_search,
    search_instruction as search_instruction,
)
