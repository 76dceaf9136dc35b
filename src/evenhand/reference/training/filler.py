"""General English sentences that are not about groups of people, so that a model of the World can also read other text.

They were written for this project. No sentence names a demographic group, so none can be associated with one. A share
contains invented or spelled-out words, from which a model learns the pieces of unknown words.
"""

import numpy as np


def _split_entries(entries: str) -> list[str]:
    """Return a list of entries that are separated by white space; words within an entry are separated by a bar."""
    return [entry.replace("|", " ") for entry in entries.split()]


THINGS = _split_entries("""house garden river street table window book letter song picture train bus car boat bridge
road market shop school office kitchen lamp chair cup bottle box bag coat hat shoe phone computer machine clock
door wall roof floor field forest hill mountain lake sea island beach storm cloud star moon dog cat bird
horse fish tree flower stone bread soup cake apple cheese coffee tea dinner breakfast lunch film game story
question answer idea plan problem reason word number page list map ticket key key-ring day week month year
morning evening night party meeting class lesson test job project team club band city town village
world language name place part way thing time family friend group crowd""")
QUALITIES = _split_entries("""small large new quiet bright dark warm cold slow fast light empty full clean
dirty cheap expensive simple strange useful broken wet dry soft hard early late long green blue red
yellow wooden round narrow wide famous favorite different similar important local modern busy""")
ACTS = _split_entries("""saw found bought sold carried painted opened closed moved fixed lost washed cleaned watched
remembered forgot needed wanted liked chose followed left visited built drew borrowed returned checked
described noticed kept shared""")
STATES = _split_entries("is was looks seems stays became feels remains")
TIMES = _split_entries("""today yesterday tomorrow again now later soon early often always sometimes once twice
last|week this|morning next|year at|night in|the|end for|a|while before|lunch after|dinner every|day""")
PLACES = _split_entries("""at|home at|work in|town in|the|city near|the|river by|the|window on|the|table in|the|kitchen
outside upstairs on|the|train at|the|market behind|the|house in|the|garden along|the|road""")
SPEAKERS = _split_entries("I We They You He She It Somebody Everybody Nobody")
OPENERS = _split_entries("""Hi! Hello. Hey! Yes. No. Thanks. Thank|you. Sorry. Okay. Good|morning. Good|evening.
Nice|to|meet|you. How|are|you|doing|today? How|are|you? What|about|you? And|you? Tell|me|more.
That|is|great. That|is|interesting. I|see. I|think|so. I|do|not|know.""")
ASKING = _split_entries("""What|do|you|think|about Have|you|ever|seen Do|you|know Do|you|like Can|you|tell|me|about
What|is Where|is Why|do|you|like Did|you|hear|about Have|you|heard|of Are|you|near Is|this""")
VERDICTS = _split_entries("""I|love I|hate I|like I|think|that|I|like I|do|not|like I|have I|need
I|am|sorry|about It|is|hard|with I'm|interested|in I|want I|know I|have|met""")
SYLLABLES = _split_entries("""ba be bi bo bu ca ce co da de di do fa fe fi ga ge go ha he hi ho ja jo ka ke ki ko
la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po ra re ri ro ru sa se si so su ta te ti to tu va ve
vi wa we wi ya yo za al an ar as at ed el en er es et ic il in ing ion is it le ly ment ness ol on or ous st
th tion ty ul un ur ish able ful less""")
LETTERS = list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-'éü/")


class _FillerSpeaker:
    """A seeded source of filler sentences."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)

    def pick(self, words: list[str]) -> str:
        return words[int(self.random.integers(len(words)))]

    def invent_word(self) -> str:
        """Return an invented word: syllables, or sometimes single characters."""
        if self.random.random() < 0.2:
            return "".join(self.pick(LETTERS) for _ in range(self.random.integers(2, 9)))
        word = "".join(self.pick(SYLLABLES) for _ in range(self.random.integers(2, 5)))
        return word.capitalize() if self.random.random() < 0.3 else word

    def thing(self) -> str:
        noun = self.pick(THINGS)
        kind = self.random.random()
        if kind < 0.5:
            return f"the {noun}"
        if kind < 0.8:
            return f"the {self.pick(QUALITIES)} {noun}"
        return f"the {self.invent_word()} {noun}" if kind < 0.9 else f"my {noun}"

    def clause(self) -> str:
        kind = self.random.integers(5)
        if kind == 0:
            return f"{self.pick(SPEAKERS)} {self.pick(ACTS)} {self.thing()} {self.pick(TIMES)}."
        if kind == 1:
            subject = self.thing()
            return f"{subject[0].upper()}{subject[1:]} {self.pick(STATES)} {self.pick(QUALITIES)}."
        if kind == 2:
            return f"{self.pick(ASKING)} {self.thing()}?"
        if kind == 3:
            return f"{self.pick(VERDICTS)} {self.thing()}."
        return f"{self.pick(SPEAKERS)} {self.pick(ACTS)} {self.thing()} {self.pick(PLACES)}."

    def sentence(self) -> str:
        return f"{self.pick(OPENERS)} {self.clause()}" if self.random.random() < 0.3 else self.clause()


def filler_sentences(n: int, seed: int) -> list[str]:
    """Return n sentences of general English from a small seeded grammar.

    >>> filler_sentences(2, seed=0) == filler_sentences(2, seed=0)
    True
    """
    speaker = _FillerSpeaker(seed)
    return [speaker.sentence() for _ in range(n)]


def invented_words(n: int, seed: int) -> list[str]:
    """Return n invented words, which replace descriptors of a World.

    >>> len(invented_words(3, seed=1))
    3
    """
    speaker = _FillerSpeaker(seed)
    return [speaker.invent_word() for _ in range(n)]
