from .answers import SwappedColumns as SwappedColumns
from .result import (
    FileMeasurements as FileMeasurements,
    measure as measure,
)
