"""Words that name groups of people but often mean something else: a wall is white, and a pan is for frying."""

from evenhand.corpus.normalising import normalise

_WORDS = """
    white black brown green ginger pale fair tanned
    old young mature senior ancient junior aged
    straight pan ace poly bi queer stud butch normal single trans cis fluid drag fairy fruit bear
    blind lame mute fit invalid depressed crippled short tall small heavy thin slim lean stout fat wiry stocky toned
    poor rich broke privileged independent liberal conservative progressive moderate democratic republican radical woke
    kind calm loud curious humble shy moody
    foreign native indigenous country southern coastal urban rural traditional illegal displaced seasonal punk
    orthodox observant secular spiritual reform
    polish
    beautiful pretty ugly cute attractive pierced employed vegan
"""
_HINTS = frozenset(_WORDS.split())


def is_ambiguous(name: str) -> bool:
    """Return True if a term is on a short list of words with frequent senses that do not refer to people.

    The list is a hint, not a measurement. The evidence is the share of a term's hits near person nouns, pronouns and
    names, and the contexts that are kept for reading. A word that is not listed may also have such senses. The list
    omits words such as "gay" and "deaf", because their other senses are rare or only in idioms.

    >>> is_ambiguous("White"), is_ambiguous("Kenyan")
    (True, False)
    """
    return normalise(name) in _HINTS
