from .building_studies import build_study as build_study
