"""The folder of a training: what decides its weights, so that it is gone on with and never mixed with another."""

from evenhand.studies.record import StudyRecord

RECORD = StudyRecord("debias.json", "debiased model", part="training")
