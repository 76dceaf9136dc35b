"""The words by which the rules recognize names of people, and what belongs to them."""

from evenhand.prompts.counterfactual.cues import FUNCTION, words_of

HONORIFICS = words_of("mr mrs ms miss dr sir")
PAGEANTS = words_of("america universe world usa teen earth international piggy saigon marple havisham")
"""Behind "Miss" they make a title that is won, a show, a figure in a book."""
TITLES = words_of(
    "Duke Duchess Earl Count Countess Prince Princess King Queen Baron Baroness Marquess Lord Lady Emperor"
)
SUFFIXES = words_of("jr sr ii iii iv")
SURNAME_OPENERS = words_of(
    "van von vander de del della der den des da di dos du la le los san santa st saint al el bin ibn mac o ter ten"
)
"""With these a surname of several words begins: "Susan Saint James"."""
SECOND_HALVES = words_of("ann anne beth bob ellen jo jane lou lynn mae marie may rose sue")
"""Of two given names that are one: "Mary Ann"."""
NO_PERSON = words_of(
    "gilbert_and_sullivan adam_and_eve jim_crow alice_cooper david_copperfield jack_russell john_deere ben_hur"
)
"""Names of no person of that name: laws, works, brands, figures of speech, a man who took a woman's."""
NOT_IN_NAMES = FUNCTION - words_of("of the will")
"""Function words that do not stand in names."""
ABBREVIATED = words_of("mr mrs ms mx dr st sr jr prof gen col capt lt sgt rev hon gov sen rep vs no vol")
CALLED_BEFORE = words_of(
    """titled entitled novel film movie book play album albums song songs musical musicals opera sitcom show series
    documentary biography memoir miniseries single painting magazine game ship horse racehorse hurricane"""
)
"""Before a name they say that it is the name of a work or a thing."""
WORKS = words_of(
    """novel film movie book play album song musical opera series documentary single painting ship horse"""
)
CALLED_AFTER = words_of(
    """band group law laws era effect disease syndrome theorem boutique boutiques brand store stores foundation
    award awards trophy estate line album calendar character menswear"""
)
"""Behind a name they say that it is not the person who is meant: "the original Alice Miller band"."""
LADIES = words_of("leading first bag dragon")
"""Before "lady" and "man", where the other has another name."""
FOUNDERS = words_of("founding pilgrim church desert apostolic city")
"""Before "fathers", who are no parents."""
INTO_LIVES = words_of("inside being becoming finding saving chasing")
"""With a capital before a name, as titles begin: "Inside Jane Miller"."""
MEN_AFTER_HYPHEN = words_of("in led owned only dominated born friendly run like speaking")
CALLING = words_of("name named call called calling nickname nicknamed dub dubbed")
"""Before "her" and a name: "named her Alice"."""
