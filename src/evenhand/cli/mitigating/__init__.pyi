from .debiasing import (
    debias as debias,
)
from .instructions import (
    search_instruction as search_instruction,
)
