"""Who answers: the LanguageModel contract and its backends."""

from evenhand.models.contract import (
    Architecture as Architecture,
    Generations as Generations,
    LanguageModel as LanguageModel,
    Likelihoods as Likelihoods,
    Masking as Masking,
    TextGenerator as TextGenerator,
    text_generator as text_generator,
)
from evenhand.models.decoding import Decoding as Decoding, decoding_preset as decoding_preset
from evenhand.models.loading import as_language_model as as_language_model, load_model as load_model
from evenhand.models.puppets import Puppet as Puppet, avoids as avoids, prefers as prefers
