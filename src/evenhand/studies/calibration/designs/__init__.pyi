from .collection import (
    CALIBRATIONS as CALIBRATIONS,
    Collected as Collected,
    collected as collected,
    design_of as design_of,
)
from .contract import (
    BESIDE as BESIDE,
    EVERYTHING as EVERYTHING,
    MARGIN as MARGIN,
    NAMES as NAMES,
    ORDER as ORDER,
    SPLIT as SPLIT,
    TWICE as TWICE,
    Design as Design,
    Judged as Judged,
    Key as Key,
    Plant as Plant,
    Sample as Sample,
    Truth as Truth,
)
