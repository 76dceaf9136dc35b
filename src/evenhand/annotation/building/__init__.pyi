from .building_studies import (
    build_study as build_study,
    built_study as built_study,
)
from .built import Built as Built
