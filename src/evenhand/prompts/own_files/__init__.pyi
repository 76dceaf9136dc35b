from .continuations import (
    CONTINUATION_FORMAT as CONTINUATION_FORMAT,
    booleans as booleans,
    read_continuations as read_continuations,
)
from .decimals import (
    NUMBERS as NUMBERS,
    plain_numbers as plain_numbers,
)
from .delimited import (
    without_flags as without_flags,
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
    MISSING_WORDS as MISSING_WORDS,
    READERS as READERS,
    Source as Source,
    TableInMemory as TableInMemory,
    number_column as number_column,
    read_table as read_table,
    require_columns as require_columns,
    text_column as text_column,
)
