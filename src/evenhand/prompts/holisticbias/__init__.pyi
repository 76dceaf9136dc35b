from .phrases import (
    CONTROL_AXIS as CONTROL_AXIS,
    HolisticBiasPhrase as HolisticBiasPhrase,
)
from .sentences import (
    PROMPT_NAMES as PROMPT_NAMES,
    HolisticBias as HolisticBias,
)
