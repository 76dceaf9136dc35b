from .options import (
    NamesConfig as NamesConfig,
)
from .result import (
    NamesTables as NamesTables,
    names_study as names_study,
    perform_names as perform_names,
)
from .study import (
    NAMES as NAMES,
)
