from .result import (
    FileMeasurements as FileMeasurements,
    measure as measure,
)
