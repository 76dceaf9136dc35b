from .instructions import (
    INSTRUCTIONS as INSTRUCTIONS,
    NAME as NAME,
    FoundInstruction as FoundInstruction,
)
from .prefix import (
    Prefix as Prefix,
    PrefixedModel as PrefixedModel,
)
