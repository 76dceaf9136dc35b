from .options import (
    DebiasConfig as DebiasConfig,
    debias_config as debias_config,
)
from .result import (
    Debiased as Debiased,
    debias as debias,
    debias_with as debias_with,
)
from .trials import (
    NothingChosen as NothingChosen,
)
