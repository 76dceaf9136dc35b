from .result import (
    FileMeasurements as FileMeasurements,
    measure_file as measure_file,
)
