from .phrases import (
    CONTROL_AXIS as CONTROL_AXIS,
    HolisticBiasPhrase as HolisticBiasPhrase,
)
from .published import (
    published_holisticbias as published_holisticbias,
)
from .sentences import (
    PROMPT_NAMES as PROMPT_NAMES,
    HolisticBias as HolisticBias,
)
from .style_variations import (
    with_style_variations as with_style_variations,
)
