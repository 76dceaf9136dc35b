"""Clean comments for annotation, by the published rules or by corrected ones.

The time of each step is proportional to the length of the comment, whatever it contains.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import reduce

import polars as pl

from evenhand.prompts.redditbias.markup import links_as_texts, unescape_html, without_marks

MOST_CHARACTERS = 150
"""Cleaned comments with this number of characters or more are left out."""
LONGEST_COMMENT = 50_000
"""Maximum number of characters of a comment before it is cleaned.

Reddit allows 10,000 characters, and a dump can need five characters for one of them (&amp;).
"""

Step = tuple[re.Pattern[str], str]


def _step(pattern: str, by: str = "") -> Step:
    return re.compile(pattern), by


BEFORE_LOWERING = (
    _step(r"@\S+"),
    _step(r"http\S+"),
    _step(r"&gt"),
    _step(r"([A-Z]+)", r" \1"),
)
AFTER_LOWERING = (
    _step(r" \d+"),
    _step(r"(?<!\w)(?:\w+\d|\d\w+)"),
    _step(r"\s+", " "),
    _step(r"[^\w\s.!?-]"),
    _step(r"(.)\1{2,}", r"\1"),
    _step(r" rt "),
    _step(r"- "),
)
"""Published steps after the conversion to lower case, in this order.

Special characters are removed after white space is reduced, so double spaces can remain, as in the published code. The
pattern for words with digits matches the same text as the published one, but is faster: the published pattern tries
each letter of a word as the start of a match.
"""
CORRECTED = (
    _step(r"\b(?:https?://|www\.)\S+"),
    _step(r"(?<![\w@])@\w+"),
    _step(r"(?<!\w)/?u/[\w-]+"),
    _step(r"\A\s*>+|(?<!\s)([^\S\n]*\n)\s*>+", r"\1"),
)
SHORTENED = (
    _step(r"([^\d\s])\1{2,}", r"\1"),
    _step(r"\s+", " "),
)
TYPOGRAPHIC = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..."})


def clean_as_published(text: str) -> str:
    """Return a comment as the published code cleans it.

    The steps, in this order:

    1. Remove non-ASCII characters, @names, URLs and the letters "&gt".
    2. Insert a space before each run of capitals, and convert to lower case.
    3. Remove numbers after a space and words with digits, and reduce white space.
    4. Remove all but letters, digits and _ . ! ? -, so that "don't" becomes "dont".
    5. Reduce a character that is repeated three times or more to one.
    6. Remove " rt " and "- ", which joins their neighbours.

    Source: Barikeri et al. 2021, section 2, and its published code.

    >>> clean_as_published("I don't know, 50% of the USA - see http://a.b!")
    'i dont know of the usa see'
    """
    text = reduce(_apply_step, BEFORE_LOWERING, text.encode("ascii", "ignore").decode())
    return reduce(_apply_step, AFTER_LOWERING, text.lower()).strip()


def clean(text: str) -> str:
    """Return a comment in lower case without URLs, user names and Reddit markup.

    Unlike the published cleaning, it keeps words complete. It decodes HTML entities (&gt; is >), and keeps letters of
    all alphabets, apostrophes, commas, quotes and numbers. A link becomes its text. A character that is repeated three
    times or more is kept once, except digits.

    >>> clean("&gt; I DON'T know,  [50% of us](http://a.b) say u/someone wrote **naïve** things!!!!")
    "i don't know, 50% of us say wrote naïve things!"
    """
    text = unicodedata.normalize("NFC", unescape_html(text)).translate(TYPOGRAPHIC)
    text = reduce(_apply_step, CORRECTED, links_as_texts(text))
    return reduce(_apply_step, SHORTENED, without_marks(text)).strip().lower()


def clean_comments(
    comments: pl.DataFrame, *, as_published: bool = False, most_characters: int = MOST_CHARACTERS
) -> pl.DataFrame:
    """Return the cleaned comments that are short enough.

    Parameters
    ----------
    comments : polars.DataFrame
        Columns: id, body.
    as_published : bool
        Clean with `clean_as_published` instead of `clean`.
    most_characters : int
        A cleaned comment must have fewer characters.

    Returns
    -------
    polars.DataFrame
        Columns: id, comments (original) and comments_processed, in the same order. Comments that become empty, repeated
        ids, and comments of more than LONGEST_COMMENT characters are left out.

    >>> frame = pl.DataFrame({"id": ["a", "b"], "body": ["Well, WELL.", "@you"]})
    >>> clean_comments(frame, as_published=True).rows()
    [('a', 'Well, WELL.', 'well well.')]
    """
    how: Callable[[str], str] = clean_as_published if as_published else clean
    comments = comments.filter(pl.col("body").str.len_chars() <= LONGEST_COMMENT)
    processed = pl.Series("comments_processed", [how(text) for text in comments["body"]], dtype=pl.String)
    return (
        comments.select("id", comments="body")
        .with_columns(processed)
        .filter(pl.col("comments_processed").str.len_chars().is_between(1, most_characters - 1))
        .unique("id", keep="first", maintain_order=True)
    )


def _apply_step(text: str, step: Step) -> str:
    pattern, by = step
    return pattern.sub(by, text)
