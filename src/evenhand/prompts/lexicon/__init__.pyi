from .grammar import (
    article as article,
    in_english_order as in_english_order,
    noun_phrase as noun_phrase,
    pluralise as pluralise,
)
from .lexicon import (
    Descriptor as Descriptor,
    Gender as Gender,
    Lexicon as Lexicon,
    Noun as Noun,
    Preference as Preference,
    load_lexicon as load_lexicon,
)
from .linter import (
    lint as lint,
)
