from .tables import (
    ChatTables as ChatTables,
    chat_tables as chat_tables,
)
