from .hits import (
    Hits as Hits,
)
