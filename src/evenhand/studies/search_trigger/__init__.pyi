from .conduct import (
    search_trigger as search_trigger,
    search_trigger_with as search_trigger_with,
)
from .options import (
    TriggerSearch as TriggerSearch,
)
