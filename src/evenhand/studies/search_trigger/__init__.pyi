from .options import (
    TriggerSearch as TriggerSearch,
)
from .result import (
    FoundTrigger as FoundTrigger,
    search_trigger as search_trigger,
    search_trigger_with as search_trigger_with,
)
