from .building import (
    DEFAULT as DEFAULT,
    LISTS as LISTS,
    build_terms as build_terms,
)
from .table import (
    SURFACE_COLUMNS as SURFACE_COLUMNS,
    TERM_COLUMNS as TERM_COLUMNS,
    TermTable as TermTable,
)
