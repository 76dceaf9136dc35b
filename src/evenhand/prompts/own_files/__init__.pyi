from .continuations import (
    CONTINUATION_FORMAT as CONTINUATION_FORMAT,
    read_continuations as read_continuations,
)
from .imported import (
    import_dataset as import_dataset,
)
from .lines import (
    read_lines as read_lines,
)
from .prompts import (
    read_prompts as read_prompts,
    read_responses as read_responses,
    read_scores as read_scores,
)
from .self_chats import (
    CHAT_FORMAT as CHAT_FORMAT,
    read_self_chats as read_self_chats,
)
from .tables import (
    READERS as READERS,
    number_column as number_column,
    read_table as read_table,
    require_columns as require_columns,
    text_column as text_column,
)
