"""Select comments about one group, and extract the phrases around its words, by the published or corrected rules."""

import re
from collections.abc import Iterator, Sequence

import polars as pl

from evenhand.prompts.redditbias.bias_types import Specification
from evenhand.prompts.redditbias.queries import Terms

REACH = 7
"""Maximum number of tokens of a phrase before and after the word for the group."""
PHRASES = {
    "id": pl.String,
    "attribute_in_window": pl.Boolean,
    "comment": pl.String,
    "phrase": pl.String,
}
Phrase = tuple[str | None, bool, str, str]


def with_single_target(
    comments: pl.DataFrame, words: Sequence[str], *, as_published: bool = False
) -> pl.DataFrame:
    """Return the comments that contain exactly one of the words.

    Parameters
    ----------
    comments : polars.DataFrame
        Comments with the column comments_processed.
    words : sequence of str
        `Specification.single_targets`.
    as_published : bool
        True: words also match inside longer words, so "woman" contains "man". False: only whole words and plurals in -s
        or -es match.

    References
    ----------
    - Barikeri et al. 2021, section 2, and its published code. The published files lack the ids after this step.

    >>> frame = pl.DataFrame({"comments_processed": ["that woman cooks", "girls cook"]})
    >>> [with_single_target(frame, ["woman", "man", "girl"], as_published=p).height for p in (True, False)]
    [1, 2]
    """
    distinct = dict.fromkeys(words)
    bounds = ("", "") if as_published else (r"\b", r"(?:e?s)?\b")
    patterns = [re.compile(f"{bounds[0]}{re.escape(word)}{bounds[1]}") for word in distinct]
    kept = [
        sum(pattern.search(text) is not None for pattern in patterns) == 1
        for text in comments["comments_processed"]
    ]
    return comments.filter(pl.Series(kept, dtype=pl.Boolean))


def extract_phrases(
    comments: pl.DataFrame, specification: Specification, *, as_published: bool = False
) -> pl.DataFrame:
    """Extract phrases of at most 15 tokens around words for the minoritised group, and find attributes in them.

    Parameters
    ----------
    comments : polars.DataFrame
        Columns: comments_processed, optionally id.
    as_published : bool
        Use the published rules with their errors; see Notes.

    Returns
    -------
    polars.DataFrame
        Columns: id, attribute_in_window, comment, phrase. Of equal phrases, only the first is kept. Phrases without an
        attribute are kept if `specification.keep_without_attribute` is True.

    Notes
    -----
    The published rules separate tokens by single spaces, so "jews." is not found. They try the first two occurrences of
    each word, and attributes also match inside words ("art" in "party"). If several words of a comment have a phrase
    with an attribute, the comment occurs once per word, always with the phrase of the last word.

    The corrected rules ignore punctuation around tokens, and try every occurrence. Attributes match whole words and
    their plurals; with *, they match beginnings of words. Each phrase with an attribute is a row. A comment without
    such a phrase gives the phrase around its first word for the group.

    References
    ----------
    - Barikeri et al. 2021, section 2, and its published code.
    """
    ids = comments["id"] if "id" in comments.columns else [None] * comments.height
    texts = zip(ids, comments["comments_processed"], strict=True)
    how = _published_phrases if as_published else _corrected_phrases
    rows = list(how(texts, specification))
    phrases = pl.DataFrame(rows, schema=PHRASES, orient="row")
    phrases = phrases.unique("phrase", keep="first", maintain_order=True)
    if specification.keep_without_attribute:
        return phrases
    return phrases.filter("attribute_in_window")


def _published_phrases(
    texts: Iterator[tuple[str | None, str]], specification: Specification
) -> Iterator[Phrase]:
    targets = [target.lower() for target in specification.window_targets]
    attributes = specification.window_attributes
    for name, text in texts:
        tokens = text.split(" ")
        accepted, phrase = 0, ""
        for target in targets:
            for place in [place for place, token in enumerate(tokens) if token == target][:2]:
                phrase = _around(tokens, place)
                if any(attribute in phrase for attribute in attributes):
                    accepted, last_accepted = accepted + 1, phrase
                    break
        if accepted:
            yield from [(name, True, text, last_accepted)] * accepted
        else:
            yield name, False, text, phrase


def _corrected_phrases(
    texts: Iterator[tuple[str | None, str]], specification: Specification
) -> Iterator[Phrase]:
    targets = {target.lower() for target in specification.window_targets}
    attributes = Terms([*specification.attributes_1, *(_plural(term) for term in specification.attributes_1)])
    for name, text in texts:
        tokens = text.split()
        bare = [re.sub(r"^\W+|(?:'s)?\W*$", "", token) for token in tokens]
        phrases = [_around(tokens, place) for place, token in enumerate(bare) if token in targets]
        accepted = [phrase for phrase in phrases if attributes.first(phrase)]
        for phrase in accepted or phrases[:1]:
            yield name, bool(accepted), text, phrase


def _plural(term: str) -> str:
    """Return a term with -s at its end, before the closing quote if the term is quoted."""
    return f'{term[:-1]}s"' if term.endswith('"') else f"{term}s"


def _around(tokens: Sequence[str], place: int) -> str:
    return " ".join(tokens[max(0, place - REACH) : place + REACH + 1])
