"""Our own words for people: 13 axes of descriptors and the nouns they combine with, as readable TOML."""

from evenhand.prompts.lexicon.lexicon import (
    Descriptor as Descriptor,
    Gender as Gender,
    Lexicon as Lexicon,
    Noun as Noun,
    Preference as Preference,
    load_lexicon as load_lexicon,
)
from evenhand.prompts.lexicon.linter import lint as lint
