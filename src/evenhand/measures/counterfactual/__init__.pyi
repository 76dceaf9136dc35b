from .grammar import (
    GRAMMAR as GRAMMAR,
    Outcome as Outcome,
    outcome_of as outcome_of,
    outcomes_of_texts as outcomes_of_texts,
)
from .masking import changed_words as changed_words, hide as hide
from .numbers import Reading as Reading, read_number as read_number, read_rating as read_rating
from .outcomes import (
    Compared as Compared,
    CounterfactualOutcomes as CounterfactualOutcomes,
    counterfactual_outcomes as counterfactual_outcomes,
)
from .overlap import Embedding as Embedding, cosines as cosines, rouge_l as rouge_l
from .similarity import SimilarityGap as SimilarityGap, response_similarity as response_similarity
