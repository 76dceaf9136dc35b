from .table import (
    SURFACE_COLUMNS as SURFACE_COLUMNS,
    TERM_COLUMNS as TERM_COLUMNS,
    TermTable as TermTable,
)
