"""Convert first names to the spelling of the birth statistics: no accents or hyphens, and one capital."""

import re
import unicodedata

from evenhand.schema import DataError

_WITHIN = re.compile(r"[-'’.\s]+")


def statistics_spelling(name: str) -> str:
    """Return a name as the Social Security Administration writes it: letters without accents, and one capital.

    Raises a DataError if the name has no letters, or contains anything but Latin letters, accents, hyphens,
    apostrophes, full stops and spaces.

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
    """Return a name in the spelling of the published recipe, which removes hyphens but not accents.

    The birth statistics have no accents, so the recipe does not find names such as José in them.

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
"""Replacements of letters that Unicode does not decompose into a letter and an accent."""
