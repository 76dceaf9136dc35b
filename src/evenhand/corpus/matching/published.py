"""Which terms a document mentions, as ROBBIE counted: NLTK's word tokens, lower-cased, looked up in a set."""

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
    """The terms that each document mentions, counted as in the paper.

    A document is lower-cased and cut into tokens by `nltk.word_tokenize`; a term of one token counts where it is among
    them. Of descriptors of several tokens the paper says only that they "appear at least once": here their tokens, cut
    in the same way, must follow each other. Only what a list itself spells is looked for, no plural. So "women" counts
    in "women's" and not in "women-led", "white" not in "white-collar", and "african american" not in
    "African-American", all of which `Matcher` finds.

    The paper first does "remove regex" and does not say which; nothing is removed here.

    table: of `build_terms`. texts: documents. Returns, for each, terms of the table by number. Raises DataError where
    nltk or its model of sentences is not here; another tokenizer is never taken instead.
    Source: Esiobu et al. 2023 (ROBBIE), section B.4.
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
    """By the first token of a term the others that must follow, and the terms that are so spelt."""
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
