from .contract import (
    Classifier as Classifier,
    Judgements as Judgements,
)
from .judged_text import (
    JudgedText as JudgedText,
    judged_texts as judged_texts,
)
from .loading import (
    CLASSIFIERS as CLASSIFIERS,
    SCORES as SCORES,
    classifier_cards as classifier_cards,
    classifier_names as classifier_names,
    load_classifier as load_classifier,
)
