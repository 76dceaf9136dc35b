"""Who judges: the Classifier contract and its backends."""

from evenhand.classifiers.contract import Classifier as Classifier, Judgements as Judgements
from evenhand.classifiers.judged_text import JudgedText as JudgedText
