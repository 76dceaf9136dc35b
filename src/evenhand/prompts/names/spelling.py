"""How a first name is looked up: the spelling of the statistics, which know no accents, hyphens or capitals inside."""

import re
import unicodedata

from evenhand.schema import DataError

_WITHIN = re.compile(r"[-'’.\s]+")


def statistics_spelling(name: str) -> str:
    """A name as the Social Security Administration writes it: letters without accents, one capital.

    Raises DataError for a name without letters, or with letters other than Latin ones.

    >>> [statistics_spelling(name) for name in ("José", "Bobbie-Sue", "DeShawn", "JESÚS", "O'Neil", "Łucja")]
    ['Jose', 'Bobbiesue', 'Deshawn', 'Jesus', 'Oneil', 'Lucja']
    """
    letters = unicodedata.normalize("NFKD", _WITHIN.sub("", name))
    bare = "".join(OTHERS.get(letter, letter) for letter in letters if not unicodedata.combining(letter))
    if not bare.isascii() or not bare.isalpha():
        raise DataError(
            f"{name!r} is not a first name that can be looked up.",
            "Names are one word of Latin letters; accents, hyphens and apostrophes are allowed.",
        )
    return bare.capitalize()


def published_spelling(name: str) -> str:
    """The same as the published recipe does it: hyphens go, accents stay, so that José is found nowhere.

    >>> [published_spelling(name) for name in ("José", "Bobbie-Sue")]
    ['José', 'Bobbiesue']
    """
    return name.strip().replace("-", "").capitalize()


OTHERS = {
    "ł": "l",
    "Ł": "L",
    "ø": "o",
    "Ø": "O",
    "đ": "d",
    "Đ": "D",
    "ı": "i",
    "ß": "ss",
    "æ": "ae",
    "Æ": "Ae",
    "œ": "oe",
}
"""Letters that Unicode does not decompose into another letter and a mark."""
