"""Word lists by which the rules recognise names of people, and words that belong to them."""

from evenhand.prompts.counterfactual.cues import FUNCTION, split_words

HONORIFICS = split_words("mr mrs ms miss dr sir")
PAGEANTS = split_words("america universe world usa teen earth international piggy saigon marple havisham")
"""Words after "Miss" with which it is a title, a show or a figure in a book."""
TITLES = split_words(
    "Duke Duchess Earl Count Countess Prince Princess King Queen Baron Baroness Marquess Lord Lady Emperor"
)
SUFFIXES = split_words("jr sr ii iii iv")
SURNAME_OPENERS = split_words(
    "van von vander de del della der den des da di dos du la le los san santa st saint al el bin ibn mac o ter ten"
)
"""Words at the beginning of a surname of several words: "Susan Saint James"."""
SECOND_HALVES = split_words("ann anne beth bob ellen jo jane lou lynn mae marie may rose sue")
"""Second parts of double given names: "Mary Ann"."""
NO_PERSON = split_words(
    "gilbert_and_sullivan adam_and_eve jim_crow alice_cooper david_copperfield jack_russell john_deere ben_hur"
)
"""Names that are not those of a person: laws, works, brands, figures of speech."""
NOT_IN_NAMES = FUNCTION - split_words("of the will")
"""Function words that do not occur in names."""
ABBREVIATED = split_words("mr mrs ms mx dr st sr jr prof gen col capt lt sgt rev hon gov sen rep vs no vol")
CALLED_BEFORE = split_words(
    """titled entitled novel film movie book play album albums song songs musical musicals opera sitcom show series
    documentary biography memoir miniseries single painting magazine game ship horse racehorse hurricane"""
)
"""Words before a name that show that it is the name of a work or a thing."""
WORKS = split_words(
    """novel film movie book play album song musical opera series documentary single painting ship horse"""
)
CALLED_AFTER = split_words(
    """band group law laws era effect disease syndrome theorem boutique boutiques brand store stores foundation
    award awards trophy estate line album calendar character menswear"""
)
"""Words after a name that show that it is not the person: "the original Alice Miller band"."""
LADIES = split_words("leading first bag dragon")
"""Words before "lady" and "man" whose counterpart is another word."""
FOUNDERS = split_words("founding pilgrim church desert apostolic city")
"""Words before "fathers" who are not parents."""
INTO_LIVES = split_words("inside being becoming finding saving chasing")
"""Words with a capital before a name, as at the beginning of titles: "Inside Jane Miller"."""
MEN_AFTER_HYPHEN = split_words("in led owned only dominated born friendly run like speaking")
CALLING = split_words("name named call called calling nickname nicknamed dub dubbed")
"""Verbs before "her" and a name: "named her Alice"."""
