from .building_studies import build_study as build_study
from .built import Built as Built
