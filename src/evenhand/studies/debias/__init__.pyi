from .options import (
    DebiasConfig as DebiasConfig,
)
from .result import (
    Debiased as Debiased,
    debias as debias,
    perform_debiasing as perform_debiasing,
)
from .study import (
    DEBIAS as DEBIAS,
)
from .trials import (
    NothingChosen as NothingChosen,
)
