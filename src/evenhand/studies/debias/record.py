"""The folder of a training: the record of all that affects its weights, used to resume it."""

from evenhand.study import StudyRecord

RECORD = StudyRecord("debias.json", "debiased model", part="training")
