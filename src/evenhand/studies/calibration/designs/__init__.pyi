from .collection import (
    CALIBRATIONS as CALIBRATIONS,
    DesignCollection as DesignCollection,
    collect_designs as collect_designs,
    find_design as find_design,
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
