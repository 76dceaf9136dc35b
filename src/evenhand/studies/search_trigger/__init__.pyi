from .options import (
    TriggerSearch as TriggerSearch,
)
from .result import (
    FoundTrigger as FoundTrigger,
    perform_search as perform_search,
    search_trigger as search_trigger,
)
from .study import (
    TRIGGER as TRIGGER,
)
