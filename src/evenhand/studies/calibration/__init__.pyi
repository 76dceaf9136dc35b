from .designs.contract import (
    Design as Design,
    Judged as Judged,
    Plant as Plant,
    Sample as Sample,
    Truth as Truth,
)
from .designs.roads import (
    benchmark_road as benchmark_road,
)
from .options import (
    CalibrationOptions as CalibrationOptions,
)
from .result import (
    CalibrationStudy as CalibrationStudy,
    calibrate as calibrate,
    calibrate_with as calibrate_with,
)
