from .options import AnalysisOptions as AnalysisOptions
from .result import (
    PeopleStudy as PeopleStudy,
    analyse as analyse,
)
