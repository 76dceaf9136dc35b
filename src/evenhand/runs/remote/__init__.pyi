from .addresses import (
    is_store_address as is_store_address,
)
from .copies import (
    WorkingCopy as WorkingCopy,
    working_copy as working_copy,
)
