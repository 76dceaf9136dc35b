from .grammar import (
    GRAMMAR as GRAMMAR,
    Outcome as Outcome,
    outcome_of as outcome_of,
    outcomes_of_texts as outcomes_of_texts,
)
