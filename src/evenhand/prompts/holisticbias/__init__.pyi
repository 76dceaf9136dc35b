from .phrases import (
    CONTROL_AXIS as CONTROL_AXIS,
    Phrase as Phrase,
)
from .sentences import (
    PROMPT_NAMES as PROMPT_NAMES,
    HolisticBias as HolisticBias,
)
