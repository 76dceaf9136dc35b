from .examples import (
    read_examples as read_examples,
    read_trigger_prompts as read_trigger_prompts,
)
from .finding import (
    find_trigger as find_trigger,
)
from .objective import (
    Mode as Mode,
    Objective as Objective,
)
from .search import (
    TriggerSearchOptions as TriggerSearchOptions,
)
from .trigger import (
    TriggerFile as TriggerFile,
)
