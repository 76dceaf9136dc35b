from .options import (
    NamesConfig as NamesConfig,
)
from .record import (
    is_study as is_study,
)
from .result import (
    NamesTables as NamesTables,
    names_config as names_config,
    names_study as names_study,
    names_with as names_with,
    resumed_study as resumed_study,
)
