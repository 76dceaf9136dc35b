"""Who judges: the Classifier contract and its backends."""

from evenhand.classifiers.contract import Classifier as Classifier, Judgements as Judgements
from evenhand.classifiers.judged_text import JudgedText as JudgedText
from evenhand.classifiers.loading import (
    classifier_cards as classifier_cards,
    classifier_names as classifier_names,
    load_classifier as load_classifier,
)
