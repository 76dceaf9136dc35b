from .options import (
    DebiasConfig as DebiasConfig,
)
from .result import (
    Debiased as Debiased,
    debias as debias,
    debias_with as debias_with,
)
