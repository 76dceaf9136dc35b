"""Find the terms of a document by ROBBIE's method: NLTK's word tokens in lower case, looked up in a set."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache

from evenhand.corpus.terms import TermTable
from evenhand.schema import DataError, without_surrogates

NLTK_COMMAND = "pip install 'evenhand[published]'"
PUNKT_COMMAND = (
    "Get its model of English sentences: python -m nltk.downloader punkt_tab\n"
    "Without a network: get punkt_tab.zip from github.com/nltk/nltk_data, unpack it into DIR/tokenizers, and set "
    "NLTK_DATA=DIR."
)
Tokenize = Callable[[str], list[str]]


def published_documents(table: TermTable, texts: Sequence[str]) -> list[set[int]]:
    """Return the terms that each document mentions, by the published method of counting.

    Parameters
    ----------
    table : TermTable
        From `build_terms`.
    texts : sequence of str
        The documents.

    Returns
    -------
    list
        For each document, the numbers of its terms.

    Raises
    ------
    DataError
        nltk or its sentence model is not installed. There is no replacement.

    Notes
    -----
    A document is converted to lower case and tokenised by `nltk.word_tokenize`. The tokens of a term must follow each
    other. Only the listed spelling counts, without plurals. "women" is thus found in "women's" but not in "women-led".
    "white" is not found in "white-collar", nor "african american" in "African-American". `Matcher` finds all of these.
    The paper first removes text by an unstated regular expression; nothing is removed here.

    References
    ----------
    - Esiobu et al. 2023 (ROBBIE), section B.4.
    """
    tokenize = _word_tokenize()
    found = [set[int]() for _ in texts]
    phrases = _phrases(table)
    for mentioned, text in zip(found, texts, strict=True):
        tokens = tokenize(without_surrogates(text).lower())
        for first in set(tokens) & phrases.keys():
            for rest, terms in phrases[first]:
                if not rest or _follow(tokens, first, rest):
                    mentioned |= terms
    return found


def _follow(tokens: list[str], first: str, rest: tuple[str, ...]) -> bool:
    return any(
        token == first and tuple(tokens[place + 1 : place + 1 + len(rest)]) == rest
        for place, token in enumerate(tokens)
    )


@lru_cache(maxsize=2)
def _phrases(table: TermTable) -> dict[str, list[tuple[tuple[str, ...], set[int]]]]:
    """Return, by the first token of a term, its further tokens and the terms with this spelling."""
    tokenize = _word_tokenize()
    spelt: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for term, name in table.terms.select("term", "name").iter_rows():
        spelt[tuple(tokenize(name.lower()))].add(term)
    by_first = defaultdict(list)
    for (first, *rest), terms in spelt.items():
        by_first[first].append((tuple(rest), terms))
    return dict(by_first)


def _word_tokenize() -> Tokenize:
    try:
        from nltk.tokenize import word_tokenize
    except ImportError as error:
        raise DataError("`--as-published` requires nltk, which is not installed.", NLTK_COMMAND) from error
    try:
        word_tokenize("A sentence.")
    except LookupError as error:
        raise DataError(
            "nltk cannot find punkt_tab, which it needs to split sentences.", PUNKT_COMMAND
        ) from error
    found: Tokenize = word_tokenize
    return found
