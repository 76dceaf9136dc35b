from .instructions import (
    search_instruction as search_instruction,
)
