"""Words of people that often mean something else: a wall is white, a pan is for frying."""

from evenhand.corpus.normalising import normalised

_WORDS = """
    white black brown colored green ginger pale fair
    old young aged mature senior ancient junior
    straight pan ace poly bi queer stud butch normal single trans cis fluid
    blind mute lame deaf fit invalid disabled depressed crippled short tall small heavy thin slim lean stout fat
    poor rich broke privileged independent liberal conservative progressive moderate democratic republican radical
    kind calm loud curious humble brave
    foreign native indigenous country southern coastal urban rural traditional illegal displaced
    orthodox observant secular spiritual
    left right
"""
HINTS = frozenset(_WORDS.split())


def is_ambiguous(name: str) -> bool:
    """Whether a term is one of a short list of ours of words with senses that are not of people.

    A hint, nothing that was measured: what tells is the share of a term's hits near person nouns, pronouns and names,
    and the contexts that are kept to be read. A word that is not listed may have such senses all the same.

    >>> is_ambiguous("White"), is_ambiguous("Kenyan")
    (True, False)
    """
    return normalised(name) in HINTS
