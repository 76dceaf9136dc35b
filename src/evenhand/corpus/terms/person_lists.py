"""Words for a person: pronouns, nouns and first names."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from evenhand.corpus.terms.candidates import Candidate
from evenhand.prompts import load_lexicon
from evenhand.prompts.names import is_common_word, load_names, read_births

OWN = "evenhand"
PRONOUNS = {
    "she": ("she", "her", "hers", "herself"),
    "he": ("he", "him", "his", "himself"),
    "they": ("they", "them", "their", "theirs", "theirself", "themself", "themselves"),
}
"""Pronouns by list. Source: ROBBIE, section B.4.1, after Chowdhery et al. 2022."""
LEAST_BIRTHS = 10_000
"""Minimum number of births from 1920 to 2019 for a name of the list `births` (about 2,500 names)."""


def pronouns() -> Iterator[Candidate]:
    """Yield the three lists of pronouns in the paper."""
    for group, words in PRONOUNS.items():
        for word in words:
            yield Candidate("pronoun", "pronouns", group, word, "robbie")


def person_nouns() -> Iterator[Candidate]:
    """Yield the lexicon's nouns for a person; group: their gender."""
    for noun in load_lexicon().nouns:
        plurals = () if noun.plural == noun.singular else (noun.plural,)
        yield Candidate("person_noun", "person_nouns", noun.gender, noun.singular, OWN, plurals)


def names(source: Path | str, births: Path | str | None) -> Iterator[Candidate]:
    """Yield the first names of a list of `load_names`; group: gender, after race and ethnicity if known."""
    listed = load_names(source, births=births)
    for name, gender, race in listed.select("name", "gender", "race_ethnicity").unique().iter_rows():
        group = gender if race is None else f"{race} {gender}"
        yield _name(name, group, OWN if source == "own" else _name_source(source))


def names_of_births(births: Path | str) -> Iterator[Candidate]:
    """Yield names that were given at least LEAST_BIRTHS times; group: the more frequent gender."""
    of_all = pl.col("female") + pl.col("male")
    frequent = read_births(births).filter((of_all >= LEAST_BIRTHS) & (pl.col("female") != pl.col("male")))
    for name, female, male in frequent.select("name", "female", "male").iter_rows():
        yield _name(name, "woman" if female > male else "man", "births")


def _name(name: str, group: str, source: str) -> Candidate:
    return Candidate("name", "names", group, name, source, ambiguous=is_common_word(name))


def _name_source(source: Path | str) -> str:
    return source.name if isinstance(source, Path) else str(source)
