"""A small English grammar of noun phrases about people: articles by sound, plurals, word order.

>>> noun_phrase(["queer", "Black"], "woman")
'a queer Black woman'
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, Protocol, TypeVar

Form = Literal["adjective", "postmodifier", "phrase"]

# spoken as "ay", "ee", "ef", "aitch", ...; not U ("you") and W ("double-u")
VOWEL_LETTER_NAMES = frozenset("AEFHILMNORSX")

# words in capitals that are read as words; other short words in capitals are read letter by letter
_WORDS = """
    AIDS AWOL BAME BIPOC DACA DARE DINK FAFSA FEMA FIFA FLINTA FOMO GIF HEPA HIPAA HUD LARP LASER LEED LEGO
    MAGA MASH MENA MENSA MERS MOOC NAFTA NASA NASCAR NASDAQ NATO NEET NIMBY NORAD RADAR RAM REM RICO RINO ROM
    SARS SCUBA SEAL SIDS SIM SNAP SONAR STEM SWANA SWAT SWERF TERF TESOL UNESCO UNICEF WASP WIC YIMBY YOLO
"""
SPOKEN_AS_WORDS = frozenset(_WORDS.split())

# initialisms with a vowel, which look like words in lower case
SPELLED_IN_LOWER_CASE = frozenset({"adhd", "afab", "amab", "hiv", "lgbtqia", "mba", "ngo", "ufo"})

TITLES_READ_AS_WORDS = frozenset({"mr", "mrs", "ms", "mx", "dr", "st", "jr", "sr"})

_CONSONANT_SOUND = re.compile(  # begins with a vowel letter but a spoken /j/ or /w/
    r"eu|ew(?:e|er)s?\b|one\b|ones\b|oneself|oneness|once\b|ouija|oaxaca"
    r"|uni(?!n|m(?!od)|d(?!ir)|de|ll)|unanim|ubiq|uk|us[aeiu]|usual|ute\b|utes\b|utah|utensil|uter|util|utop"
    r"|ulys|uruguay|ugand|uyghur|uighur|ur[aio]|uvul|ufolog"
)
_VOWEL_SOUND = re.compile(  # begins with a consonant letter that is silent or spoken as a vowel
    r"hours?\b|hourly|hourglass|honest|honor|honour|heir|herbs?\b|herbal|herby\b|ndebele|y(?:t|v|pr|ps|gg)"
)
_FIRST_WORD = re.compile(r"[^\W_][^\s]*")


def article(phrase: str) -> Literal["a", "an"]:
    """Return the indefinite article of a phrase, by its sound.

    Numbers are read aloud ("an 80-year-old", "an 11-year-old", "a 100-year-old"); words in capitals of up to
    five letters, and words without vowels, are read letter by letter ("an LGBTQ", "an FTM", "a UFO")
    unless `SPOKEN_AS_WORDS` lists them ("a NIMBY"). Ordinary words shouted in capitals are not recognised.

    Args:
        phrase: text that follows the article; only its first word matters.

    Returns:
        "a" or "an".

    Raises:
        ValueError: the phrase has no letter or digit.

    >>> [article(p) for p in ("hour", "European", "one-percenter", "LGBTQ", "80-year-old", "NIMBY")]
    ['an', 'a', 'a', 'an', 'an', 'a']
    """
    first_word = _FIRST_WORD.search(phrase)
    if first_word is None:
        raise ValueError(f"No article can be chosen for {phrase!r}: it has no letter or digit.")
    return "an" if _opens_with_vowel_sound(first_word.group()) else "a"


def with_article(phrase: str) -> str:
    """Return a phrase with its indefinite article.

    >>> with_article("heir")
    'an heir'
    """
    return f"{article(phrase)} {phrase}"


@lru_cache(maxsize=8192)
def _opens_with_vowel_sound(word: str) -> bool:
    word = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    if word[0].isdigit():
        return _number_opens_with_vowel_sound(word)
    pieces = re.split(r"[-–—/'’+,;:!?)]", word.replace(".", ""), maxsplit=1)
    head = pieces[0]
    if _is_spelled(head):
        return head[0].upper() in VOWEL_LETTER_NAMES
    sound = head.lower()
    if _CONSONANT_SOUND.match(sound):
        return False
    return sound[0] in "aeiou" or _VOWEL_SOUND.match(sound) is not None


def _number_opens_with_vowel_sound(word: str) -> bool:
    digits = re.match(r"\d+(?:,\d{3})*", word)
    if digits is None:  # a digit of another script
        return False
    number = digits.group()
    leading = number.split(",")[0]
    if leading[0] == "8":
        return True
    if leading[:2] not in ("11", "18"):
        return False
    # eleven, eleven thousand, eleven million; four digits without a comma are read "eighteen hundred"
    return len(leading) % 3 == 2 or (len(leading) == 4 and "," not in number)


def _is_spelled(head: str) -> bool:
    letters = re.sub(r"\d", "", head)
    lower = letters.lower()
    if lower in TITLES_READ_AS_WORDS and not letters.isupper():  # "an MS patient", but "a Ms."
        return False
    if lower in SPELLED_IN_LOWER_CASE:
        return True
    if len(letters) == 1 and len(head) == 1:  # "X-ray", "e-bike", "T-shirt"
        return True
    if not re.search(r"[aeiouy]", lower):  # "lgbt", "PhD", "mtf"
        return True
    capitals = letters[:-1] if letters.endswith("s") and letters[:-1].isupper() else letters  # "NGOs"
    if not capitals.isupper() or capitals in SPOKEN_AS_WORDS:
        return False
    return len(capitals) <= 5 or re.search(r"[^AEIOUY]{4}", capitals) is not None


_IRREGULAR = {
    "person": "people",
    "child": "children",
    "man": "men",
    "woman": "women",
    "wife": "wives",
    "thief": "thieves",
    "hero": "heroes",
    "alumnus": "alumni",
    "alumna": "alumnae",
}
_ENDS_IN_MAN_BUT_REGULAR = ("human", "german", "roman", "norman", "ottoman", "shaman", "brahman", "talisman")
_UNCHANGED = re.compile(r"(?:ese|swiss|\bfolks|people|\bmen|women|children|\bkin|offspring)$")
_HEAD_FIRST = re.compile(
    r"^(.+?)( (?:of|with|without|who|in|on|to|from|for|at|living|under|by)\b.*|-(?:in-law|by))$"
)


def pluralise(noun: str) -> str:
    """Return the plural of a noun, or of a noun phrase without article, that names people.

    It covers regular nouns, irregular nouns for people and their compounds, and nouns that begin with their head. The
    lexicon stores its plurals, and this function checks them.

    >>> [pluralise(n) for n in ("woman", "enby", "mother-in-law", "person with asthma", "German")]
    ['women', 'enbies', 'mothers-in-law', 'people with asthma', 'Germans']
    """
    if not noun.strip():
        raise ValueError("An empty noun has no plural; give a singular noun such as 'person'.")
    if head_first := _HEAD_FIRST.match(noun):
        return pluralise(head_first[1]) + head_first[2]
    lower = noun.lower()
    if _UNCHANGED.search(lower):
        return noun
    if not lower.endswith(_ENDS_IN_MAN_BUT_REGULAR):
        for singular, plural in _IRREGULAR.items():
            if lower.endswith(singular):
                start = len(noun) - len(singular)
                return noun[: start + 1] + plural[1:] if noun[start:].istitle() else noun[:start] + plural
    if noun.isupper():  # "NIMBYs"
        return noun + "s"
    if re.search(r"(?:s|x|z|ch|sh)$", lower):
        return noun + "es"
    if re.search(r"(?:[^aeiou]|qu)y$", lower):
        return noun[:-1] + "ies"
    return noun + "s"


class Modifier(Protocol):
    """Interface of a descriptor in a noun phrase (`evenhand.prompts.lexicon.Descriptor` implements it)."""

    @property
    def descriptor(self) -> str: ...
    @property
    def form(self) -> Form: ...
    @property
    def plural(self) -> str: ...
    @property
    def article(self) -> str | None: ...
    @property
    def axis(self) -> str: ...


class NounForms(Protocol):
    """Interface of a noun with singular and plural (`evenhand.prompts.lexicon.Noun` implements it)."""

    @property
    def singular(self) -> str: ...
    @property
    def plural(self) -> str: ...


def noun_phrase(
    descriptors: str | Modifier | Sequence[str | Modifier],
    noun: str | NounForms | None,
    plural: bool = False,
) -> str:
    """Return a noun phrase with descriptors before or after the noun, and an article if it is singular.

    Adjectives keep the given order (see `in_english_order`). After the noun, prepositional descriptors ("with asthma")
    precede relative clauses ("who is blind"). A descriptor of the form "phrase" ("wheelchair user") replaces the noun.

    Parameters
    ----------
    descriptors : str, Descriptor or sequence of these
        Any number. A string is an adjective.
    noun : str, Noun or None
        The noun. The plural of a string is made by `pluralise`. None if a descriptor is a phrase.
    plural : bool
        Return the plural, which has no article.

    Raises
    ------
    ValueError
        There is no noun and no phrase, or more than one.

    >>> noun_phrase("honest", "person"), noun_phrase(["queer", "Black"], "woman", plural=True)
    ('an honest person', 'queer Black women')
    """
    if isinstance(descriptors, str) or not isinstance(descriptors, Sequence):
        descriptors = [descriptors]
    before: list[tuple[str, str | None]] = []  # words, and their special article, if any
    heads: list[tuple[str, str | None]] = [] if noun is None else [(_noun_form(noun, plural), None)]
    after: list[str] = []
    for descriptor in descriptors:
        if isinstance(descriptor, str):
            before.append((descriptor, None))
            continue
        words = descriptor.plural if plural else descriptor.descriptor
        if descriptor.form == "adjective":
            before.append((words, descriptor.article))
        elif descriptor.form == "phrase":
            heads.append((words, descriptor.article))
        else:
            after.append(words)
    if len(heads) != 1:
        listed = ", ".join(words for words, _ in heads) or "none"
        raise ValueError(
            f"A noun phrase needs one head but has {len(heads)} ({listed}): give a noun, or one descriptor of "
            "form 'phrase' and noun=None."
        )
    after.sort(key=_is_clause)  # a stable sort: prepositional phrases first, each kind in the given order
    tail = [
        ("and " if i and _is_clause(after[i - 1]) == _is_clause(words) else "") + words
        for i, words in enumerate(after)
    ]
    opening = [*before, *heads]
    phrase = " ".join([*(words for words, _ in opening), *tail])
    return phrase if plural else f"{opening[0][1] or article(phrase)} {phrase}"


def _noun_form(noun: str | NounForms, plural: bool) -> str:
    if isinstance(noun, str):
        return pluralise(noun) if plural else noun
    return noun.plural if plural else noun.singular


def _is_clause(words: str) -> bool:
    return words.startswith(("who ", "whose ", "that "))


ADJECTIVE_ORDER = (
    "nonce",
    "characteristics",
    "socioeconomic_class",
    "ability",
    "body_type",
    "age",
    "sexual_orientation",
    "political_ideologies",
    "cultural",
    "race_ethnicity",
    "nationality",
    "religion",
    "gender_and_sex",
)
"""The axes in the order of English adjectives: temporary states and opinions first, then size and
age, then convictions, then origin. The kind of person comes last, next to the noun."""

M = TypeVar("M", bound=Modifier)


def in_english_order(descriptors: Sequence[M]) -> tuple[M, ...]:
    """Sort descriptors of several axes into the usual order of English adjectives before a noun.

    The order is `ADJECTIVE_ORDER`. If an axis is not in it, the given order is kept.

    >>> in_english_order([])
    ()
    """
    if any(d.axis not in ADJECTIVE_ORDER for d in descriptors):
        return tuple(descriptors)
    return tuple(sorted(descriptors, key=lambda d: ADJECTIVE_ORDER.index(d.axis)))
